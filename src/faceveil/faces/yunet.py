"""YuNet: the first detector. It proposes at a low threshold and confirms each proposal by a close look.

A single pass of the network overlooks small and tilted faces, and a low threshold floods the photo with false
boxes. So every weak proposal is looked at again, enlarged to the size the network knows best and turned three
ways; what then scores high is a face. Measured on scenes with known answers (docs/benchmarks/filters.md) this
finds more than a pass at double size and has fewer false boxes, at a third of the cost.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from faceveil.faces.boxes import best_of_each
from faceveil.faces.face import Face, Floats, Image
from faceveil.faces.views import View, close_up, tiles
from faceveil.models.runtime import Network, once, openvino, read_model

ENLARGE = 1.5  # first pass of a thorough scan: brings 12-px faces well into the network's range
LEVEL = 5  # each further pass is smaller by this factor
SMALLEST_PASS = 320  # px; a face that fills the frame is then well inside the network's range
PROPOSE = {False: 0.12, True: 0.05}  # lower in a thorough scan: four times as many close looks
HINT, CONFIRM = 0.06, 0.85
TURNS = (-30.0, 30.0)  # degrees; upright looks come first, and within ±15 of each the network is at its best
LOOK, FACE_IN_LOOK = 128, 56  # px: side of a close-up, and how wide the proposed face is in it
BATCH = 16
TILE, OVERLAP, GRID = 1600, 128, 64  # px


@dataclass(frozen=True)
class _Found:
    """Candidate faces of one or more views: arrays of equal length."""

    view: Any  # index of the view each was found in
    boxes: Floats
    points: Floats
    scores: Floats


def find(image: Image, thorough: bool = False) -> list[Face]:
    """Faces from 12 px to the whole frame, upright or tilted up to 45°, best first.

    A thorough scan starts from the enlarged photo and looks at weaker proposals: it takes three times as long and
    finds more faces under 24 px.
    """
    boxes, scores = _proposals(image, ENLARGE if thorough else 1.0, PROPOSE[thorough])
    faces = _confirmed(image, boxes[best_of_each(boxes, scores, 0.4)])
    found = np.array([face.box_xyxy for face in faces]).reshape(-1, 4)
    return [faces[i] for i in best_of_each(found, np.array([face.score for face in faces]), 0.4)]


def _proposals(image: Image, scale: float, threshold: float) -> tuple[Floats, Floats]:
    """Boxes and scores of passes over the photo, each smaller, until the frame itself could be a face."""
    found = []
    while True:
        for view in tiles(image, scale, TILE, OVERLAP, GRID):
            heads = _detect(view.pixels[None], threshold)
            found.append((view.to_photo(heads.boxes.reshape(-1, 2, 2)).reshape(-1, 4), heads.scores))
        if max(image.shape[:2]) * scale <= SMALLEST_PASS:
            break
        scale /= LEVEL
    boxes, scores = (np.concatenate(part) for part in zip(*found, strict=True))
    return boxes, scores


def _confirmed(image: Image, boxes: Floats) -> list[Face]:
    """Look closely at each box; turned looks only where the upright one gives a hint but does not settle it."""
    best: dict[int, Face] = {}
    for degrees in (0.0, *TURNS):
        hinted = range(len(boxes)) if degrees == 0 else list(best)
        open_ = [i for i in hinted if i not in best or best[i].score < CONFIRM]
        for start in range(0, len(open_), BATCH):
            batch = open_[start : start + BATCH]
            for which, face in _faces_in_looks([_look(image, boxes[i], degrees) for i in batch]):
                i = batch[which]
                if i not in best or face.score > best[i].score:
                    best[i] = face
    return [face for face in best.values() if face.score >= CONFIRM]


def _look(image: Image, box: Floats, degrees: float) -> View:
    width, height = box[2:] - box[:2]
    return close_up(image, (box[:2] + box[2:]) / 2, FACE_IN_LOOK / max(width, 0.8 * height), degrees, LOOK)


def _faces_in_looks(views: list[View]) -> list[tuple[int, Face]]:
    """What stands where the proposal was, about as large, in the photo's coordinates."""
    found = _detect(np.stack([view.pixels for view in views]), HINT)
    centres = (found.boxes[:, :2] + found.boxes[:, 2:]) / 2
    widths = np.maximum(found.boxes[:, 2] - found.boxes[:, 0], 0.8 * (found.boxes[:, 3] - found.boxes[:, 1]))
    central = np.abs(centres - LOOK / 2).max(axis=1) < 0.35 * FACE_IN_LOOK
    alike = (widths > 0.6 * FACE_IN_LOOK) & (widths < 1.7 * FACE_IN_LOOK)
    faces = []
    for j in np.flatnonzero(central & alike):
        view = views[found.view[j]]
        centre = view.to_photo(centres[j])
        half = (found.boxes[j, 2:] - found.boxes[j, :2]) / 2 / view.zoom
        box = np.concatenate([centre - half, centre + half])
        face = Face(box, view.to_photo(found.points[j]), float(found.scores[j]), "yunet")
        faces.append((int(found.view[j]), face))
    return faces


def _detect(batch: Image, threshold: float) -> _Found:
    """Decode the three heads (strides 8, 16, 32) of the network for pictures N×H×W×3, sides multiples of 32."""
    count, _, width, _ = batch.shape
    outputs = [out.reshape(count, -1, out.shape[-1]) for out in _network()(batch)]
    parts = []
    for level, stride in enumerate((8, 16, 32)):
        classes, objects, boxes, points = outputs[level::3]
        scores = np.sqrt(np.clip(classes[..., 0], 0, 1) * np.clip(objects[..., 0], 0, 1))
        view, cell = np.nonzero(scores > threshold)
        corner = np.stack([cell % (width // stride), cell // (width // stride)], axis=1)
        box, point = boxes[view, cell], points[view, cell].reshape(-1, 5, 2)
        centre, half = (corner + box[:, :2]) * stride, np.exp(box[:, 2:]) * stride / 2
        parts.append(
            (
                view,
                np.hstack([centre - half, centre + half]),
                (corner[:, None] + point) * stride,
                scores[view, cell],
            )
        )
    return _Found(*(np.concatenate(part) for part in zip(*parts, strict=True)))


@once
def _network() -> Network:
    """The network for batches of pictures of any size, taking RGB bytes."""
    ov = openvino()
    from openvino.preprocess import PrePostProcessor

    model = read_model("yunet.2023mar")
    model.reshape([-1, 3, -1, -1])
    steps = PrePostProcessor(model)
    steps.input().tensor().set_element_type(ov.Type.u8).set_layout(ov.Layout("NHWC"))
    steps.input().model().set_layout(ov.Layout("NCHW"))
    steps.input().preprocess().convert_element_type(ov.Type.f32).reverse_channels()
    return Network(steps.build())
