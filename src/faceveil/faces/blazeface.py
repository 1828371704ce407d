"""BlazeFace (back camera): the second detector, another architecture trained on other pictures.

It looks at the whole photo and at a grid of overlapping squares, so it finds what is at least about a twenty-fifth
of the photo's longer side. Its task is to find faces that the first detector left standing.
"""

from functools import cache

import numpy as np

from faceveil.faces.boxes import best_of_each
from faceveil.faces.face import Face, Floats, Image
from faceveil.faces.views import View, resized
from faceveil.models.runtime import load

THRESHOLD = 0.65
SIDE = 256  # px of the network's input
SQUARES = 3  # along the longer side, besides the whole
OVERLAP = 0.2  # of a square


def find(image: Image) -> list[Face]:
    """Faces that are large enough for this detector, best first."""
    faces = [face for view in _views(image) for face in _faces_in(view)]
    boxes = np.array([face.box_xyxy for face in faces]).reshape(-1, 4)
    return [faces[i] for i in best_of_each(boxes, np.array([face.score for face in faces]), 0.3)]


def _views(image: Image) -> list[View]:
    height, width = image.shape[:2]
    whole = float(max(height, width))
    views = [_square(image, (width - whole) / 2, (height - whole) / 2, whole)]
    side = whole / (SQUARES - (SQUARES - 1) * OVERLAP)
    if side < SIDE / 4:  # enlarging a tiny picture further shows nothing new
        return views
    for y in _starts(height, side):
        views += [_square(image, x, y, side) for x in _starts(width, side)]
    return views


def _starts(length: int, side: float) -> list[float]:
    if length <= side:
        return [(length - side) / 2]
    count = int(np.ceil((length - OVERLAP * side) / ((1 - OVERLAP) * side) - 1e-9))
    return [float(start) for start in np.linspace(0, length - side, count)]


def _square(image: Image, x: float, y: float, side: float) -> View:
    """The square at x, y, shrunk to the network's size; black where it reaches beyond the photo."""
    scale = SIDE / side
    height, width = image.shape[:2]
    x0, y0 = max(0, int(x)), max(0, int(y))
    part = image[y0 : min(height, int(np.ceil(y + side))), x0 : min(width, int(np.ceil(x + side)))]
    left, top = max(0, round((x0 - x) * scale)), max(0, round((y0 - y) * scale))
    small = resized(part, scale)[: SIDE - top, : SIDE - left]
    pixels = np.zeros((SIDE, SIDE, 3), np.uint8)
    pixels[top : top + small.shape[0], left : left + small.shape[1]] = small
    return View(pixels, np.array([[scale, 0, left - x0 * scale], [0, scale, top - y0 * scale]]))


def _faces_in(view: View) -> list[Face]:
    regressed, logits = load("blazeface.back")(view.pixels[None].astype(np.float32) / 127.5 - 1)
    scores = 1 / (1 + np.exp(-np.clip(logits[0, :, 0], -50, 50)))
    strong = np.flatnonzero(scores > THRESHOLD)
    centres = _anchors()[strong] * SIDE
    numbers = regressed[0, strong].reshape(-1, 8, 2)  # centre, size, then six points
    middle, half = centres + numbers[:, 0], numbers[:, 1] / 2
    corners = view.to_photo(np.stack([middle - half, middle + half], axis=1)).reshape(-1, 4)
    points = view.to_photo(centres[:, None] + numbers[:, 2:])
    return [
        Face(box, _five(six), float(score), "blazeface")
        for box, six, score in zip(corners, points, scores[strong], strict=True)
    ]


def _five(six: Floats) -> Floats:
    """Five points from right eye, left eye, nose, mouth, right ear, left ear.

    The corners of the mouth lie about 0.45 of the eyes' distance to either side of its middle.
    """
    right, left, nose, mouth = six[:4]
    side = (left - right) * 0.45
    return np.array([right, left, nose, mouth - side, mouth + side])


@cache
def _anchors() -> Floats:
    """Centres of the network's boxes: 16 × 16 cells with two each, then 8 × 8 with six."""
    parts = []
    for cells, each in ((16, 2), (8, 6)):
        line = (np.arange(cells) + 0.5) / cells
        grid = np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)
        parts.append(np.repeat(grid, each, axis=0))
    return np.concatenate(parts)
