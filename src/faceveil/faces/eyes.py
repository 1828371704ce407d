"""Where the eyes look within their sockets, and how far they are open (network: iris.64).

The face mesh does not tell the second: its lids hardly follow those of the picture.
"""

from typing import NamedTuple

import numpy as np

from faceveil.faces.align import Alignment
from faceveil.faces.face import Face, Floats, Image
from faceveil.models.runtime import load

SIDE = 64  # px of the network's input
MARGIN = 2.3  # the crop's side, in widths of the eye
RIGHT_CORNERS, LEFT_CORNERS = (33, 133), (362, 263)  # of the mesh, each from the picture's left to its right
CORNERS, LOWER_LID, UPPER_LID = [0, 8], slice(1, 8), slice(9, 16)  # of the network's points of the lids


class Eyes(NamedTuple):
    """Means of both eyes, in the face's own upright frame."""

    gaze: Floats  # the iris's place from the middle between the eye's corners, in eye widths: x to the right, y down
    opening: float  # between the lids, in eye widths: 0.1 nearly shut, 0.2 to 0.25 open


def eyes(image: Image, face: Face) -> Eyes:
    """Look at both eyes of a face."""
    if face.mesh is None:
        raise ValueError("eyes need a face with its mesh; call with_mesh first")
    right = _eye(image, face.mesh[list(RIGHT_CORNERS), :2], mirrored=False)
    left = _eye(image, face.mesh[list(LEFT_CORNERS), :2], mirrored=True)
    return Eyes((right.gaze + left.gaze) / 2, (right.opening + left.opening) / 2)


def _eye(image: Image, corners: Floats, mirrored: bool) -> Eyes:
    """One eye. The network knows the person's right eye; the left one is shown to it in the mirror."""
    along = corners[1] - corners[0]
    width = max(float(np.hypot(*along)), 1e-6)
    zoom = SIDE / (MARGIN * width)
    x, y = along / width
    turn = np.array([[x, y], [-y, x]]) * zoom
    middle = corners.mean(axis=0)
    crop = Alignment(np.hstack([turn, (SIDE / 2 - turn @ middle)[:, None]]), SIDE).crop(image)
    if mirrored:
        crop = np.ascontiguousarray(crop[:, ::-1])
    outputs = load("iris.64")(crop[None].astype(np.float32) / 255)
    iris, lids = (
        next(out for out in outputs if out.size == 3 * count).reshape(count, 3)[:, :2].astype(np.float64)
        for count in (5, 71)
    )
    gaze = (iris[0] - SIDE / 2) / (SIDE / MARGIN)
    return Eyes(gaze * [-1, 1] if mirrored else gaze, _opening(lids))


def _opening(lids: Floats) -> float:
    """Between the points of the lids that lie one above the other, for each width of the eye."""
    first, last = lids[CORNERS]
    gaps = np.hypot(*(lids[LOWER_LID] - lids[UPPER_LID]).T)
    return float(gaps.mean() / max(float(np.hypot(*(last - first))), 1e-6))
