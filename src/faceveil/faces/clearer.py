"""The same photo made clearer for a detector, where it is pale, dark, grainy or striped: a second picture to search.

Detectors learned from well exposed photos. Two cheap measures on a sample of the pixels say which photo calls for
it: ordinary photos pay a millisecond and are searched once.
"""

import cv2
import numpy as np
from numpy.typing import NDArray

from faceveil.faces.face import Floats, Image

Floats32 = NDArray[np.float32]
FLAT = 64  # steps of 255 between the 5th and the 95th percentile: less is pale or dark
SPREAD = (1, 99)  # percentiles that become black and white
GRAIN = 15.0  # steps by which a pixel differs from the middle of its neighbours, in the median
STRIPES = 5.0  # the same of whole rows, or columns, on average
SMOOTH = 2.5  # px
SAMPLE = 64  # every so many rows and columns are measured


def clearer(image: Image) -> Image | None:
    """The photo with its greys spread, and first with noise and stripes smoothed away; None where it is clear."""
    rough = roughness(image)
    if rough[0] > GRAIN or rough[1] > STRIPES:
        return _spread(np.asarray(cv2.GaussianBlur(image, (0, 0), SMOOTH), np.uint8))
    low, high = _greys(image, (5, 95))
    return _spread(image) if high - low < FLAT else None


def roughness(image: Image) -> tuple[float, float]:
    """How rough single pixels are, and how much whole rows or columns differ from those beside them."""
    if min(image.shape[:2]) < 3:
        return 0.0, 0.0
    green = image[..., 1]
    rows = green[::SAMPLE].astype(np.float32)
    lines = rows.mean(axis=0), green[:, ::SAMPLE].mean(axis=1, dtype=np.float32)
    return float(np.median(_bend(rows))), max(float(_bend(line).mean()) for line in lines)


def _bend(line: Floats32) -> Floats32:
    """How far each value lies from the middle of its neighbours."""
    return np.abs(line[..., 1:-1] - (line[..., :-2] + line[..., 2:]) / 2)


def _greys(image: Image, percentiles: tuple[int, int]) -> Floats:
    step = max(1, min(image.shape[:2]) // 100)
    return np.asarray(np.percentile(image[::step, ::step, 1], percentiles), np.float64)


def _spread(image: Image) -> Image:
    low, high = _greys(image, SPREAD)
    table = np.clip((np.arange(256) - low) * 255 / max(high - low, 1), 0, 255)
    return np.asarray(cv2.LUT(image, np.rint(table).astype(np.uint8)), np.uint8)
