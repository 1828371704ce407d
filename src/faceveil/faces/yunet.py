"""YuNet: the first detector. It proposes at a low threshold and confirms each proposal by a close look.

A single pass of the network overlooks small and tilted faces, and a low threshold floods the photo with false
boxes. So every weak proposal is looked at again, enlarged to the size the network knows best and turned three
ways; what then scores high is a face. Measured on scenes with known answers (docs/benchmarks/filters.md) this
finds more than a pass at double size and has fewer false boxes, at a third of the cost.
"""

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
TILE, OVERLAP, GRID = 1600, 128, 64  # px


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
            boxes, _, scores = _detect(_network(), view.pixels, threshold)
            found.append((view.to_photo(boxes.reshape(-1, 2, 2)).reshape(-1, 4), scores))
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
        for i in open_:
            for face in _faces_in_look(_look(image, boxes[i], degrees)):
                if i not in best or face.score > best[i].score:
                    best[i] = face
    return [face for face in best.values() if face.score >= CONFIRM]


def _look(image: Image, box: Floats, degrees: float) -> View:
    width, height = box[2:] - box[:2]
    return close_up(image, (box[:2] + box[2:]) / 2, FACE_IN_LOOK / max(width, 0.8 * height), degrees, LOOK)


def _faces_in_look(view: View) -> list[Face]:
    """What stands where the proposal was, about as large, in the photo's coordinates."""
    boxes, points, scores = _detect(_network(LOOK), view.pixels, HINT)
    centres = (boxes[:, :2] + boxes[:, 2:]) / 2
    widths = np.maximum(boxes[:, 2] - boxes[:, 0], 0.8 * (boxes[:, 3] - boxes[:, 1]))
    central = np.abs(centres - LOOK / 2).max(axis=1) < 0.35 * FACE_IN_LOOK
    alike = (widths > 0.6 * FACE_IN_LOOK) & (widths < 1.7 * FACE_IN_LOOK)
    faces = []
    for j in np.flatnonzero(central & alike):
        centre, half = view.to_photo(centres[j]), (boxes[j, 2:] - boxes[j, :2]) / 2 / view.zoom
        box = np.concatenate([centre - half, centre + half])
        faces.append(Face(box, view.to_photo(points[j]), float(scores[j]), "yunet"))
    return faces


def _detect(network: Network, picture: Image, threshold: float) -> tuple[Floats, Floats, Floats]:
    """Boxes, points and scores from the network's three heads (strides 8, 16, 32); sides are multiples of 32."""
    outputs, width = network(picture[None]), picture.shape[1]
    parts = []
    for level, stride in enumerate((8, 16, 32)):
        classes, objects, boxes, points = (out[0] for out in outputs[level::3])
        scores = np.sqrt(np.clip(classes[:, 0], 0, 1) * np.clip(objects[:, 0], 0, 1))
        cell = np.flatnonzero(scores > threshold)
        corner = np.stack([cell % (width // stride), cell // (width // stride)], axis=1)
        centre, half = (corner + boxes[cell, :2]) * stride, np.exp(boxes[cell, 2:]) * stride / 2
        box = np.hstack([centre - half, centre + half])
        parts.append((box, (corner[:, None] + points[cell].reshape(-1, 5, 2)) * stride, scores[cell]))
    boxes, points, scores = (np.concatenate(part) for part in zip(*parts, strict=True))
    return boxes, points, scores


@once
def _network(side: int = -1) -> Network:
    """The network for pictures of one side, or of any size, taking RGB bytes.

    One for looks alone, because a network prepares itself anew whenever the size changes.
    """
    ov = openvino()
    from openvino.preprocess import PrePostProcessor

    model = read_model("yunet.2023mar")
    model.reshape([1, 3, side, side])
    steps = PrePostProcessor(model)
    steps.input().tensor().set_element_type(ov.Type.u8).set_layout(ov.Layout("NHWC"))
    steps.input().model().set_layout(ov.Layout("NCHW"))
    steps.input().preprocess().convert_element_type(ov.Type.f32).reverse_channels()
    return Network(steps.build())
