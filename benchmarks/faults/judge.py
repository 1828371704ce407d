"""Is an original to be seen in a file? Asked in a process of its own, of eyes that no run of the campaign uses.

Three looks: the same bytes; the same pixels where an original's eyes are; a face that a detector of its own finds
(CenterFace) and a recogniser of its own (SFace) takes for an original's. A truncated picture is looked at too.
"""

import hashlib
import io
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from multiprocessing import get_context
from multiprocessing.connection import Connection

import cv2
import numpy as np

SAME = (
    6.0  # levels: a picture compressed again differs by less at the eyes, what a method makes by 14 and more
)
LIKE = 0.4  # of the recogniser's threshold: below is the original itself; the mean of two people comes to 0.5
CARDS = ("centerface.2019", "sface.2021dec")
FAR = 2.0  # no distance is larger


@dataclass(frozen=True)
class Seen:
    """What of the originals is left in a picture: the least difference at the eyes of one, in levels, and the least
    distance of a face to one, in parts of the recogniser's threshold (below 1: one person)."""

    eyes: float = 255.0
    distance: float = FAR


NOTHING = Seen()


@dataclass(frozen=True, eq=False)
class _Look:
    pixels: np.ndarray
    points: list[np.ndarray]  # five of each face
    vectors: np.ndarray


class Judge:
    """Asks the process, and remembers its answers by content."""

    def __init__(self, line: Connection) -> None:
        self._line, self._answers = line, dict[str, Seen]()

    def __call__(self, picture: bytes, originals: Sequence[bytes]) -> Seen:
        key = "".join(hashlib.sha256(data).hexdigest() for data in (picture, *originals))
        if key not in self._answers:
            self._line.send((picture, list(originals)))
            self._answers[key] = self._line.recv()
        return self._answers[key]


@contextmanager
def judge() -> Iterator[Judge]:
    """A judge, with a process of its own: networks have threads, and runs are forked from a process without."""
    ours, theirs = get_context("fork").Pipe()
    process = get_context("fork").Process(target=_serve, args=(theirs,), daemon=True)
    process.start()
    theirs.close()
    try:
        yield Judge(ours)
    finally:
        ours.close()
        process.kill()
        process.join()


def _serve(line: Connection) -> None:
    while True:
        try:
            picture, originals = line.recv()
        except (EOFError, OSError):
            return
        line.send(seen(picture, originals))


def seen(picture: bytes, originals: Sequence[bytes]) -> Seen:
    """What of the originals is left in a picture."""
    after = _look(picture)
    if after is None:
        return NOTHING
    eyes, distance = 255.0, FAR
    for before in filter(None, map(_look, originals)):
        if before.pixels.shape == after.pixels.shape:
            eyes = min([eyes, *(_difference(before.pixels, after.pixels, five) for five in before.points)])
        if len(before.vectors) and len(after.vectors):
            distance = min(distance, _nearest(before.vectors, after.vectors))
    return Seen(eyes, distance)


def _difference(before: np.ndarray, after: np.ndarray, points: np.ndarray) -> float:
    """Mean absolute difference in the strip that holds both eyes."""
    left, right = points[0], points[1]
    reach = max(4.0, 0.35 * float(np.linalg.norm(right - left)))
    low, high = np.minimum(left, right) - reach, np.maximum(left, right) + reach
    rows = slice(max(0, round(low[1])), max(1, round(high[1])))
    columns = slice(max(0, round(low[0])), max(1, round(high[0])))
    one, other = before[rows, columns].astype(np.int16), after[rows, columns]
    return float(np.abs(one - other).mean()) if one.size and np.ptp(one) > 20 else 255.0


def _nearest(before: np.ndarray, after: np.ndarray) -> float:
    from faceveil.models.recognizers import recognizer

    sface = recognizer("sface.2021dec")
    return float(sface.distance(before[:, None], after[None]).min() / sface.threshold)


@lru_cache(400)
def _look(data: bytes) -> _Look | None:
    """The faces of a picture, by Pillow's own reading; None where nothing can be made of it."""
    from PIL import Image, ImageFile

    from faceveil.faces import Alignment, centerface
    from faceveil.faces.align import similarity
    from faceveil.models.recognizers import TEMPLATES, recognizer

    ImageFile.LOAD_TRUNCATED_IMAGES = True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pixels = np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))
    except Exception:  # decoders raise all kinds of errors
        return None
    if min(pixels.shape[:2]) < 16 or pixels.size > 3 << 24:
        return None
    large = cv2.resize(pixels, None, fx=2, fy=2, interpolation=cv2.INTER_CUBIC)  # more faces are found
    points = [face.points / 2 for face in centerface.find(large)]
    sface = recognizer("sface.2021dec")
    template = TEMPLATES["arcface-112"]
    crops = [Alignment(similarity(five, template), 112).crop(pixels) for five in points]
    vectors = sface.embed(np.array(crops)) if crops else np.zeros((0, 128), np.float32)
    return _Look(pixels, points, vectors)
