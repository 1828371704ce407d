"""The mask of what is replaced: the source's face, without the hair that falls into it."""

import cv2
import numpy as np

from faceveil.faces.face import Floats
from faceveil.faces.regions import OVAL, Mask
from faceveil.faces.face import Image
from faceveil.methods.styleid.light import skin_likeness

BROW_TOPS = [63, 105, 66, 107, 336, 296, 334, 293]


def face_mask(source: Image, mesh: Floats) -> Mask:
    """0 to 255 over the source's crop; `mesh` (468 × 2) in its pixels."""
    side = source.shape[0]
    mask = np.zeros((side, side), np.uint8)
    cv2.fillPoly(mask, [np.rint((mesh[OVAL] - 0.5) * 16).astype(np.int32)], 255, lineType=cv2.LINE_AA, shift=4)
    return np.minimum(mask, 255 - _hair(source, mesh))


def _hair(source: Image, mesh: Floats) -> Mask:
    """What lies above the brows and has not the colour of skin."""
    side = source.shape[0]
    down = mesh[152] - mesh[10]
    height = max(float(np.hypot(*down)), 1e-6)
    down /= height
    rows, columns = np.mgrid[:side, :side] + 0.5
    depth = (columns - mesh[10, 0]) * down[0] + (rows - mesh[10, 1]) * down[1]
    brow = float(((mesh[BROW_TOPS] - mesh[10]) @ down).min())
    above = np.clip((brow - depth) / (0.04 * height), 0, 1)
    unlike = (1 - skin_likeness(source, mesh)).astype(np.float32)
    size = max(3, round(0.02 * side)) | 1
    unlike = cv2.morphologyEx(unlike, cv2.MORPH_OPEN, np.ones((size, size), np.uint8))  # moles and wrinkles go
    unlike = cv2.GaussianBlur(unlike, (0, 0), 0.008 * side)
    return np.rint(np.clip(above * unlike, 0, 1) * 255).astype(np.uint8)
