"""Photo: the pixels of one still picture, and what is needed to write it back alike."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faceveil.errors import UsageError

Pixels = NDArray[np.uint8]

FORMATS = ("JPEG", "PNG", "WEBP", "TIFF", "BMP", "HEIC", "AVIF")


@dataclass(frozen=True)
class JpegTables:
    """How a JPEG was compressed: one table of 64 values, row by row, for each kind of component."""

    quantisation: tuple[tuple[int, ...], ...]
    subsampling: int  # 0 = 4:4:4, 1 = 4:2:2, 2 = 4:2:0
    progressive: bool = False


@dataclass(frozen=True)
class Encoding:
    """How the source file stored its pixels, and the few values it may keep besides them."""

    grey: bool = False
    jpeg: JpegTables | None = None
    lossless: bool = True  # decides how a WebP is written, which knows both kinds
    tiff_compression: str = "tiff_adobe_deflate"
    kept: Mapping[str, Any] = field(default_factory=dict)  # allow-listed metadata by name


@dataclass(frozen=True, eq=False)
class Photo:
    """One still picture. The arrays are read-only; `with_pixels` makes the changed photo."""

    pixels: Pixels
    path: Path | None = None
    format: str = "PNG"
    alpha: Pixels | None = None
    encoding: Encoding = field(default_factory=Encoding)
    notes: tuple[str, ...] = ()  # what the reader had to decide, in words for the user

    def __post_init__(self) -> None:
        _check("pixels", self.pixels, 3)
        if self.pixels.shape[2] != 3 or 0 in self.pixels.shape:
            raise UsageError(
                f"a photo's pixels are height × width × 3 and not empty, not {self.pixels.shape}."
            )
        if self.alpha is not None:
            _check("alpha", self.alpha, 2)
            if self.alpha.shape != self.pixels.shape[:2]:
                raise UsageError(f"alpha {self.alpha.shape} does not fit pixels {self.pixels.shape[:2]}.")
        if self.format not in FORMATS:
            raise UsageError(f"no photo format {self.format!r}; faceveil writes {', '.join(FORMATS)}.")
        object.__setattr__(self, "pixels", _read_only(self.pixels))
        if self.alpha is not None:
            object.__setattr__(self, "alpha", _read_only(self.alpha))

    @property
    def size_wh(self) -> tuple[int, int]:
        """Width and height."""
        return self.pixels.shape[1], self.pixels.shape[0]

    def with_pixels(self, pixels: Pixels, *, alpha: Pixels | None = None) -> "Photo":
        """The same photo with other pixels; without `alpha` it keeps its own."""
        return replace(self, pixels=pixels, alpha=self.alpha if alpha is None else alpha)


def _check(name: str, array: Pixels, dimensions: int) -> None:
    if not isinstance(array, np.ndarray) or array.dtype != np.uint8 or array.ndim != dimensions:
        came = f"{array.dtype} {array.shape}" if isinstance(array, np.ndarray) else type(array).__name__
        raise UsageError(f"a photo's {name} must be a uint8 array of {dimensions} dimensions, not {came}.")


def _read_only(array: Pixels) -> Pixels:
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view
