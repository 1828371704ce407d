"""Control: move a generated face to another pose and expression along directions of W+.

The directions come from a ridge regression of traits, gender and skin on whitened coordinates of
generated faces (`training/control.py`): a step is the shortest one that changes the traits as asked and, to
first order, nothing else that was measured. Principal coordinates as in GANSpace (Härkönen et al. 2020).

A second regression, of recognisers' embeddings on the same coordinates, tells which way leads away from a person.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from faceveil.models.mobilestylegan import Floats
from faceveil.models.recognizers import RECOGNIZERS
from faceveil.models.wspace import w_space

DATA = Path(__file__).with_name("data") / "control.npz"
COORDINATES = 300  # of W, for identity
IDENTITY_SLOTS = slice(4, 13)


@dataclass(frozen=True, eq=False)
class Control:
    """Measured on generated faces."""

    moves: Floats  # 10 × 23 × 512: the step in W+ that raises one of the traits by one deviation
    mean: NDArray[np.float64]  # 10, of the traits
    deviation: NDArray[np.float64]  # 10
    mesh: NDArray[np.float64]  # 468 × 2, the mean face's mesh in crop sides
    identity: dict[str, tuple[Floats, Floats]]  # recogniser → slopes (coordinates × 128) and mean embedding

    def moved(self, wplus: Floats, change: NDArray[np.float64], furthest: NDArray[np.float64]) -> Floats:
        """W+ (23 × 512) with its traits changed, each at most by its `furthest` in deviations."""
        steps = np.clip(change / self.deviation, -furthest, furthest)
        return np.asarray(wplus + np.tensordot(steps.astype(np.float32), self.moves, 1), np.float32)

    def pushed(self, wplus: Floats, embeddings: Mapping[str, Floats], step: float) -> Floats:
        """W+ (23 × 512) moved away from one person's embeddings, by `step` whitened units in the identity slots."""
        away = np.zeros(COORDINATES, np.float32)
        for name, embedding in embeddings.items():
            slopes, mean = self.identity[name]
            towards = slopes @ (embedding - mean)
            away -= towards / max(float(np.linalg.norm(towards)), 1e-9)
        away *= step / max(float(np.linalg.norm(away)), 1e-9)
        space, out = w_space(), wplus.copy()
        out[IDENTITY_SLOTS] += (away * space.spread[:COORDINATES]) @ space.axes[:COORDINATES]
        return out


@cache
def control() -> Control:
    """The directions that ship with the package."""
    with np.load(DATA) as stored:
        moves = stored["moves"].astype(np.float32)
        identity = {
            name: (slopes.astype(np.float32), mean.astype(np.float32))
            for name, slopes, mean in zip(
                RECOGNIZERS, stored["identity"], stored["identity_mean"], strict=True
            )
        }
        mesh = stored["mesh"].astype(np.float64)
        return Control(moves, stored["mean"], stored["deviation"], mesh, identity)
