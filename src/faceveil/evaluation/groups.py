"""Per group of people: is anyone protected less, missed more often, changed more?

Groups come from a CSV file (photo, then one column per attribute), or else from what networks and pixels say of the
originals: age band, gender as a classifier sees it, and skin tone by the individual typology angle. Where photos
show several faces, main faces and those beside them are two groups more.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from faceveil.evaluation.acquire import Looks
from faceveil.evaluation.attackers import Attacker
from faceveil.evaluation.attacks import found_rate
from faceveil.evaluation.intervals import share_by_person
from faceveil.evaluation.matching import match
from faceveil.evaluation.people import read_table
from faceveil.evaluation.results import AttackResult, GroupRates
from faceveil.evaluation.utility import kept_attributes, labels_of
from faceveil.evaluation.who import rows_of_faces

FEWEST = 5  # people in a group that is reported


def group_rates(
    looks: Looks, worst: AttackResult, judges: Sequence[Attacker], table: Path | None
) -> list[GroupRates]:
    """Rates of every group with enough people, under the worst attack."""
    columns = (_from_table(looks, table) if table else labels_of(looks)) | _places(looks)
    if not columns:
        return []
    hits, kept = _hits(looks, worst, next(one for one in judges if one.id == worst.recognizer))
    person = looks.pairs.person_index
    missed = np.array([look.original is None for look in looks.looks])
    lost = kept_attributes(looks)
    rows = []
    for attribute, labels in columns.items():
        for group in sorted({label for label in labels if label is not None}):
            inside = np.array([label == group for label in labels])
            people = len(np.unique(person[inside]))
            if people < FEWEST:
                continue
            rows.append(
                GroupRates(
                    attribute, group, people, int(inside.sum()), found_rate(hits, person, inside & kept),
                    share_by_person(missed, person, inside), share_by_person(~lost.kept, person, inside & lost.known),
                )
            )  # fmt: skip
    return rows


def _hits(
    looks: Looks, worst: AttackResult, judge: Attacker
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Each photo's chance to be found by the worst attack (naive, where that one needs more than the looks)."""
    originals, released = looks.templates("original", judge), looks.templates("anonymised", judge)
    probes, gallery = {
        "reverse": (originals, released),
        "parrot": (released, released),
        "restored": (looks.templates("restored", judge), originals),
    }.get(worst.attack, (released, originals))
    found = match(probes, gallery, euclidean=judge.euclidean, skip_same_photo=worst.attack == "parrot")
    hits, kept = np.zeros(len(looks.looks)), np.zeros(len(looks.looks), bool)
    hits[probes.photo], kept[probes.photo] = found.hits(1), found.possible
    return hits, kept


def _places(looks: Looks) -> dict[str, list[str | None]]:
    if all(look.number == 1 for look in looks.looks):
        return {}
    return {"place": ["main faces" if look.number == 1 else "faces beside" for look in looks.looks]}


def _from_table(looks: Looks, path: Path) -> dict[str, list[str | None]]:
    rows = read_table(path, ("photo",))
    of_face = rows_of_faces(rows, looks)
    names = [name for name in rows[0] if name not in ("photo", "x", "y")] if rows else []
    return {name: [(row or {}).get(name) or None for row in of_face] for name in names}


def group_warnings(rates: Sequence[GroupRates]) -> list[str]:
    """Where the intervals of two groups do not touch."""
    found = []
    for figure, words in (
        ("found", "re-identified"),
        ("missed", "missed by the detector"),
        ("attribute_loss", "changed in age or gender"),
    ):
        for attribute in dict.fromkeys(row.attribute for row in rates):
            rows = [row for row in rates if row.attribute == attribute and getattr(row, figure).people]
            if len(rows) < 2:
                continue
            low = min(rows, key=lambda row: getattr(row, figure).high)
            high = max(rows, key=lambda row: getattr(row, figure).low)
            if getattr(high, figure).low > getattr(low, figure).high:
                found.append(
                    f"groups differ by {attribute}: {high.group} are {words} more often than {low.group} "
                    f"({getattr(high, figure)} against {getattr(low, figure)})"
                )
    return found
