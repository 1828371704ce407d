"""Arithmetic on boxes, N×4 arrays of x0, y0, x1, y1."""

from collections.abc import Sequence

import numpy as np

from faceveil.faces.face import Floats

SAME = 0.5  # two boxes show the same face if they share this part of the smaller one,
ALIKE = 4.0  # and if neither has more than so many times the other's area: else one lies within the other


def areas(boxes: Floats) -> Floats:
    """Area of each box; an inside-out box has none."""
    return np.asarray(np.prod(np.maximum(boxes[:, 2:] - boxes[:, :2], 0), axis=1))


def overlaps(boxes: Floats, others: Floats) -> Floats:
    """The area that each of `boxes` shares with each of `others`."""
    low = np.maximum(boxes[:, None, :2], others[None, :, :2])
    high = np.minimum(boxes[:, None, 2:], others[None, :, 2:])
    return np.asarray(np.prod(np.maximum(high - low, 0), axis=2))


def iou(boxes: Floats, others: Floats) -> Floats:
    """Intersection over union of each of `boxes` with each of `others`."""
    shared = overlaps(boxes, others)
    union = areas(boxes)[:, None] + areas(others)[None] - shared
    return shared / np.maximum(union, 1e-9)


def shown_by(box: Floats, others: Sequence[Floats]) -> bool:
    """Whether one of the other boxes shows the same face."""
    boxes = np.array(others).reshape(-1, 4)
    own, area = areas(box[None]), areas(boxes)
    smaller, larger = np.minimum(own, area), np.maximum(own, area)
    return bool(((overlaps(box[None], boxes)[0] >= SAME * smaller) & (larger <= ALIKE * smaller)).any())


def part_of_any(box: Floats, others: Sequence[Floats]) -> bool:
    """Whether most of the box lies within one of the others."""
    shared = overlaps(box[None], np.array(others).reshape(-1, 4))[0]
    return bool((shared >= SAME * areas(box[None])).any())


def best_of_each(boxes: Floats, scores: Floats, limit: float) -> list[int]:
    """Non-maximum suppression: the strongest boxes, best first, none sharing more than `limit` (IoU)."""
    waiting, area = np.argsort(-scores, kind="stable"), areas(boxes)
    kept = []
    while len(waiting):
        best, waiting = waiting[0], waiting[1:]
        kept.append(int(best))
        shared = overlaps(boxes[best : best + 1], boxes[waiting])[0]
        waiting = waiting[shared <= limit * (area[best] + area[waiting] - shared)]
    return kept
