"""Fill a hole in a picture from what is around it, and soften an edge."""

import cv2
import numpy as np
from numpy.typing import NDArray

from faceveil.faces.face import Image


def smooth(values: NDArray[np.floating]) -> NDArray[np.float32]:
    """From 0 to 1 without a kink."""
    soft = np.clip(values, 0, 1)
    return np.asarray(soft * soft * (3 - 2 * soft), np.float32)


def filled(around: Image, hole: NDArray[np.bool_], otherwise: Image) -> NDArray[np.float32]:
    """The window with its hole filled smoothly from what is around it: every pixel from the finest level of a
    pyramid that knows anything there (push and pull, Gortler et al. 1996)."""
    known = (~hole).astype(np.float32)[..., None]
    if not known.any():
        return otherwise.astype(np.float32)
    levels = [(around * known, known)]
    while levels[-1][1].min() == 0:
        levels.append(_surer(*map(_halved, levels[-1])))
    colour, weight = levels[-1]
    filled = colour / weight
    for colour, weight in reversed(levels[:-1]):
        size = weight.shape[1], weight.shape[0]
        coarse = cv2.resize(filled, size, interpolation=cv2.INTER_LINEAR).reshape(colour.shape)
        filled = colour + coarse * (1 - weight)
    return np.asarray(filled, np.float32)


def _surer(
    colour: NDArray[np.float32], weight: NDArray[np.float32]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """One known pixel of four is enough to be sure: what is near counts, and not what is all around."""
    gain = 1 / np.maximum(weight, 0.25)
    return np.asarray(colour * gain, np.float32), np.asarray(weight * gain, np.float32)


def _halved(array: NDArray[np.float32]) -> NDArray[np.float32]:
    rows, columns = ((side + 1) // 2 for side in array.shape[:2])
    small = cv2.resize(array, (columns, rows), interpolation=cv2.INTER_AREA)
    return np.asarray(small, np.float32).reshape(rows, columns, -1)
