"""Original faces that a release shows, under whatever name: what the attacks cannot see, as they go by names.

A face is shown where a released picture has its pixels, or where every recogniser takes a released face for it at a
false-match rate of 1 in 10,000. Excused is what the attacks count already: a face that is also the person's own
released one, or also taken for somebody who was in that place, as in a group that shares a mix. Cost: released ×
original faces for each recogniser, in blocks.
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from faceveil.evaluation.acquire import LazyPhoto, Look, Looks, Vectors, View
from faceveil.evaluation.attackers import Attacker
from faceveil.evaluation.cache import Cache
from faceveil.evaluation.clusters import UNCHANGED
from faceveil.evaluation.matching import BLOCK, distances
from faceveil.evaluation.people import PhotoPair
from faceveil.evaluation.results import Exposed, Shown
from faceveil.evaluation.scan import SYMMETRIES, Release, detail_left, symmetric

Floats = NDArray[np.float32]

SAME_PIXELS = 0.9  # of the detail; of LFW's faces a JPEG of quality 30 keeps 0.93, means of two 0.75 at most
SAME_PICTURE = 0.9  # correlation of thumbnails; two photos of LFW's come to 0.8
STRICT = 1e-4  # false-match rate
COMPARED = 2_000_000  # pairs of LFW's people: one was as near, under two names; the next came to 1.02 limits
TAIL = 46  # beyond, strangers nearer than x limits grow in number as exp(46 x)
ALONE = 0.5  # of its threshold, for a recogniser of unknown rates, or that no other confirms


Row = tuple[PhotoPair, Look]  # an original face


def shown_originals(
    release: Release, looks: Looks, judges: Sequence[Attacker], cache: Cache, exposed: Sequence[Exposed] = ()
) -> list[Shown]:
    """Who can be seen where: of each released picture every original face once, without those named as unchanged."""
    named = {(one.photo, one.face) for one in exposed if one.unchanged}
    found: dict[tuple[str, str, int], Shown] = {}
    for path, row, one in (*_by_pixels(release, looks, cache), *_by_recognisers(release, looks, judges)):
        in_place = path == row[0].anonymised and not one.turned and not one.mirrored
        if not (in_place and (one.original, one.face) in named):
            found.setdefault((one.released, one.original, one.face), one)
    return sorted(found.values(), key=lambda one: (one.released, one.original, one.face))


def _named(release: Release, path: Path, row: Row, by: str, turn: int, mirrored: bool = False) -> Shown:
    pair, look = row
    return Shown(
        release.names[path], pair.name, pair.person, look.number, look.faces, by, 90 * turn, mirrored
    )


# By pixels.


def _by_pixels(release: Release, looks: Looks, cache: Cache) -> Iterator[tuple[Path, Row, Shown]]:
    """Released pictures that look like an original, or have its name, and show one of its faces pixel by pixel."""
    faces: dict[Path, list[Row]] = {}
    for part in (looks, looks.small):
        for pair, look in zip(part.pairs.pairs, part.looks, strict=True) if part else ():
            if look.original is not None:
                faces.setdefault(pair.original, []).append((pair, look))
    own = {rows[0][0].anonymised: original for original, rows in faces.items()}
    alike = _alike(release)
    for path, picture in release.released.items():
        wanted = {original for original in (own.get(path), *alike.get(path, ())) if original in faces}
        if not wanted or picture.problem is not None:
            continue
        photo = LazyPhoto(path)
        for original in sorted(wanted):
            for row, turn, mirrored in _same_pixels(photo, faces[original], cache):
                yield path, row, _named(release, path, row, "pixels", turn, mirrored)


def _same_pixels(photo: LazyPhoto, rows: Sequence[Row], cache: Cache) -> Iterator[tuple[Row, int, bool]]:
    """The faces whose pixels stand in the picture, and how it is turned."""
    before = LazyPhoto(rows[0][0].original)
    faces = [look.original for _, look in rows if look.original is not None]
    left = np.array([detail_left(before, faces, photo, symmetry, cache) for symmetry in SYMMETRIES])
    for number, best in enumerate(np.argmax(left, axis=0)):
        if left[best, number] >= SAME_PIXELS:
            yield rows[number], *SYMMETRIES[best]


def _alike(release: Release) -> dict[Path, set[Path]]:
    """For each released picture the original that it looks most like as a whole, in each turn and mirrored."""
    released = {path: one.thumb for path, one in release.released.items() if one.thumb is not None}
    originals = {path: one.thumb for path, one in release.originals.items() if one.thumb is not None}
    alike: dict[Path, set[Path]] = {path: set() for path in released}
    if not released or not originals:
        return alike
    gallery, paths, names = _unit(list(originals.values())), list(released), list(originals)
    for symmetry in SYMMETRIES:
        probes = _unit([np.asarray(symmetric(one, symmetry)) for one in released.values()])
        for start in range(0, len(probes), step := max(1, BLOCK // len(gallery))):
            alikeness = probes[start : start + step] @ gallery.T
            for row, column in enumerate(np.argmax(alikeness, axis=1)):
                if alikeness[row, column] > SAME_PICTURE:
                    alike[paths[start + row]].add(names[column])
    return alike


def _unit(thumbs: Sequence[Floats]) -> Floats:
    """Rows whose product is their correlation."""
    rows = np.array([one.ravel() for one in thumbs])
    rows -= rows.mean(axis=1, keepdims=True)
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-6), np.float32)


# By recognisers.


def _by_recognisers(
    release: Release, looks: Looks, judges: Sequence[Attacker]
) -> Iterator[tuple[Path, Row, Shown]]:
    """Released faces that all recognisers take for somebody, the nearest original of each person."""
    seen = [(path, one) for path, picture in release.released.items() for one in picture.seen]
    rows = [number for number, look in enumerate(looks.looks) if look.original is not None]
    if not seen or not rows:
        return
    gallery = [looks.looks[number].vectors for number in rows]
    person, counted, limits = looks.pairs.person_index, _Counted(looks, judges), _limits(judges)
    for start in range(0, len(seen), step := max(1, BLOCK // len(rows))):
        block = seen[start : start + step]
        far = _farthest([one.vectors for _, one in block], gallery, "original", limits)
        near = np.nonzero(far < _chance(len(seen) * len(rows)))
        told: set[tuple[int, int]] = set()
        for probe, column in sorted(zip(*near, strict=True), key=lambda pair: far[pair]):
            (path, one), number = block[probe], rows[column]
            who = int(person[number])
            if (probe, who) in told:
                continue
            told.add((probe, who))
            if not counted.holds(path, one.vectors, who, gallery[column]):
                row = looks.pairs.pairs[number], looks.looks[number]
                yield path, row, _named(release, path, row, "recognisers", one.turn)


class _Counted:
    """What the attacks count already: a person's own released faces, and mixes of several people."""

    def __init__(self, looks: Looks, judges: Sequence[Attacker]) -> None:
        self.limits = _limits(judges)
        self.unchanged = {one: UNCHANGED * one.recognizer.threshold for one in judges}
        self.matching = {one: one.recognizer.threshold for one in judges}
        self.own: dict[int, list[Vectors]] = {}
        self.there: dict[Path, list[Vectors]] = {}  # who was in the photo of that name
        for person, pair, look in zip(looks.pairs.person_index, looks.pairs.pairs, looks.looks, strict=True):
            if look.anonymised is not None:
                self.own.setdefault(int(person), []).append(look.vectors)
            if look.original is not None and pair.anonymised is not None:
                self.there.setdefault(pair.anonymised, []).append(look.vectors)

    def holds(self, path: Path, face: Vectors, person: int, original: Vectors) -> bool:
        """Whether this face of a released file, which is taken for that person's original, is excused."""
        if _agree(face, [original], "original", self.unchanged):
            return False
        own, there = self.own.get(person, ()), self.there.get(path, ())
        others = [one for one in there if one is not original]
        return _agree(face, own, "anonymised", self.limits) or _agree(face, others, "original", self.matching)


