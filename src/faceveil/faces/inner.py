"""The inner face: the ellipse from brows to chin, in an FFHQ crop, that all members of a group show unmixed."""

import cv2
import numpy as np
from numpy.typing import NDArray

from faceveil.faces.face import Floats

# In parts of the crop's side: medians over 60 faces of the mesh's oval.
INNER_CENTRE, INNER_RADII = (0.5, 0.586), (0.25, 0.312)


def inner_mask(size: int) -> NDArray[np.uint8]:
    """The middle of the face in a crop of this size: 255 inside."""
    mask = np.zeros((size, size), np.uint8)
    cv2.fillConvexPoly(mask, np.rint(inner_outline() * size * 16).astype(np.int32), 255, shift=4)
    return mask


def inner_outline() -> Floats:
    angle = np.linspace(0, 2 * np.pi, 64, endpoint=False)
    return np.asarray(np.stack([np.cos(angle), np.sin(angle)], axis=1) * INNER_RADII + INNER_CENTRE)
