"""The person against the background, and the parts of a person (MediaPipe's selfie segmentations)."""

import cv2
import numpy as np
from numpy.typing import NDArray

from faceveil.models.runtime import load

SIZE = 256
BACKGROUND, HAIR, BODY, FACE, CLOTHES, OTHERS = range(6)  # of `parts`; BODY is skin that is no face's

Parts = NDArray[np.float32]  # 6 × SIZE × SIZE, sums to 1


def person_mask(image_rgb: NDArray[np.uint8]) -> NDArray[np.float32]:
    """How surely each pixel shows a person, H×W in 0..1.

    The network sees the whole photo squeezed to 256×256, so edges are soft in large photos and people who are
    small in the frame may be missed: call it on a crop around the head where that matters.
    """
    height, width = image_rgb.shape[:2]
    small = cv2.resize(image_rgb, (SIZE, SIZE), interpolation=cv2.INTER_AREA)
    (mask,) = load("selfie.256")(small[None].astype(np.float32) / 255)
    full = cv2.resize(mask[0, :, :, 0], (width, height), interpolation=cv2.INTER_LINEAR)
    return np.clip(full, 0, 1).astype(np.float32)


def parts(crop: NDArray[np.uint8]) -> Parts:
    """How surely each pixel of a crop around a head shows each part."""
    small = cv2.resize(crop, (SIZE, SIZE), interpolation=cv2.INTER_AREA)
    (logits,) = load("selfie.multiclass", precision="bf16")(small[None].astype(np.float32) / 255)
    shares = np.exp(logits[0] - logits[0].max(axis=2, keepdims=True))
    return np.asarray((shares / shares.sum(axis=2, keepdims=True)).transpose(2, 0, 1), np.float32)
