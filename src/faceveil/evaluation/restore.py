"""Restoration before matching: what a patient attacker does to blurred and pixelated faces.

Box blur is a convolution whose size k shows in the spectrum, which it makes zero at multiples of 1/k. Knowing k, a
Wiener filter undoes it (the 8-bit rounding is all the noise there is). Pixelation shows its grid as the only places
where neighbouring pixels differ; the cell means are what remains, and enlarging them smoothly brings them into the
range that recognisers know. What is neither is left as it is.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import cv2
import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.uint8]
Floats = NDArray[np.float64]
Window = tuple[slice, slice]

CHANGED = 12  # grey levels; below it is the noise of another compression
AROUND = 0.6  # of its size: how far around a face its changed window may reach, where there are others
NOISES = (0.01, 1 / 36, 1 / 12, 0.3, 3.0)  # powers of noise to try: from 8-bit rounding to compression
SLOPES = (2.2, 3.0)  # of natural spectra along a line
SMALLEST_BLUR = 4  # px; a smaller one hides nothing, and every camera and resampling has some
NATURAL = 2.6  # slope of natural spectra in the plane
CLEARLY = 0.08  # gain in log likelihood per frequency from which a blur is believed
FLAT = 0.15  # differences inside the cells, as a share of those on their borders


@dataclass(frozen=True, eq=False)
class Restored:
    """A picture and what was undone."""

    image: Image
    undone: Literal["nothing", "blur", "pixelation"]
    strength: int = 0  # kernel's side, or cells across


def changed_window(original: Image, anonymised: Image) -> Window | None:
    """The rectangle that was changed, which an attacker sees by eye; None if nothing or everything was."""
    if original.shape != anonymised.shape:
        return None
    different = np.abs(original.astype(np.int16) - anonymised).max(axis=2) > CHANGED
    rows, columns = (np.flatnonzero(different.mean(axis=axis) > 0.02) for axis in (1, 0))
    if len(rows) < 16 or len(columns) < 16:
        return None
    return slice(rows[0], rows[-1] + 1), slice(columns[0], columns[-1] + 1)


def changed_window_at(
    original: Image, anonymised: Image, box_xyxy: Floats, beside: Sequence[Floats]
) -> Window | None:
    """The rectangle that was changed for the face in this box, when others beside it were changed too."""
    width, height = box_xyxy[2:] - box_xyxy[:2]
    grown = box_xyxy + AROUND * np.array([-width, -height, width, height])
    one, two = original.copy(), anonymised
    for other in beside:
        one[_slices(other, original)] = two[_slices(other, original)]
    rows, columns = _slices(grown, original)
    found = changed_window(one[rows, columns], two[rows, columns])
    if found is None:
        return None
    top, left = rows.start, columns.start
    return slice(top + found[0].start, top + found[0].stop), slice(
        left + found[1].start, left + found[1].stop
    )


def _slices(box_xyxy: Floats, image: Image) -> Window:
    """The pixels of a box, as far as they lie in the picture."""
    x0, y0, x1, y1 = (int(value) for value in np.round(box_xyxy))
    height, width = image.shape[:2]
    return slice(min(max(y0, 0), height), min(max(y1, 0), height)), slice(
        min(max(x0, 0), width), min(max(x1, 0), width)
    )


def restore(image: Image, window: Window) -> Restored:
    """Undo pixelation or box blur inside the window, whichever shows its traces."""
    part = np.ascontiguousarray(image[window])
    cells = pixel_cells(part)
    if cells:
        return Restored(_with(image, window, unpixelated(part, cells)), "pixelation", cells[0])
    blur = blur_of(part)
    if blur:
        return Restored(_with(image, window, deblurred(part, blur)), "blur", blur.size)
    return Restored(image, "nothing")


def _with(image: Image, window: Window, part: Image) -> Image:
    out = image.copy()
    out[window] = part
    return out


def pixel_cells(part: Image) -> tuple[int, int] | None:
    """Cells across and down of a pixelated picture, or None."""
    grey = part.astype(np.float64).mean(axis=2)
    across = _grid(np.abs(np.diff(grey, axis=1)).mean(axis=0))
    down = _grid(np.abs(np.diff(grey, axis=0)).mean(axis=1))
    return (across, down) if across and down else None


def _grid(edges: Floats) -> int | None:
    """The number of equal cells whose borders hold the differences, or None."""
    length = len(edges) + 1
    scores = {}
    for cells in range(2, length // 4 + 1):
        border = np.round(np.arange(1, cells) * length / cells).astype(int) - 1
        near = np.clip(border[:, None] + [-1, 0, 1], 0, len(edges) - 1)
        inside = np.ones(len(edges), bool)
        inside[near] = False
        on, off = edges[near].max(axis=1).mean(), edges[inside].mean()
        if off < FLAT * on:
            # What these borders explain, less what so many places would by chance.
            scores[cells] = edges[~inside].sum() / edges.sum() - np.mean(~inside)
    return max(scores, key=lambda cells: scores[cells]) if scores else None


def unpixelated(part: Image, cells: tuple[int, int]) -> Image:
    """The cell means, enlarged with a smooth kernel."""
    height, width = part.shape[:2]
    small = cv2.resize(part, cells, interpolation=cv2.INTER_AREA)
    return np.asarray(cv2.resize(small, (width, height), interpolation=cv2.INTER_CUBIC), np.uint8)


@dataclass(frozen=True)
class Blur:
    """A box blur: the side of its kernel, and how noisy the picture is (the power of its noise)."""

    size: int
    noise: float


def blur_of(part: Image) -> Blur | None:
    """The box blur that best explains a picture's spectrum, or None where none explains it better than no blur.

    Natural pictures have a power spectrum that falls as a power of the frequency; blur multiplies it by that of
    its box, noise adds a floor. The likelihood of the spectrum under each (Whittle's) decides. Cost: milliseconds.
    """
    grey = part.astype(np.float64).mean(axis=2)
    sizes = np.arange(1, min(grey.shape) * 2 // 3)
    if len(sizes) < SMALLEST_BLUR:
        return None
    misfit = _misfit(grey, sizes) + _misfit(grey.T, sizes)  # sizes × noise levels
    size, noise = np.unravel_index(np.argmin(misfit), misfit.shape)
    gain = misfit[0].min() - misfit[size, noise]
    if sizes[size] < SMALLEST_BLUR or gain < CLEARLY:
        return None
    return Blur(int(sizes[size]), NOISES[noise])


def _misfit(grey: Floats, sizes: NDArray[np.int64]) -> Floats:
    """The negative log likelihood per frequency of the rows' spectrum, for each box and noise level."""
    mirrored = np.concatenate([grey, grey[:, ::-1]], axis=1)  # as blur at a border mirrors
    length = mirrored.shape[1]
    power = (np.abs(np.fft.rfft(mirrored, axis=1)) ** 2).mean(axis=0)[1:]
    frequency = np.arange(1, len(power) + 1) / length
    box = np.stack([np.abs(_box(length, size)[1 : len(power) + 1]) ** 2 for size in sizes])
    best = np.full((len(sizes), len(NOISES)), np.inf)
    for slope in SLOPES:
        natural = frequency**-slope
        level = power[:6].sum() / natural[:6].sum()
        for strength in level * np.geomspace(0.2, 50, 10):
            for column, noise in enumerate(NOISES):
                model = strength * natural * box + noise * length
                best[:, column] = np.minimum(best[:, column], (np.log(model) + power / model).mean(axis=1))
    return best


def deblurred(part: Image, blur: Blur) -> Image:
    """Wiener's filter for that box, on the mirrored picture."""
    height, width = part.shape[:2]
    planes = part.astype(np.float64)
    mirrored = np.concatenate([planes, planes[::-1]], axis=0)
    mirrored = np.concatenate([mirrored, mirrored[:, ::-1]], axis=1)
    response = _box(2 * height, blur.size)[:, None] * _box(2 * width, blur.size)[None]
    wiener = np.conj(response) / (np.abs(response) ** 2 + _noise_to_signal(mirrored, blur.noise))
    sharp = np.fft.ifft2(np.fft.fft2(mirrored, axes=(0, 1)) * wiener[..., None], axes=(0, 1)).real
    return np.asarray(np.clip(np.round(sharp[:height, :width]), 0, 255), np.uint8)


def _noise_to_signal(mirrored: Floats, noise: float) -> Floats:
    """Per frequency, when the sharp picture has a natural spectrum and about the power that is left of it."""
    height, width = mirrored.shape[:2]
    radius = np.hypot(np.fft.fftfreq(height)[:, None], np.fft.fftfreq(width)[None])
    radius[0, 0] = 1 / max(height, width)
    natural = radius**-NATURAL
    signal = natural / natural.sum() * mirrored.var(axis=(0, 1)).mean() * height * width
    return np.asarray(3 * noise / signal)  # the noise was measured in the mean of three channels


def _box(length: int, size: int) -> NDArray[np.complex128]:
    """The frequency response of a running mean over `size`, centred as OpenCV centres it."""
    kernel = np.zeros(length)
    kernel[(np.arange(size) - size // 2) % length] = 1 / size
    # cv2.blur correlates; for even sizes the box is off centre, and its mirror image is what convolves.
    return np.conj(np.fft.fft(kernel))
