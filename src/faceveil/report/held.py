"""What a release holds, whatever its names say: original faces that it shows, and what nobody could judge."""

from html import escape

from faceveil.evaluation.gate import failures_at_any_limit, left_out
from faceveil.evaluation.results import Results, Shown
from faceveil.report.parts import table

MOST_NAMES = 15


def held(results: Results) -> str:
    """The section of the page; empty where there is nothing to say."""
    said = [*failures_at_any_limit(results), *left_out(results)]
    if not said:
        return ""
    head = ("released picture", "shows", "face", "person", "told by", "turned")
    rows = [("", _cells(one)) for one in results.shown[:MOST_NAMES]]
    items = "".join(f"<li>{escape(text[:1].upper() + text[1:])}.</li>" for text in said)
    return (
        "<section><h2>What the release holds</h2><p class='note'>Every face of every released picture is compared "
        f"with every original face, whatever the names say.</p><ul>{items}</ul>"
        + (table(head, rows) if rows else "")
        + "</section>"
    )


def _cells(one: Shown) -> list[str]:
    turned = [f"{one.turned}°"] * bool(one.turned) + ["mirrored"] * one.mirrored
    told = "the same pixels" if one.by == "pixels" else "all recognisers"
    words = (one.released, one.original, f"{one.face} of {one.faces}", one.person, told, ", ".join(turned))
    return [escape(word) for word in words]
