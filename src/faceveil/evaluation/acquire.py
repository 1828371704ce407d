"""From photos to embeddings: find the faces, align them, embed each once per recogniser.

Every face of an original is a row of its own: the main one (large and near the middle) first, then those beside it.
In the released photo each is looked for where the original's was. A face that is not found is not acquired, and
counted as such. A third look is that of a patient attacker: the picture is restored first and the face is cut
out where it must be, as by hand.
"""

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from faceveil.errors import PhotoError
from faceveil.evaluation.attackers import Attacker
from faceveil.evaluation.cache import Cache, key_of
from faceveil.evaluation.matching import Templates
from faceveil.evaluation.people import Pairs, PhotoPair
from faceveil.evaluation.places import main_face, main_first, matched, scaled
from faceveil.evaluation.restore import changed_window, changed_window_at, restore
from faceveil.faces import Alignment, Face, find_faces
from faceveil.faces.align import similarity
from faceveil.models import card
from faceveil.models.recognizers import TEMPLATES
from faceveil.photos import Photo, decode_photo
from faceveil.photos.names import shown
from faceveil.photos.read import read_bytes

Image = NDArray[np.uint8]
Vector = NDArray[np.float32]
Vectors = dict[tuple["View", str], Vector]
View = Literal["original", "anonymised", "restored"]
Figures = dict[str, NDArray[np.float32]]

DETECTOR = "yunet"
SMALLEST = (
    32  # px of width under which a face beside the main one is not counted: recognisers see nobody in it
)
UNDONE = ("nothing", "blur", "pixelation")


class Measure(Protocol):
    """What is measured besides identity, of a photo and of each of its faces."""

    def of_photo(self, before: Image, after: Image) -> Figures: ...

    def of_face(self, before: Image, after: Image, face: Face, other: Face | None) -> Figures: ...


