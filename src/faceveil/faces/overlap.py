"""Faces that overlap: which is replaced first, and which is replaced along with another."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from faceveil.faces.boxes import areas, overlaps
from faceveil.faces.face import Face, Floats, Image
from faceveil.faces.regions import Region, face_outline, polygon

WITHIN = 0.9  # of its box, for a face that lies within another: a box has corners that are no face


def far_to_near(faces: Sequence[Face]) -> list[Face]:
    """The order of replacing, small before large: where two overlap, the nearer one ends on top."""
    return sorted(faces, key=lambda face: (float(np.prod(face.size_wh)), *face.box_xyxy))


def replaced_along(
    face: Face, others: Sequence[Face], image: Image, regions: Sequence[Region] | None = None
) -> bool:
    """Whether a face lies within a larger one, as a reflection in its glasses does, and so is replaced with it.

    `regions` are what changed of the picture; without them all within the larger face's outline counts as changed.
    """
    box, boxes = face.box_xyxy[None], np.array([one.box_xyxy for one in others]).reshape(-1, 4)
    around = (areas(boxes) > areas(box)) & (overlaps(box, boxes)[0] >= WITHIN * areas(box))
    for one in (others[number] for number in np.flatnonzero(around).tolist()):
        inside = _seen_in(face.box_xyxy, [polygon([face_outline(one)], image)], image)
        if regions is not None:
            inside &= _seen_in(face.box_xyxy, regions, image)
        if inside.size and inside.mean() >= WITHIN:
            return True
    return False


def _seen_in(box: Floats, regions: Sequence[Region], image: Image) -> NDArray[np.bool_]:
    """The box's pixels that are in the photo, and which of them any region touches."""
    height, width = image.shape[:2]
    left, top, right, bottom = np.clip(np.rint(box), 0, [width, height, width, height]).astype(int)
    touched = np.zeros((bottom - top, right - left), bool)
    for part in regions:
        rows, columns = part.mask.shape
        y0, y1 = max(top, part.top), min(bottom, part.top + rows)
        x0, x1 = max(left, part.left), min(right, part.left + columns)
        if y0 < y1 and x0 < x1:
            mask = part.mask[y0 - part.top : y1 - part.top, x0 - part.left : x1 - part.left]
            touched[y0 - top : y1 - top, x0 - left : x1 - left] |= mask > 0
    return touched