def _agree(face: Vectors, others: Collection[Vectors], view: View, limits: Mapping[Attacker, float]) -> bool:
    """Whether all recognisers take the face for one of the others."""
    return bool(others) and bool((_farthest([face], others, view, limits) < 1).any())


def _limits(judges: Sequence[Attacker]) -> dict[Attacker, float]:
    """The recognisers that must agree, and how near; those of unknown rates are only asked where no others are."""
    known = [one for one in judges if STRICT in one.recognizer.operating.at_rate]
    limits = {one: one.recognizer.operating.at_rate[STRICT] for one in known} if len(known) > 1 else {}
    return limits or {one: ALONE * one.recognizer.threshold for one in known or judges}


def _chance(comparisons: int) -> float:
    """How near, in limits, a stranger is not expected among so many comparisons."""
    return 1 - max(0.0, math.log(comparisons / COMPARED)) / TAIL


def _farthest(
    probes: Collection[Vectors], gallery: Collection[Vectors], view: View, limits: Mapping[Attacker, float]
) -> Floats:
    """Of each two faces the largest distance, in limits: below 1 all recognisers agree that they are one."""
    far = np.zeros((len(probes), len(gallery)), np.float32)
    for judge, limit in limits.items():
        one = np.array([vectors["anonymised", judge.id] for vectors in probes])
        other = np.array([vectors[view, judge.id] for vectors in gallery])
        np.maximum(far, distances(one, other, euclidean=judge.euclidean) / np.float32(limit), out=far)
    return far
