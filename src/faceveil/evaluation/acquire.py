"""From photos to embeddings: find the face, align it, embed it once per recogniser.

Of a photo with several faces the main one is judged: large and near the middle. In the released photo the face is
looked for where the original's was. A face that is not found is not acquired, and counted as such. A third look
is that of a patient attacker: the picture is restored first and the face is cut out where it must be, as by hand.
"""

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from faceveil.errors import PhotoError
from faceveil.evaluation.attackers import Attacker
from faceveil.evaluation.cache import Cache, key_of
from faceveil.evaluation.matching import Templates
from faceveil.evaluation.people import Pairs, PhotoPair
from faceveil.evaluation.restore import changed_window, restore
from faceveil.faces import Alignment, Face, find_faces
from faceveil.faces.align import similarity
from faceveil.models import card
from faceveil.models.recognizers import TEMPLATES
from faceveil.photos import decode_photo

Image = NDArray[np.uint8]
Vector = NDArray[np.float32]
View = Literal["original", "anonymised", "restored"]
Measure = Callable[[Image, Image, Face, Face | None], dict[str, NDArray[np.float32]]]

DETECTOR = "yunet"
NEARBY = 0.5  # widths of the original's face by which the released one may have moved; beyond is a neighbour


class LazyPhoto:
    """A file's bytes now, its pixels when asked for."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.data = path.read_bytes()
        self.digest = hashlib.sha256(self.data).digest()

    @cached_property
    def pixels(self) -> Image:
        return decode_photo(self.data, path=self.path).pixels

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
    """What was seen of one pair."""

    original: Face | None
    anonymised: Face | None
    faces: int  # in the original
    vectors: dict[tuple[View, str], Vector]  # by recogniser; missing: not acquired
    undone: str = "nothing"  # by restoration
    measures: dict[str, NDArray[np.float32]] = field(default_factory=dict)
    problem: str | None = None


@dataclass(frozen=True, eq=False)
class Looks:
    """All pairs, as seen."""

    pairs: Pairs
    looks: list[Look]

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
        photo = np.array(rows, np.intp)
        return Templates(table.reshape(len(rows), width), self.pairs.person_index[photo], photo)


def look_at_all(
    pairs: Pairs, attackers: Sequence[Attacker], cache: Cache, *, restored: bool = True,
    measure: Measure | None = None, progress: Callable[[], None] | None = None, workers: int | None = None,
) -> Looks:  # fmt: skip
    """Look at every pair, in as many threads as there are cores; networks use one thread each."""
    workers = workers or _cores()

    def one(pair: PhotoPair) -> Look:
        found = look_at(pair, attackers, cache, restored=restored, measure=measure)
        if progress:
            progress()
        return found

    looks = [one(pair) for pair in pairs.pairs[:1]]  # alone, so that each network is loaded once
    with ThreadPoolExecutor(workers) as pool:
        looks += _in_order(pool, one, pairs.pairs[1:], 4 * workers)
    return Looks(pairs, looks)


def _in_order(
    pool: ThreadPoolExecutor, work: Callable[[PhotoPair], Look], items: Sequence[PhotoPair], ahead: int
) -> Iterator[Look]:
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
) -> Look:
    """Find, align and embed the face of one pair."""
    vectors: dict[tuple[View, str], Vector] = {}
    try:
        before = LazyPhoto(pair.original)
        found = before.faces(cache)
    except (PhotoError, OSError) as error:
        return Look(None, None, 0, vectors, problem=str(error))
    face = main_face(found, before.size_wh)
    if face is not None:
        for attacker in attackers:
            vectors["original", attacker.id] = _embedded(before, face, attacker, cache)
    if pair.anonymised is None:
        return Look(face, None, len(found), vectors)
    try:
        after = LazyPhoto(pair.anonymised)
        candidates = after.faces(cache)
    except (PhotoError, OSError) as error:
        return Look(face, None, len(found), vectors, problem=str(error))
    expected = face and _scaled(face, before.size_wh, after.size_wh)
    other = face_at(candidates, expected) if expected else main_face(candidates, after.size_wh)
    if other is not None:
        for attacker in attackers:
            vectors["anonymised", attacker.id] = _embedded(after, other, attacker, cache)
    undone = "nothing"
    if restored and expected is not None:
        undone = _restored(before, after, expected, attackers, cache, vectors)
    measures = measure(before.pixels, after.pixels, face, other) if measure and face is not None else {}
    return Look(face, other, len(found), vectors, undone, measures)


def _restored(
    before: LazyPhoto, after: LazyPhoto, face: Face, attackers: Sequence[Attacker], cache: Cache,
    vectors: dict[tuple[View, str], Vector],
) -> str:  # fmt: skip
    keys = {
        one.id: key_of("restored 1", before.digest, after.digest, one.sha256, face.points)
        for one in attackers
    }
    label = key_of("undone 1", before.digest, after.digest)
    stored = {name: cache.get(key) for name, key in keys.items()}
    what = cache.get(label)
    names = ("nothing", "blur", "pixelation")
    if what is None or any(row is None for row in stored.values()):
        window = changed_window(before.pixels, after.pixels) if before.size_wh == after.size_wh else None
        result = restore(after.pixels, window) if window else None
        image = result.image if result else after.pixels
        what = cache.put(label, np.array([[names.index(result.undone) if result else 0]], np.float32))
        for one in attackers:
            stored[one.id] = cache.put(keys[one.id], one.recognizer.embed(cut(image, face, one)[None]))
    for name, row in stored.items():
        if row is not None:
            vectors["restored", name] = row[0]
    return names[int(what[0, 0])]


def cut(image: Image, face: Face, attacker: Attacker) -> Image:
    """The face as this recogniser wants it."""
    template, size = TEMPLATES[attacker.recognizer.template], attacker.recognizer.size
    return Alignment(similarity(face.points, template), size).crop(image)


def _embedded(photo: LazyPhoto, face: Face, attacker: Attacker, cache: Cache) -> Vector:
    key = key_of("embedding 1", photo.digest, attacker.sha256, face.points)
    row = cache.get(key)
    if row is None:
        row = cache.put(key, attacker.recognizer.embed(cut(photo.pixels, face, attacker)[None]))
    return np.asarray(row[0], np.float32)


def main_face(faces: Sequence[Face], size_wh: tuple[int, int]) -> Face | None:
    """The face that a photo shows: large, and near the middle."""
    middle = np.array(size_wh) / 2
    return max(
        faces, key=lambda face: max(face.size_wh) - 0.5 * np.hypot(*(face.centre - middle)), default=None
    )


def face_at(faces: Sequence[Face], expected: Face) -> Face | None:
    """The face nearest to where one is expected, if it is near enough and of a like size."""
    width = max(expected.size_wh)
    near = [
        face
        for face in faces
        if np.hypot(*(face.centre - expected.centre)) < NEARBY * width
        and 0.4 < max(face.size_wh) / width < 2.5
    ]
    return min(near, key=lambda face: float(np.hypot(*(face.centre - expected.centre))), default=None)


def _scaled(face: Face, from_wh: tuple[int, int], to_wh: tuple[int, int]) -> Face:
    """The face's place in a released photo of another size."""
    if from_wh == to_wh:
        return face
    ratio = np.array(to_wh) / np.array(from_wh)
    return Face(face.box_xyxy * np.r_[ratio, ratio], face.points * ratio, face.score, face.detector)


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1
