"""Control: move a generated face to another pose and expression along directions of W+.

The directions come from a ridge regression of traits, gender and skin on whitened coordinates of
generated faces (`training/control.py`): a step is the shortest one that changes the traits as asked and, to
first order, nothing else that was measured. Principal coordinates as in GANSpace (Härkönen et al. 2020).
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from faceveil.models.mobilestylegan import Floats

DATA = Path(__file__).with_name("data") / "control.npz"


@dataclass(frozen=True, eq=False)
class Control:
    """Measured on generated faces."""

    moves: Floats  # 10 × 23 × 512: the step in W+ that raises one of the traits by one deviation
    mean: NDArray[np.float64]  # 10, of the traits
    deviation: NDArray[np.float64]  # 10
    mesh: NDArray[np.float64]  # 468 × 2, the mean face's mesh in crop sides

    def moved(self, wplus: Floats, change: NDArray[np.float64], furthest: float = 2.0) -> Floats:
        """W+ (23 × 512) with its traits changed; each at most by `furthest` deviations."""
        steps = np.clip(change / self.deviation, -furthest, furthest)
        return np.asarray(wplus + np.tensordot(steps.astype(np.float32), self.moves, 1), np.float32)


@cache
def control() -> Control:
    """The directions that ship with the package."""
    with np.load(DATA) as stored:
        moves = stored["moves"].astype(np.float32)
        return Control(moves, stored["mean"], stored["deviation"], stored["mesh"].astype(np.float64))
