"""docs/weights.md says of every card what the card says."""

from pathlib import Path

from faceveil.models.cards import Card, cards

PAGE = Path(__file__).parents[2] / "docs" / "weights.md"
COLUMNS = ("id", "what", "from", "size", "licence", "commercial use", "origin of the weights")
HEAD = "| " + " | ".join(COLUMNS) + " |\n" + "|---" * len(COLUMNS) + "|\n"


def row(card: Card) -> str:
    source = (
        f"{card.distribution.name} {card.distribution.version}" if card.distribution else "faceveil itself"
    )
    size = f"{card.size / 1e6:.1f} MB"
    cells = (f"`{card.id}`", card.summary, source, size, card.license, card.commercial, card.origin)
    return "| " + " | ".join(cells) + " |\n"


def test_the_page_lists_every_card_as_it_is():
    expected = HEAD + "".join(row(card) for card in cards())
    assert expected in PAGE.read_text("utf-8"), f"put this table into docs/weights.md:\n{expected}"
