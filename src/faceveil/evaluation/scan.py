"""Every released picture, whatever its name: its faces, and what stands where original faces stood.

Two looks that do not know of each other. The first finds faces, also at three quarter turns, and embeds them with
every recogniser. The second needs neither a detector nor a recogniser: where a released picture as a whole looks like
an original (turned or mirrored, too), it cuts out the place of each original face and compares pixels.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from faceveil.errors import PhotoError
from faceveil.evaluation.acquire import Image, LazyPhoto, Vectors, embedded
from faceveil.evaluation.attackers import Attacker
from faceveil.evaluation.cache import Cache, key_of
from faceveil.evaluation.people import Pairs
from faceveil.faces import Alignment, Face
from faceveil.faces.align import similarity
from faceveil.models.recognizers import TEMPLATES
from faceveil.photos.names import shown

Floats = NDArray[np.float32]
Symmetry = tuple[int, bool]  # quarter turns, and whether mirrored before them

SYMMETRIES: tuple[Symmetry, ...] = tuple((turn, mirrored) for mirrored in (False, True) for turn in range(4))
LONGEST = 1600  # px of the longer side of a picture that is searched turned, or compared by its pixels
SIDE = 64  # px of a cut-out face
COARSE = 3.0  # px of it over which light and form change; finer than that is detail
THUMB = 16  # px of a whole picture's thumbnail


class ReleasedPhoto(LazyPhoto):
    """A released picture, also as it is seen laid on white and on black where it is see-through."""

    def views(self) -> list[tuple["LazyPhoto", int]]:
        """Each way to look at it, with its quarter turns."""
        grounds: list[LazyPhoto] = [self]
        alpha = self.photo.alpha
        if alpha is not None and int(alpha.min()) < 255:
            grounds += [_View(self, f"on {level}", partial(_laid_on, self, level)) for level in (0, 255)]
        turned = [(_turned(ground, turn), turn) for ground in grounds for turn in (1, 2, 3)]
        return [*((ground, 0) for ground in grounds), *turned]


class _View(LazyPhoto):
    """A picture made of another one."""

    def __init__(self, photo: LazyPhoto, label: str, make: Callable[[], Image]) -> None:
        self.path, self.digest, self._make = photo.path, key_of(label, photo.digest), make

    @cached_property
    def pixels(self) -> Image:
        return self._make()


def _turned(photo: LazyPhoto, turn: int) -> LazyPhoto:
    return _View(photo, f"turned {turn}", lambda: np.ascontiguousarray(np.rot90(shrunk(photo.pixels), turn)))


def _laid_on(photo: LazyPhoto, level: int) -> Image:
    assert photo.photo.alpha is not None
    share = photo.photo.alpha[..., None].astype(np.float32) / 255
    return np.asarray(np.rint(photo.pixels * share + level * (1 - share)), np.uint8)


def shrunk(image: Image) -> Image:
    """The picture with no side longer than LONGEST."""
    ratio = LONGEST / max(image.shape[:2])
    if ratio >= 1:
        return image
    size = max(1, round(image.shape[1] * ratio)), max(1, round(image.shape[0] * ratio))
    return np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_AREA), np.uint8)


@dataclass(frozen=True, eq=False)
class Seen:
    """A face of a released picture."""

    turn: int  # quarter turns of the picture in which it stands
    vectors: Vectors


@dataclass(frozen=True, eq=False)
class Picture:
    """A file: its thumbnail, its faces if it was released, or why it could not be read."""

    thumb: Floats | None = None
    seen: tuple[Seen, ...] = ()
    problem: str | None = None


@dataclass(frozen=True, eq=False)
class Release:
    """All that was read of a release and of its originals, by path."""

    released: Mapping[Path, Picture]
    originals: Mapping[Path, Picture]
    names: Mapping[Path, str]  # of released pictures, below their folder

    @property
    def unreadable(self) -> list[str]:
        """Released pictures that nobody could look at, and why."""
        return sorted(one.problem for one in self.released.values() if one.problem)

    @property
    def unreadable_originals(self) -> list[str]:
        return sorted(one.problem for one in self.originals.values() if one.problem)


def read_release(pairs: Pairs, judges: Sequence[Attacker], cache: Cache, workers: int) -> Release:
    """Look at every released picture, and at each original as a whole."""

    def released(path: Path) -> Picture:
        photo = ReleasedPhoto(path)
        seen = tuple(
            Seen(_upright(turn, face), embedded("anonymised", view, face, judges, cache))
            for view, turn in photo.views()
            for face in view.faces(cache)
        )
        return Picture(thumbnail(photo, cache), seen)

    def original(path: Path) -> Picture:
        return Picture(thumbnail(LazyPhoto(path), cache))

    names = {path: shown(name) for path, name in pairs.released.items()}
    with ThreadPoolExecutor(workers) as pool:
        pictures = dict(zip(names, pool.map(partial(_or_problem, released), names), strict=True))
        sources = [pair.original for pair in pairs.pairs]
        return Release(
            pictures,
            dict(zip(sources, pool.map(partial(_or_problem, original), sources), strict=True)),
            names,
        )


def _upright(turn: int, face: Face) -> int:
    """By how many quarters a picture is to be turned until a face of a view of it stands: it may lie in the view."""
    return (turn + round(face.roll / 90)) % 4


def _or_problem(look: Callable[[Path], Picture], path: Path) -> Picture:
    try:
        return look(path)
    except (PhotoError, OSError) as error:
        return Picture(problem=shown(str(error)))


def thumbnail(photo: LazyPhoto, cache: Cache) -> Floats:
    """The picture as THUMB × THUMB grey values."""
    key = key_of("thumbnail", photo.digest)
    stored = cache.get(key)
    if stored is None:
        grey = cv2.cvtColor(photo.pixels, cv2.COLOR_RGB2GRAY).astype(np.float32)
        stored = cache.put(key, np.asarray(cv2.resize(grey, (THUMB, THUMB), interpolation=cv2.INTER_AREA)))
    return stored


def symmetric(image: NDArray[np.generic], symmetry: Symmetry) -> NDArray[np.generic]:
    """The picture mirrored, then turned."""
    turn, mirrored = symmetry
    return np.rot90(image[:, ::-1] if mirrored else image, turn)


def detail_left(
    original: LazyPhoto, faces: Sequence[Face], released: LazyPhoto, symmetry: Symmetry, cache: Cache
) -> list[float]:
    """Of each original face, the share of its fine detail that stands at its place in the released picture.

    One minus the squared difference over the squared detail: 1 for the same pixels, about 3/4 for the mean of a sharp
    face and a flat one, less for that of two alike, and mostly below 0 for another face.
    """
    if not faces:
        return []
    points = np.array([face.points for face in faces])
    key = key_of("detail left", original.digest, released.digest, repr((symmetry, SIDE, COARSE)), points)
    stored = cache.get(key)
    if stored is None:
        before = original.pixels
        after = np.asarray(symmetric(shrunk(released.pixels), symmetry), np.uint8)
        ratio = np.array([after.shape[1] / before.shape[1], after.shape[0] / before.shape[0]])
        small = shrunk(before)
        own = np.array([small.shape[1] / before.shape[1], small.shape[0] / before.shape[0]])
        rows = [_share(_detail(small, one * own), _detail(after, one * ratio)) for one in points]
        stored = cache.put(key, np.array(rows, np.float32))
    return [float(value) for value in stored[0]]


def _detail(image: Image, points: NDArray[np.float64]) -> Floats:
    """The aligned face without its light and coarse form."""
    template = TEMPLATES["arcface-112"] * (SIDE / 112)
    crop = Alignment(similarity(points, template), SIDE).crop(np.ascontiguousarray(image))
    grey = cv2.cvtColor(crop, cv2.COLOR_RGB2GRAY).astype(np.float32)
    return np.asarray(grey - cv2.GaussianBlur(grey, (0, 0), COARSE), np.float32)


def _share(before: Floats, after: Floats) -> float:
    return float(1 - np.sum((after - before) ** 2) / max(float(np.sum(before**2)), 1e-6))
