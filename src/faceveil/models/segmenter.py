"""The person against the background (MediaPipe's selfie segmentation, selfie.256)."""

import cv2
import numpy as np
from numpy.typing import NDArray

from faceveil.models.runtime import load

SIZE = 256


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