class LazyPhoto:
    """A file's bytes now, its pixels when asked for."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.data = read_bytes(path)
        self.digest = hashlib.sha256(self.data).digest()

    @cached_property
    def photo(self) -> Photo:
        return decode_photo(self.data, path=self.path)

    @cached_property
    def pixels(self) -> Image:
        return self.photo.pixels

    def faces(self, cache: Cache) -> list[Face]:
        """The faces in it, best first."""
        key = key_of("faces", self.digest, card("yunet.2023mar").members[0].sha256)
        rows = cache.get(key)
        if rows is None:
            found = find_faces(self.pixels, DETECTOR)
            size = self.pixels.shape[1], self.pixels.shape[0]
            flat = [np.r_[size, face.box_xyxy, face.points.ravel(), face.score] for face in found]
            rows = cache.put(key, np.array([np.r_[size, np.full(15, np.nan)], *flat], np.float32))
        self.size_wh = int(rows[0, 0]), int(rows[0, 1])
        return [
            Face(row[2:6].astype(float), row[6:16].reshape(5, 2).astype(float), float(row[16]), DETECTOR)
            for row in rows[1:]
        ]


@dataclass(frozen=True, eq=False)
class Look:
    """What was seen of one face of a pair, or of a pair without a face."""

    original: Face | None
    anonymised: Face | None
    faces: int  # in the original
    vectors: Vectors  # by view and recogniser; missing: not acquired
    undone: str = "nothing"  # by restoration
    measures: Figures = field(default_factory=dict)
    problem: str | None = None
    number: int = 1  # of the face in its photo; 1 is the main one

    @property
    def is_small(self) -> bool:
        """Beside the main face, and too small to tell anyone by it."""
        return self.number > 1 and self.original is not None and self.original.size_wh[0] < SMALLEST


@dataclass(frozen=True, eq=False)
class Looks:
    """All faces, as seen. `pairs` has one entry per face: its photo, and whom the face shows."""

    pairs: Pairs
    looks: list[Look]
    small: "Looks | None" = None  # faces that no rate counts; they are only checked for being unchanged

    @property
    def main(self) -> "Looks":
        """The main face of each photo alone."""
        return self.only([row for row, look in enumerate(self.looks) if look.number == 1])

    def only(self, rows: Sequence[int]) -> "Looks":
        pairs = replace(self.pairs, pairs=[self.pairs.pairs[row] for row in rows])
        return Looks(pairs, [self.looks[row] for row in rows])

    def templates(self, view: View, attacker: Attacker) -> Templates:
        """The embeddings of one view; a row of NaN where the face was not acquired. Only released photos count."""
        rows = [
            row
            for row, pair in enumerate(self.pairs.pairs)
            if view == "original" or pair.anonymised is not None
        ]
        found = [self.looks[row].vectors.get((view, attacker.id)) for row in rows]
        width = next((len(vector) for vector in found if vector is not None), 1)
        empty = np.full(width, np.nan, np.float32)
        table = np.array([empty if vector is None else vector for vector in found], np.float32)
        face = np.array(rows, np.intp)
        return Templates(table.reshape(len(rows), width), self.pairs.person_index[face], face)


def look_at_all(
    pairs: Pairs, attackers: Sequence[Attacker], cache: Cache, *, restored: bool = True,
    measure: Measure | None = None, progress: Callable[[], None] | None = None, workers: int | None = None,
) -> Looks:  # fmt: skip
    """Look at every pair, in as many threads as there are cores; networks use one thread each.

    Whom a face beside the main one shows is not known here: each counts as a person of its own.
    """
    workers = workers or cores()

    def one(pair: PhotoPair) -> list[Look]:
        found = look_at(pair, attackers, cache, restored=restored, measure=measure)
        if progress:
            progress()
        return found

    looks = [one(pair) for pair in pairs.pairs[:1]]  # alone, so that each network is loaded once
    with ThreadPoolExecutor(workers) as pool:
        looks += _in_order(pool, one, pairs.pairs[1:], 4 * workers)
    return _by_face(pairs, looks)


def _by_face(pairs: Pairs, looks: Sequence[list[Look]]) -> Looks:
    rows = [(pair, look) for pair, found in zip(pairs.pairs, looks, strict=True) for look in found]
    people = [pair.person if look.number == 1 else f"{pair.name}, face {look.number}" for pair, look in rows]
    faces = [replace(pair, person=person) for (pair, _), person in zip(rows, people, strict=True)]
    every = Looks(replace(pairs, pairs=faces), [look for _, look in rows])
    small = [row for row, (_, look) in enumerate(rows) if look.is_small]
    large = [row for row, (_, look) in enumerate(rows) if not look.is_small]
    return replace(every.only(large), small=every.only(small))


def _in_order(
    pool: ThreadPoolExecutor, work: Callable[[PhotoPair], list[Look]], items: Sequence[PhotoPair], ahead: int
) -> Iterator[list[Look]]:
    """Results in the order of the items, with only a few photos in memory."""
    waiting = [pool.submit(work, item) for item in items[:ahead]]
    for number in range(len(items)):
        if number + ahead < len(items):
            waiting.append(pool.submit(work, items[number + ahead]))
        yield waiting[number].result()


def look_at(
    pair: PhotoPair,
    attackers: Sequence[Attacker],
    cache: Cache,
    *,
    restored: bool = True,
    measure: Measure | None = None,
) -> list[Look]:
    """Find, align and embed the faces of one pair, the main one first; one look without a face if there is none."""
    try:
        before = LazyPhoto(pair.original)
        found = before.faces(cache)
    except (PhotoError, OSError) as error:
        return [Look(None, None, 0, {}, problem=shown(str(error)))]
    looks = [
        Look(face, None, len(found), embedded("original", before, face, attackers, cache), number=number)
        for number, face in enumerate(main_first(found, before.size_wh) or [None], start=1)
    ]
    if pair.anonymised is None:
        return looks
    try:
        after = LazyPhoto(pair.anonymised)
        candidates = after.faces(cache)
    except (PhotoError, OSError) as error:
        return [replace(looks[0], problem=shown(str(error))), *looks[1:]]
    return _looked_for(looks, before, after, candidates, attackers, cache, restored, measure)


def _looked_for(
    looks: Sequence[Look], before: LazyPhoto, after: LazyPhoto, candidates: Sequence[Face],
    attackers: Sequence[Attacker], cache: Cache, restored: bool, measure: Measure | None,
) -> list[Look]:  # fmt: skip
    """The same faces in the released photo: as they are, restored, and measured."""
    places = [
        scaled(look.original, before.size_wh, after.size_wh) for look in looks if look.original is not None
    ]
    others = matched(places, candidates) if places else [main_face(candidates, after.size_wh)]
    done = []
    for row, (look, other) in enumerate(zip(looks, others, strict=True)):
        vectors, undone, figures = dict(look.vectors), "nothing", {}
        vectors |= embedded("anonymised", after, other, attackers, cache)
        if restored and places and not look.is_small:
            beside = [place for place in places if place is not places[row]]
            undone, found = _restored(before, after, places[row], beside, attackers, cache)
            vectors |= found
        if measure and look.original is not None and not look.is_small:
            figures = measure.of_face(before.pixels, after.pixels, look.original, other)
            if look.number == 1:
                figures |= measure.of_photo(before.pixels, after.pixels)
        done.append(replace(look, anonymised=other, vectors=vectors, undone=undone, measures=figures))
    return done


def _restored(
    before: LazyPhoto, after: LazyPhoto, face: Face, beside: Sequence[Face], attackers: Sequence[Attacker],
    cache: Cache,
) -> tuple[str, Vectors]:  # fmt: skip
    """What was undone, and the embeddings of the face cut out of the restored picture."""
    keys = {
        one.id: key_of("restored 2", before.digest, after.digest, one.sha256, face.points)
        for one in attackers
    }
    label = key_of("undone 2", before.digest, after.digest, face.points)
    stored = {name: cache.get(key) for name, key in keys.items()}
    what = cache.get(label)
    if what is None or any(row is None for row in stored.values()):
        window = _window(before, after, face, beside)
        result = restore(after.pixels, window) if window else None
        image = result.image if result else after.pixels
        what = cache.put(label, np.array([[UNDONE.index(result.undone) if result else 0]], np.float32))
        for one in attackers:
            stored[one.id] = cache.put(keys[one.id], one.recognizer.embed(cut(image, face, one)[None]))
    return UNDONE[int(what[0, 0])], {
        ("restored", name): row[0] for name, row in stored.items() if row is not None
    }


def _window(
    before: LazyPhoto, after: LazyPhoto, face: Face, beside: Sequence[Face]
) -> tuple[slice, slice] | None:
    if before.size_wh != after.size_wh:
        return None
    if not beside:
        return changed_window(before.pixels, after.pixels)
    return changed_window_at(before.pixels, after.pixels, face.box_xyxy, [other.box_xyxy for other in beside])


def cut(image: Image, face: Face, attacker: Attacker) -> Image:
    """The face as this recogniser wants it."""
    name, size = attacker.recognizer.template, attacker.recognizer.size
    template = TEMPLATES[name] * (
        size / int(name.rpartition("-")[2])
    )  # its name says for which size it was made
    return Alignment(similarity(face.points, template), size).crop(image)


def embedded(
    view: View, photo: LazyPhoto, face: Face | None, attackers: Sequence[Attacker], cache: Cache
) -> Vectors:
    """The face's embedding by each recogniser; none where there is no face."""
    vectors: Vectors = {}
    if face is None:
        return vectors
    for attacker in attackers:
        key = key_of("embedding 1", photo.digest, attacker.sha256, face.points)
        row = cache.get(key)
        if row is None:
            row = cache.put(key, attacker.recognizer.embed(cut(photo.pixels, face, attacker)[None]))
        vectors[view, attacker.id] = np.asarray(row[0], np.float32)
    return vectors


def cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1
