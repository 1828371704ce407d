"""Looking at parts of a photo: tiles of a scaled photo, and close-ups that are turned upright."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

import cv2
import numpy as np

from faceveil.faces.face import Floats, Image


@dataclass(frozen=True)
class View:
    """A picture that shows part of a photo. `to_view` (2×3) takes the photo's coordinates to the view's."""

    pixels: Image
    to_view: Floats

    def to_photo(self, points: Floats) -> Floats:
        """Points of the view (…×2) in the photo's coordinates."""
        matrix = cv2.invertAffineTransform(self.to_view)
        return np.asarray(points @ matrix[:, :2].T + matrix[:, 2], np.float64)

    @property
    def zoom(self) -> float:
        """How many pixels of the view one pixel of the photo covers."""
        return float(np.sqrt(abs(np.linalg.det(self.to_view[:, :2]))))


def resized(image: Image, scale: float) -> Image:
    """The picture at another scale, without aliasing."""
    if scale == 1:
        return image
    image, size = _halved(image, scale)
    how = cv2.INTER_AREA if size[0] < image.shape[1] else cv2.INTER_LINEAR
    return np.asarray(cv2.resize(image, size, interpolation=how), np.uint8)


def quickly_resized(image: Image, scale: float) -> Image:
    """The same in a third of the time: by halves, and then from four neighbours, which is a little less smooth."""
    image, size = _halved(image, scale)
    return np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_LINEAR), np.uint8)


def _halved(image: Image, scale: float) -> tuple[Image, tuple[int, int]]:
    """The picture halved while it stays larger than at this scale, and its width and height at this scale."""
    size = max(1, round(image.shape[1] * scale)), max(1, round(image.shape[0] * scale))
    while min(image.shape[:2]) > 2 and 2 * size[0] <= image.shape[1] and 2 * size[1] <= image.shape[0]:
        image = _half(image)
    return image, size


def _half(image: Image) -> Image:
    """Half as large: ten times as fast as other factors. An odd last row is left out."""
    half = image.shape[1] // 2, image.shape[0] // 2
    even = image[: 2 * half[1], : 2 * half[0]]
    return np.asarray(cv2.resize(even, half, interpolation=cv2.INTER_AREA), np.uint8)


def tiles(image: Image, scale: float, longest: int, overlap: int, grid: int) -> Iterator[View]:
    """The scaled photo in tiles of equal size, at most `longest` on a side and a multiple of `grid`.

    Few different sizes matter: a network prepares itself anew for each. What lies outside the photo is black.
    Only one tile at a time is in memory.
    """
    height, width = image.shape[:2]
    columns = _cuts(width * scale, longest, overlap)
    rows = _cuts(height * scale, longest, overlap)
    tile_w, tile_h = _round_up(columns[0][1], grid), _round_up(rows[0][1], grid)
    for top, _ in rows:
        for left, _ in columns:
            yield _tile(image, scale, left, top, tile_w, tile_h)


def _tile(image: Image, scale: float, left: float, top: float, tile_w: int, tile_h: int) -> View:
    x0, y0 = int(left / scale), int(top / scale)
    part = image[y0 : int(np.ceil(y0 + tile_h / scale)), x0 : int(np.ceil(x0 + tile_w / scale))]
    small = resized(part, scale)[:tile_h, :tile_w]
    below, right = tile_h - small.shape[0], tile_w - small.shape[1]
    pixels = np.asarray(cv2.copyMakeBorder(small, 0, below, 0, right, cv2.BORDER_CONSTANT), np.uint8)
    # Rounding to whole pixels makes the true scale differ a little from the one that was asked for.
    sx = scale if scale == 1 else round(part.shape[1] * scale) / part.shape[1]
    sy = scale if scale == 1 else round(part.shape[0] * scale) / part.shape[0]
    return View(pixels, np.array([[sx, 0, -x0 * sx], [0, sy, -y0 * sy]]))


def _cuts(length: float, longest: int, overlap: int) -> list[tuple[float, float]]:
    """Start and length of pieces that cover 0…length, none longer than `longest`, sharing `overlap`."""
    if length <= longest:
        return [(0.0, length)]
    count = int(np.ceil((length - overlap) / (longest - overlap)))
    piece = (length - overlap) / count + overlap
    return [(i * (piece - overlap), piece) for i in range(count)]


def _round_up(value: float, grid: int) -> int:
    return int(np.ceil(value / grid)) * grid


def close_up(
    image: Image,
    centre: Floats,
    scale: float,
    degrees: float,
    size: int,
    *,
    mirrored: bool = False,
    smooth: float = 0.6,
) -> View:
    """A square look at one place, turned so that what is tilted by `degrees` (clockwise) stands upright.

    Beyond the frame there is black, or the photo mirrored. At scales under `smooth` the place is made smaller without
    aliasing before it is turned.
    """
    turn = np.array(cv2.getRotationMatrix2D((float(centre[0]), float(centre[1])), degrees, scale), np.float64)
    turn[:, 2] += size / 2 - centre
    reach = 0.75 * size / scale + 2  # half the diagonal, so that no corner is missing
    x0, x1 = _within(centre[0], reach, image.shape[1])
    y0, y1 = _within(centre[1], reach, image.shape[0])
    part = image[y0:y1, x0:x1]
    small = resized(part, scale) if scale < smooth else part
    back = np.array(
        [[part.shape[1] / small.shape[1], 0, x0], [0, part.shape[0] / small.shape[0], y0], [0, 0, 1]]
    )
    border = cv2.BORDER_REFLECT if mirrored else cv2.BORDER_CONSTANT
    pixels = cv2.warpAffine(small, turn @ back, (size, size), flags=cv2.INTER_LINEAR, borderMode=border)
    return View(np.asarray(pixels, np.uint8), turn)


def quarter_turned(image: Image, quarters: int) -> View:
    """The whole photo turned counter-clockwise by 1, 2 or 3 quarters."""
    height, width = image.shape[:2]
    matrix = {
        1: [[0, 1, 0], [-1, 0, width]],
        2: [[-1, 0, width], [0, -1, height]],
        3: [[0, -1, height], [1, 0, 0]],
    }[quarters]
    return View(np.ascontiguousarray(np.rot90(image, quarters)), np.array(matrix, np.float64))


def _within(centre: float, reach: float, length: int) -> tuple[int, int]:
    """Start and end of the pixels within reach, one at least."""
    start = int(min(max(centre - reach, 0), length - 1))
    return start, min(max(ceil(centre + reach), start + 1), length)


class Sizes:
    """A photo and its halves, made when they are first wanted, for many close-ups of one photo."""

    def __init__(self, image: Image) -> None:
        self._halves = [image]

    @property
    def half(self) -> Image:
        """The photo at half its size; one of a single row or column as it is."""
        return self._halves[self._down_to(1)]

    def _down_to(self, level: int) -> int:
        """This level, or the last that there can be."""
        while len(self._halves) <= level and min(self._halves[-1].shape[:2]) > 1:
            self._halves.append(_half(self._halves[-1]))
        return min(level, len(self._halves) - 1)

    def close_up(
        self, centre: Floats, scale: float, degrees: float, size: int, *, mirrored: bool = False
    ) -> View:
        """What `close_up` shows, from the smallest half that has enough pixels."""
        level = self._down_to(max(0, int(np.log2(1 / scale))))
        zoom = 0.5**level
        half, at = self._halves[level], centre * zoom
        near = close_up(half, at, scale / zoom, degrees, size, mirrored=mirrored, smooth=0.5)
        return View(near.pixels, near.to_view * [zoom, zoom, 1])
