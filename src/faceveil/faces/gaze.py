"""Where the eyes look within their sockets (network: iris.64)."""

import numpy as np

from faceveil.faces.align import Alignment
from faceveil.faces.face import Face, Floats, Image
from faceveil.models.runtime import load

SIDE = 64  # px of the network's input
MARGIN = 2.3  # the crop's side, in widths of the eye
RIGHT_CORNERS, LEFT_CORNERS = (33, 133), (362, 263)  # of the mesh, each from the picture's left to its right


def gaze(image: Image, face: Face) -> Floats:
    """The iris's place between the corners of the eye, in eye widths: x to the picture's right, y down.

    The mean of both eyes, in the face's own upright frame; 0, 0 is the middle of the line between the corners.
    """
    if face.mesh is None:
        raise ValueError("gaze needs a face with its mesh; call with_mesh first")
    right = _offset(image, face.mesh[list(RIGHT_CORNERS), :2], mirrored=False)
    left = _offset(image, face.mesh[list(LEFT_CORNERS), :2], mirrored=True)
    return (right + left) / 2


def _offset(image: Image, corners: Floats, mirrored: bool) -> Floats:
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
    iris = next(out for out in outputs if out.size == 15).reshape(5, 3)[0, :2].astype(np.float64)
    offset = (iris - SIDE / 2) / (SIDE / MARGIN)
    return offset * [-1, 1] if mirrored else offset
