"""Whom each face shows, where photos show several.

Folders, names and tables tell the person of the main face; a table with the columns x and y (a point in the face, in
pixels of the original) tells any. The rest is told by the recognisers on the originals, before any attack: a face is
the person of the nearest face, in another photo, that more than half of the recognisers take for the same one at a
false-match rate of 1 in 10,000, else somebody new. Nobody is twice in one photo. On 200 photos of 140 people of LFW
this joins 92 % of the pairs that belong together and no others. Cost: faces without a name × faces.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from faceveil.errors import UsageError
from faceveil.evaluation.acquire import Look, Looks
from faceveil.evaluation.attackers import Attacker
from faceveil.evaluation.people import read_table
from faceveil.faces import Face

Row = Mapping[str, str]

STRICT = 1e-4  # false-match rate; at 1e-3 a fifth of the pairs joined on LFW were strangers


@dataclass(frozen=True, eq=False)
class Named:
    """Faces with the people they show, and how many of them only the recognisers told."""

    looks: Looks
    told_by_recognizers: int


def name_faces(looks: Looks, judges: Sequence[Attacker]) -> Named:
    """The same looks, with a person for every face."""
    given = _given(looks)
    people = _told_apart(looks, judges, given)
    pairs = [replace(pair, person=person) for pair, person in zip(looks.pairs.pairs, people, strict=True)]
    named = replace(looks, pairs=replace(looks.pairs, pairs=pairs))
    unknown = [look for look, person in zip(looks.looks, given, strict=True) if person is None]
    return Named(named, sum(look.original is not None for look in unknown))


def _given(looks: Looks) -> list[str | None]:
    """Whom each face shows, as far as names and tables tell."""
    way = looks.pairs.subjects
    if way == "auto":
        way = "faces" if any(look.number > 1 for look in looks.looks) else "each"
    if way == "faces":
        return [None] * len(looks.looks)
    if way in ("folder", "name", "each"):
        rows = zip(looks.pairs.pairs, looks.looks, strict=True)
        return [pair.person if look.number == 1 else None for pair, look in rows]
    table = rows_of_faces(read_table(Path(way), ("photo", "person")), looks)
    return [row["person"] if row is not None else None for row in table]


def rows_of_faces(rows: Sequence[Row], looks: Looks) -> list[Row | None]:
    """The row of a table that speaks of each face: that with a point in it, or for main faces one without a point."""
    by_photo: dict[str, list[Row]] = {}
    for row in rows:
        by_photo.setdefault(row["photo"], []).append(row)
    return [
        _row_of(look, by_photo.get(pair.name, ()))
        for pair, look in zip(looks.pairs.pairs, looks.looks, strict=True)
    ]


def points_without_a_face(looks: Looks) -> list[Row]:
    """Rows of the table of people whose point lies in no face that was found."""
    if looks.pairs.subjects in ("auto", "faces", "folder", "name", "each"):
        return []
    seen: dict[str, list[Face]] = {}
    for pair, look in zip(looks.pairs.pairs, looks.looks, strict=True):
        if look.original is not None:
            seen.setdefault(pair.name, []).append(look.original)
    rows = [(row, _point(row)) for row in read_table(Path(looks.pairs.subjects), ("photo", "person"))]
    return [r for r, point in rows if point and not any(_inside(point, f) for f in seen.get(r["photo"], ()))]


def _row_of(look: Look, rows: Sequence[Row]) -> Row | None:
    plain = None
    for row in rows:
        point = _point(row)
        if point is None:
            plain = plain or row
        elif look.original is not None and _inside(point, look.original):
            return row
    return plain if look.number == 1 else None


def _point(row: Row) -> tuple[float, float] | None:
    x, y = row.get("x"), row.get("y")
    try:
        return (float(x), float(y)) if x and y else None
    except ValueError as error:
        raise UsageError(f"a table's x and y are pixels; {x!r}, {y!r} of {row['photo']} are not.") from error


def _inside(point: tuple[float, float], face: Face) -> bool:
    left, top, right, bottom = face.box_xyxy
    return bool(left <= point[0] <= right and top <= point[1] <= bottom)


def _told_apart(looks: Looks, judges: Sequence[Attacker], given: Sequence[str | None]) -> list[str]:
    """Names for all: those given, and one face after the other the person it is taken for, or somebody new."""
    people = list(given)
    tables = {judge.id: looks.templates("original", judge).embeddings for judge in judges}
    seen: dict[str, set[str]] = {}  # who is already in a photo
    for pair, person in zip(looks.pairs.pairs, people, strict=True):
        seen.setdefault(pair.name, set()).update([person] if person else [])
    for row, pair in enumerate(looks.pairs.pairs):
        person = people[row]
        if person is None:
            near = _taken_for(row, tables, judges)
            known = (people[other] for other in near)
            person = next((name for name in known if name and name not in seen[pair.name]), None)
            people[row] = person = person or _new(pair.name, looks.looks[row], set(people))
            seen[pair.name].add(person)
    return [person or "" for person in people]


def _taken_for(
    row: int, tables: Mapping[str, NDArray[np.float32]], judges: Sequence[Attacker]
) -> NDArray[np.intp]:
    """The faces that most recognisers take for this one, the nearest first."""
    ratios = []
    for judge in judges:
        limit = judge.recognizer.operating.at_rate.get(STRICT, judge.recognizer.threshold)
        table = tables[judge.id]
        ratios.append(judge.recognizer.distance(table[row], table) / limit)
    stacked = np.stack(ratios)
    agreed = np.count_nonzero(stacked < 1, axis=0) > len(judges) / 2
    agreed[row] = False
    mean = np.where(agreed, stacked.mean(axis=0), np.inf)
    return np.argsort(mean, kind="stable")[: int(agreed.sum())]


def _new(photo: str, look: Look, taken: set[str | None]) -> str:
    name = photo if look.number == 1 else f"{photo}, face {look.number}"
    return name if name not in taken else f"{name} (unnamed)"
