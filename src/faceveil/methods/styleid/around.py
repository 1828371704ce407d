"""What surrounds a face: hair and background just outside its outline, and who is person there.

A new face brings some of its own hair with it, which must go with the hair that stays.
"""

import cv2
import numpy as np
from numpy.typing import NDArray

from faceveil.faces.face import Floats, Image
from faceveil.methods.styleid.fit import FACE_OUTLINE
from faceveil.methods.styleid.looks import CHEEKS
from faceveil.models.segmenter import person_mask

GROWN = 1.15  # the ring's size, in outlines of the face
STEP = 2  # every second vertex of the outline
PERSON = 3  # the column, after Lab, that tells how surely the ring shows a person

Ring = NDArray[np.float64]


def ring(crop: Image, mesh: Floats) -> Ring:
    """18 places around the face × Lab relative to the cheeks, and how surely a person is seen there.

    `mesh` is the one with forehead, in the crop's pixels.
    """
    side = crop.shape[0]
    lab = np.asarray(cv2.cvtColor(crop.astype(np.float32) / 255, cv2.COLOR_RGB2LAB), np.float32)
    field = np.dstack([cv2.GaussianBlur(lab, (0, 0), 0.02 * side), 100 * person_mask(crop)])
    outline = mesh[FACE_OUTLINE][::STEP]
    centre = outline.mean(axis=0)
    seen = _at(field, centre + GROWN * (outline - centre))
    cheeks = np.median(_at(field, mesh[CHEEKS]), axis=0)
    cheeks[PERSON] = 0
    return np.asarray(seen - cheeks, np.float64)


def _at(field: NDArray[np.float32], points: Floats) -> NDArray[np.float32]:
    x, y = np.clip(np.rint(points - 0.5).astype(int), 0, field.shape[0] - 1).T
    return np.asarray(field[y, x], np.float32)
