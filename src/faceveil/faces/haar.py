"""The Haar cascade for frontal faces: the detector of the Techniques paper, for its experiments.

It overlooks small, tilted and turned faces; use it to repeat the paper, not to protect people.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

import cv2
import numpy as np

from faceveil.faces.face import Face, Floats, Image

# Where the five points lie in a Haar box on average, as parts of its sides.
_POINTS = np.array([[0.31, 0.39], [0.69, 0.39], [0.5, 0.6], [0.36, 0.78], [0.64, 0.78]])
_idle: SimpleQueue[Any] = SimpleQueue()  # cascades that nobody is using


def find(image: Image, thorough: bool = False) -> list[Face]:
    """Upright frontal faces of at least 24 px."""
    grey = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)
    scale = 1.05 if thorough else 1.1
    with _cascade() as cascade:
        boxes, _, weights = cascade.detectMultiScale3(
            grey, scaleFactor=scale, minNeighbors=5, minSize=(24, 24), outputRejectLevels=True
        )
    faces = [
        _face(np.asarray(box, np.float64), float(np.ravel(weight)[0]))
        for box, weight in zip(boxes, weights, strict=True)
    ]
    return sorted(faces, key=lambda face: (-face.score, *face.box_xyxy))


def _face(xywh: Floats, weight: float) -> Face:
    box = np.concatenate([xywh[:2], xywh[:2] + xywh[2:]])
    return Face(box, xywh[:2] + _POINTS * xywh[2:], 1 / (1 + float(np.exp(-weight / 4))), "haar")


@contextmanager
def _cascade() -> Iterator[Any]:
    """A cascade for one picture at a time: while it looks, it holds the picture in itself."""
    try:
        cascade = _idle.get_nowait()
    except Empty:
        folder = Path(cv2.__file__).parent / "data"
        cascade = cv2.CascadeClassifier(str(folder / "haarcascade_frontalface_default.xml"))
    try:
        yield cascade
    finally:
        _idle.put(cascade)
