"""What is replaced and how it meets the rest: the face's mask without the hair that falls into it, and the seam."""

import cv2
import numpy as np
from numpy.typing import NDArray

from faceveil.faces.face import Floats, Image
from faceveil.faces.regions import Mask
from faceveil.methods.styleid.fit import FACE_OUTLINE
from faceveil.methods.styleid.light import WORK, skin_likeness

BROW_TOPS = [63, 105, 66, 107, 336, 296, 334, 293]
SCALES = (1.5, 3.0, 6.0, 12.0)  # px of WORK over which the rim's colours are carried on
FADE = 0.10  # of the crop's side: how far inwards the seam's colours reach


def face_mask(source: Image, mesh: Floats) -> Mask:
    """0 to 255 over the source's crop; `mesh`, with forehead, in its pixels. The source's fringe stays."""
    mask = np.zeros(source.shape[:2], np.uint8)
    outline = np.rint((mesh[FACE_OUTLINE] - 0.5) * 16).astype(np.int32)
    cv2.fillPoly(mask, [outline], 255, lineType=cv2.LINE_AA, shift=4)
    return np.minimum(mask, 255 - _hair(source, mesh))


def without_hair(mask: Mask, crop: Image, mesh: Floats) -> Mask:
    """The mask without the hair of the new face, which would end at the mask's rim."""
    return np.minimum(mask, 255 - _hair(crop, mesh))


def seamless(crop: Image, source: Image, mesh: Floats, mask: Mask) -> Image:
    """The crop with the source's colours along the mask's rim, fading inwards.

    Only where the rim shows skin: hair and background must not bleed into the face.
    """
    side = crop.shape[0]
    solid = cv2.resize(mask, (WORK, WORK), interpolation=cv2.INTER_AREA)
    inside = cv2.distanceTransform((solid > 127).astype(np.uint8), cv2.DIST_L2, 5)
    small = [_shrunk(one) for one in (source, crop)]
    there = mesh * (WORK / side)
    rim = (inside > 0) & (inside < 3.5)
    weight = np.where(rim, skin_likeness(small[0], there) * skin_likeness(small[1], there), 0)
    gap = small[0].astype(np.float32) - small[1]
    field = _carried_on(gap, weight.astype(np.float32)) * np.exp(-inside / (FADE * WORK))[..., None]
    field = cv2.resize(field.astype(np.float32), (side, side), interpolation=cv2.INTER_CUBIC)
    return np.asarray(np.rint(np.clip(crop + field, 0, 255)), np.uint8)


def _shrunk(image: Image) -> Image:
    return np.asarray(cv2.resize(image, (WORK, WORK), interpolation=cv2.INTER_AREA), np.uint8)


def _carried_on(values: NDArray[np.float32], weight: NDArray[np.float32]) -> NDArray[np.float32]:
    """Values known where there is weight, carried on to everywhere: near ones first, far ones where none is near."""
    found = np.zeros_like(values)
    unsure = np.ones_like(weight)
    for sigma in SCALES:
        near = cv2.GaussianBlur(weight, (0, 0), sigma)
        mean = cv2.GaussianBlur(values * weight[..., None], (0, 0), sigma) / (near[..., None] + 1e-4)
        trust = unsure * np.clip(near / 0.05, 0, 1)
        found += mean * trust[..., None]
        unsure -= trust
    return found


def _hair(source: Image, mesh: Floats) -> Mask:
    """What lies above the brows and has not the colour of skin."""
    side = source.shape[0]
    down = mesh[152] - mesh[10]
    height = max(float(np.hypot(*down)), 1e-6)
    down = down / height
    rows, columns = np.mgrid[:side, :side] + 0.5
    depth = (columns - mesh[10, 0]) * down[0] + (rows - mesh[10, 1]) * down[1]
    brow = float(((mesh[BROW_TOPS] - mesh[10]) @ down).min())
    above = np.clip((brow - depth) / (0.04 * height), 0, 1)
    unlike = (1 - skin_likeness(source, mesh)).astype(np.float32)
    size = max(3, round(0.02 * side)) | 1
    # Opened, so that moles and wrinkles go.
    opened = cv2.morphologyEx(unlike, cv2.MORPH_OPEN, np.ones((size, size), np.uint8))
    soft = cv2.GaussianBlur(opened, (0, 0), max(0.8, 0.008 * side))
    return np.asarray(np.rint(np.clip(above * soft, 0, 1) * 255), np.uint8)
