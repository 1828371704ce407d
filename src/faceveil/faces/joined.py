"""Draw a code's face as part of a photo: see `models/residual.py`."""

import cv2
import numpy as np
from numpy.typing import NDArray

from faceveil.faces.face import Image
from faceveil.faces.light import Light, around
from faceveil.models.mobilestylegan import SIZES
from faceveil.models.mobilestylegan import Floats as Code
from faceveil.models.runtime import Network, once

SMALLEST, LARGEST = 256, 1024  # px of a render
COARSER = 0.8  # of a crop's side, up to which a render is enlarged


def joined(wplus: Code, photo: Image, face: NDArray[np.float32], light: Light, side: int) -> Image:
    """A code's face rendered with what is around it in a photo's crop (residual.SEEN px), as a crop of `side` px.

    `face` tells where the photo's own face is: of it nothing is seen but the `light` on it.
    """
    keep = (1 - face).astype(np.float32)
    seen = around(photo, keep, light).transpose(2, 0, 1)[None] / np.float32(127.5) - 1
    keep, seen = keep[None, None], np.ascontiguousarray(seen)
    (pixels,) = network(_size(side))([wplus[None], seen, keep])
    return resized(pixels[0], side)


def resized(image: Image, side: int) -> Image:
    if image.shape[0] == side:
        return image
    way = cv2.INTER_CUBIC if image.shape[0] < side else cv2.INTER_AREA
    return np.asarray(cv2.resize(image, (side, side), interpolation=way), np.uint8)


def _size(side: int) -> int:
    """The smallest render that is not much coarser."""
    return next((size for size in SIZES if size >= max(SMALLEST, COARSER * side)), LARGEST)


@once
def network(size: int) -> Network:
    """For renders of this size, compiled once."""
    from faceveil.models import residual  # it loads the engine

    return Network(residual.build_graph(size, residual.read()), precision="bf16")
