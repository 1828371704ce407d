"""Do two places in released photos show the same picture? Cut both out, blur both alike, compare cell by cell."""

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from faceveil.faces import Alignment
from faceveil.faces.face import Image

SIDE = 64  # px of the crops that are compared
CELL = 8
ENOUGH = 0.25  # of a cell's pixels that must be seen
BLUR = 0.6  # in pixels of the coarser of the two photos
LARGEST_BLUR = 4.0


@dataclass(frozen=True, eq=False)
class Cut:
    """A face cut back out of a released photo, and which of its pixels can be seen."""

    pixels: Image
    visible: NDArray[np.bool_]
    side: float  # of the crop in the photo's pixels: how fine it can be


def cut_out(image: Image, place: Alignment, visible: NDArray[np.bool_]) -> Cut:
    """Cut the face out through its recorded alignment."""
    corners = place.points_to_photo(np.array([[0, 0], [1, 0], [0, 1], [1, 1]]) * float(place.size))
    left, top = np.clip(np.floor(corners.min(axis=0)).astype(int) - 8, 0, None)
    right, bottom = np.ceil(corners.max(axis=0)).astype(int) + 8
    window = np.ascontiguousarray(image[top : max(bottom, top + 1), left : max(right, left + 1)])
    small = place.resized(SIDE)
    matrix = small.to_crop.copy()
    matrix[:, 2] += matrix[:, :2] @ [left, top]
    pixels = Alignment(matrix, SIDE).crop(window) if window.size else np.zeros((SIDE, SIDE, 3), np.uint8)
    return Cut(pixels, visible, place.size / place.zoom)


def difference(one: Cut, other: Cut) -> float:
    """The mean difference (0 to 255) in the cell that differs most, where both can be seen; inf where none can."""
    sigma = min(LARGEST_BLUR, max(BLUR, BLUR * SIDE / min(one.side, other.side)))
    seen = one.visible & other.visible
    apart = one.pixels.astype(np.float32) - other.pixels
    # Blurred within what is seen, so that nothing beside it comes in.
    weight = cv2.GaussianBlur(seen.astype(np.float32), (0, 0), sigma)
    blurred = cv2.GaussianBlur(apart * seen[..., None], (0, 0), sigma)
    off = np.abs(blurred / np.maximum(weight, 1e-6)[..., None]).mean(axis=2) * seen
    cells = SIDE // CELL
    sums, counts = (
        part.reshape(cells, CELL, cells, CELL).sum(axis=(1, 3)) for part in (off, seen.astype(np.float32))
    )
    enough = counts >= ENOUGH * CELL * CELL
    return float((sums[enough] / counts[enough]).max()) if enough.any() else float("inf")
