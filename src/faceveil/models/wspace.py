"""The shape of W: its mean and principal axes, and whitened coordinates for what searches in it."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from faceveil.models.mobilestylegan import Floats
from faceveil.models.npz import opened

DATA = Path(__file__).with_name("data")


@dataclass(frozen=True)
class WSpace:
    """Measured on draws of z by `training/exits.py`."""

    mean: Floats  # 512
    axes: Floats  # 512 × 512, one unit axis per row, by falling spread
    spread: Floats  # 512, the standard deviation along each axis

    def deviations(self, components: int = 512) -> Floats:
        """What one step along each axis of unit variance changes of W, components × 512."""
        return self.spread[:components, None] * self.axes[:components]

    def whiten(self, w: Floats, components: int = 512) -> Floats:
        """W or W+ (… × 512) to coordinates of unit variance (… × components)."""
        turned = (w - self.mean) @ self.axes[:components].T
        return (turned / self.spread[:components]).astype(np.float32)

    def unwhiten(self, coordinates: Floats) -> Floats:
        """Back to W or W+."""
        components = coordinates.shape[-1]
        scaled = coordinates * self.spread[:components]
        return (self.mean + scaled @ self.axes[:components]).astype(np.float32)


@cache
def w_space() -> WSpace:
    """The measured space that ships with the package."""
    with opened(DATA / "mobilestylegan-w.npz") as stored:
        return WSpace(stored["mean"], stored["axes"], stored["spread"])
