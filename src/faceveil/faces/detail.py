"""Give a render as much fine detail on its skin as its photo has: pores and grain, no more and no less.

Photos differ in sharpness and renders hardly do, so a new face looks soft in one photo and crisp in another. How much
of each scale the photo's skin shows, one number a scale, is taken over; what it shows is the render's.
"""

from itertools import pairwise

import cv2
import numpy as np
from numpy.typing import NDArray

from faceveil.faces.face import Image

Grain = NDArray[np.float32]  # one number a band

SCALES = (0.0, 0.7, 1.4, 2.8)  # px, the blurs between which lie the bands
BANDS = len(SCALES) - 1
LEAST, MOST = 0.5, 1.7  # times the render's detail
EDGE = 9  # px to the skin's edge, which is no detail of it
FEW = 400  # pixels of skin: fewer do not tell


def matched(render: Image, photo: Image, skin: NDArray[np.bool_]) -> Image:
    """The render (N × N × 3) with its bands as strong on the skin as the photo's; `skin` at any size."""
    return with_grain(render, grain_of(photo, skin), skin)


def grain_of(photo: Image, skin: NDArray[np.bool_]) -> Grain:
    """How strong each band of a photo's crop is on the skin; not a number where too little of it is seen."""
    place = _within(skin, photo.shape[0])
    if place.sum() < FEW:
        return np.full(BANDS, np.nan, np.float32)
    return np.array([_strength(band, place) for band in _bands(photo)], np.float32)


def with_grain(render: Image, grain: Grain, skin: NDArray[np.bool_]) -> Image:
    """The render with bands of this strength on the skin, as far as they may be changed."""
    place = _within(skin, render.shape[0])
    if place.sum() < FEW or not np.isfinite(grain).all():
        return render
    change = np.zeros(render.shape[:2], np.float32)
    for own, wanted in zip(_bands(render), grain, strict=True):
        gain = float(wanted) / max(_strength(own, place), 1e-3)
        change += (np.clip(gain, LEAST, MOST) - 1) * own
    return np.asarray(np.clip(np.rint(render + change[..., None]), 0, 255), np.uint8)


def _within(skin: NDArray[np.bool_], side: int) -> NDArray[np.bool_]:
    large = cv2.resize(skin.astype(np.uint8), (side, side), interpolation=cv2.INTER_NEAREST)
    return np.asarray(cv2.erode(large, np.ones((EDGE, EDGE), np.uint8)) > 0)


def _bands(picture: Image) -> list[NDArray[np.float32]]:
    """What of its lightness lies between two scales each, the finest first."""
    light = cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY).astype(np.float32)
    blurred = [cv2.GaussianBlur(light, (0, 0), scale) if scale else light for scale in SCALES]
    return [np.asarray(fine - coarse) for fine, coarse in pairwise(blurred)]


def _strength(band: NDArray[np.float32], place: NDArray[np.bool_]) -> float:
    """The median: edges of features, few and strong, do not count."""
    return float(np.median(np.abs(band[place])))
