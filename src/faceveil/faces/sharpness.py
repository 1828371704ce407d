"""Sharpness: a generated face is as sharp as its size allows, a photo seldom is."""

import cv2
import numpy as np
from numpy.typing import NDArray

from faceveil.faces.face import Image

SIGMAS = (0.0, 0.5, 0.7, 0.9, 1.2, 1.6, 2.1, 2.8)  # px of blur that are tried, the least first
FINE = 1.0  # px: what varies faster is detail


def detail(crop: Image, where: NDArray[np.bool_]) -> float:
    """How strong fine detail is within a region, in grey levels."""
    return _detail(_grey(crop), where)


def no_sharper(crop: Image, limit: float, where: NDArray[np.bool_]) -> Image:
    """The crop blurred just so far that the detail within a region is below the limit."""
    grey = _grey(crop)
    sigma = next((one for one in SIGMAS if _detail(_blurred(grey, one), where) <= limit), SIGMAS[-1])
    return np.asarray(_blurred(crop, sigma), np.uint8)


def _grey(crop: Image) -> NDArray[np.float32]:
    return np.asarray(cv2.cvtColor(crop, cv2.COLOR_RGB2GRAY), np.float32)


def _detail(grey: NDArray[np.float32], where: NDArray[np.bool_]) -> float:
    return float((grey - _blurred(grey, FINE))[where].std()) if where.any() else 0.0


def _blurred(image: NDArray, sigma: float) -> NDArray:  # type: ignore[type-arg]
    return np.asarray(cv2.GaussianBlur(image, (0, 0), sigma)) if sigma else image
