"""BlazeFace (back camera): the second detector, another architecture trained on other pictures.

It looks at overlapping squares as large as the photo's shorter side, so it finds faces of about a twentieth of that
side and larger; a thorough scan looks at smaller squares too. Its task is to find what the first detector left
standing.
"""

from functools import cache, partial
from typing import Any

import numpy as np

from faceveil.faces.boxes import best_of_each
from faceveil.faces.face import Face, Floats, Image
from faceveil.faces.mesh import SURE, with_mesh
from faceveil.faces.views import View, quickly_resized, resized
from faceveil.models.prepared import Recipe
from faceveil.models.runtime import Network, once, openvino, read_model

CARD = "blazeface.back"
THRESHOLD = 0.5  # for faces that the mesh network confirms
ALONE = 0.85  # for faces that it does not
SURE_OF_BOX = (
    0.85  # of the mesh network, for boxes: patterns reached 0.66, 147 of 149 weak faces more than this
)
SIDE = 256  # px of the network's input
LONGER = 384  # px: the other side of its input where one view shows a whole photo
SMALLER = 3  # squares of a thorough scan along the shorter side, besides the large ones
OVERLAP = 0.2  # of a square


def find(image: Image, thorough: bool = False) -> list[Face]:
    """What looks like a face and is large enough for this detector, best first; `confirmed` decides."""
    return _best_in(_views(image, thorough))


def find_boxes(image: Image, thorough: bool = False) -> list[Face]:
    """The same where a box is enough: one view instead of two squares that overlap, if the photo's shape allows."""
    size = _frame(image)
    if thorough or size is None:
        return find(image, thorough)
    height, width = image.shape[:2]
    near = _of_photo(image, quickly_resized(image, min(size[0] / width, size[1] / height)))
    return _best_in([_framed(near, 0, 0, *size)])


def _frame(image: Image) -> tuple[int, int] | None:
    """Width and height of the view that shows a photo as large as squares would, if there is one."""
    height, width = image.shape[:2]
    shorter = LONGER * min(height, width) / max(height, width)
    if not 0.98 * SIDE < shorter < LONGER:  # a little smaller than in squares will do
        return None
    return (LONGER, SIDE) if width > height else (SIDE, LONGER)


def _best_in(views: list[View]) -> list[Face]:
    faces = [face for view in views for face in _faces_in(view)]
    boxes = np.array([face.box_xyxy for face in faces]).reshape(-1, 4)
    return [faces[i] for i in best_of_each(boxes, np.array([face.score for face in faces]), 0.3)]


def confirmed(image: Image, faces: list[Face], mesh: bool = True) -> list[Face]:
    """The faces that score high, and those of the others that the mesh network takes for faces too."""
    least = SURE if mesh else SURE_OF_BOX
    weak = with_mesh(image, [face for face in faces if face.score < ALONE])
    sure = [face for face in faces if face.score >= ALONE] + [f for f in weak if (f.presence or 0) >= least]
    return sorted(sure, key=lambda face: -face.score)


def _views(image: Image, thorough: bool) -> list[View]:
    """Overlapping squares that cover the photo."""
    shorter, longer = sorted(image.shape[:2])
    side = max(shorter, longer / (2 - OVERLAP)) if longer < 2 * shorter else float(shorter)
    views = _squares(image, side)
    if thorough and shorter > SIDE:  # enlarging a small picture further shows nothing new
        views += _squares(image, shorter / (SMALLER - (SMALLER - 1) * OVERLAP))
    return views


def _squares(image: Image, side: float) -> list[View]:
    near = _of_photo(image, resized(image, SIDE / side))
    height, width = near.pixels.shape[:2]
    return [_framed(near, x, y) for y in _starts(height) for x in _starts(width)]


def _starts(length: int) -> list[int]:
    """Where squares begin that cover this length and overlap."""
    if length <= SIDE:
        return [0]
    count = int(
        np.ceil((length - OVERLAP * SIDE) / ((1 - OVERLAP) * SIDE) - 0.02)
    )  # a little less overlap beats one more
    return [round(start) for start in np.linspace(0, length - SIDE, count)]


def _of_photo(image: Image, small: Image) -> View:
    # Rounding to whole pixels makes the true scales differ a little from the one that was asked for.
    sx, sy = small.shape[1] / image.shape[1], small.shape[0] / image.shape[0]
    return View(small, np.array([[sx, 0, 0], [0, sy, 0]]))


def _framed(view: View, x: int, y: int, width: int = SIDE, height: int = SIDE) -> View:
    """The network's input from x, y on, in the middle of black where the view is smaller."""
    part = view.pixels[y : y + height, x : x + width]
    left, top = (width - part.shape[1]) // 2, (height - part.shape[0]) // 2
    pixels = np.zeros((height, width, 3), np.uint8)
    pixels[top : top + part.shape[0], left : left + part.shape[1]] = part
    return View(pixels, view.to_view + np.array([[0, 0, left - x], [0, 0, top - y]]))


def _faces_in(view: View) -> list[Face]:
    size = view.pixels.shape[:2]
    answers = _network(*size)(view.pixels[None])
    regressed = np.concatenate([level.reshape(-1, 16) for level in answers[:2]])
    logits = np.concatenate([level.ravel() for level in answers[2:]])
    scores = 1 / (1 + np.exp(-np.clip(logits, -50, 50)))
    strong = np.flatnonzero(scores > THRESHOLD)
    centres = _anchors(*size)[strong]
    numbers = regressed[strong].reshape(-1, 8, 2)  # centre, size, then six points
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


@once
def _network(height: int, width: int) -> Network:
    return Network(Recipe(CARD, f"{height} {width}", partial(_graph, height, width)))


def _graph(height: int, width: int) -> Any:
    """The network for RGB bytes: numbers, then logits, of its two levels."""
    ov = openvino()
    model = read_model(CARD)
    # As distributed, both levels are joined in a shape that only the square has.
    joined = [port.get_node().input_value(0).get_node() for port in model.outputs]
    levels = [part.get_node().input_value(0) for join in joined for part in join.input_values()]
    model = ov.Model([ov.opset13.result(level) for level in levels], model.get_parameters())
    model.reshape([1, height, width, 3])
    steps = ov.preprocess.PrePostProcessor(model)
    steps.input().tensor().set_element_type(ov.Type.u8)
    steps.input().preprocess().convert_element_type(ov.Type.f32).mean(127.5).scale(127.5)
    return steps.build()


@cache
def _anchors(height: int, width: int) -> Floats:
    """Centres of the network's boxes, in pixels: every 16 px two, then every 32 px six."""
    parts = []
    for stride, each in ((16, 2), (32, 6)):
        x, y = ((np.arange(side // stride) + 0.5) * stride for side in (width, height))
        grid = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
        parts.append(np.repeat(grid, each, axis=0))
    return np.concatenate(parts)
