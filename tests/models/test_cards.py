"""One contract over every card."""

import re

import pytest

from faceveil.errors import UnknownCard, UsageError
from faceveil.models.cards import all_cards, card, cards, read_cards

CARDS = list(cards())


@pytest.mark.parametrize("entry", CARDS, ids=lambda entry: entry.id)
def test_a_card_is_well_formed(entry):
    assert re.fullmatch(r"[a-z0-9-]+\.[a-z0-9-]+", entry.id)
    assert entry.license and entry.origin.endswith(".") and entry.summary and entry.notes
    assert len({member.name for member in entry.members}) == len(entry.members) > 0
    for pinned in (*entry.members, *([entry.distribution] if entry.distribution else [])):
        assert re.fullmatch(r"[0-9a-f]{64}", pinned.sha256)
        assert pinned.size > 0
    if entry.distribution:
        name = entry.distribution.name.removeprefix("@").replace("/", "-").replace("-", "_").lower()
        file = entry.distribution.filename.replace("-", "_").lower()
        assert file.startswith(f"{name}_{entry.distribution.version}")
        assert entry.distribution.filename.endswith((".whl", ".tar.gz", ".tgz"))


def test_ids_are_unique():
    assert len(CARDS) == len(all_cards())


def test_weights_made_from_what_excludes_commerce_are_closed():
    said = [entry for entry in CARDS if re.search(r"non-commercial|exclude commercial", entry.origin)]
    assert said
    assert {entry.commercial for entry in said} == {"closed"}


def test_weights_given_for_research_are_not_open():
    assert all(entry.commercial != "open" for entry in CARDS if "for research" in entry.origin)


def test_an_unknown_id_offers_the_nearest():
    with pytest.raises(UnknownCard, match=r"'facemesh\.468'"):
        card("facemesh468")


def test_an_unknown_member_lists_the_real_ones():
    with pytest.raises(UsageError, match=r"MappingNetwork\.xml"):
        card("mobilestylegan.ffhq-1024").member("Mapping.xml")


def test_a_card_with_an_unknown_status_is_refused():
    with pytest.raises(ValueError, match="maybe"):
        read_cards(
            '[[card]]\nid="a.b"\nrole="data"\nsummary="s"\nlicense="l"\norigin="o"\nnotes="n"\n'
            'commercial="maybe"\n[[card.member]]\npath="p"\nsha256="0"\nsize=1'
        )
