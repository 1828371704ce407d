"""Control: move a generated face to another pose and expression along directions of W+.

The directions come from a ridge regression of traits, gender and skin on whitened coordinates of
generated faces (`training/control.py`): a step is the shortest one that changes the traits as asked and, to
first order, nothing else that was measured. Principal coordinates as in GANSpace (Härkönen et al. 2020).

A second regression, of recognisers' embeddings on the axes along which codes of people differ (`targets.py`), tells
which way leads away from a person, and a step that all generated faces lack to be as people are on average
(`training/step_to_people.py`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from faceveil.models.mobilestylegan import Floats
from faceveil.models.npz import opened
from faceveil.models.recognizers import WATCHING
from faceveil.models.runtime import once

DATA = Path(__file__).with_name("data") / "control.npz"
PEOPLE = DATA.with_name("people.npz")


@dataclass(frozen=True, eq=False)
class Control:
    """Measured on generated faces."""

    moves: Floats  # traits × 23 × 512: the step in W+ that raises one of looks.TRAITS by one deviation
    mean: NDArray[np.float64]  # of the traits
    deviation: NDArray[np.float64]
    mesh: NDArray[np.float64]  # 468 × 2, the mean face's mesh in crop sides
    identity: dict[str, tuple[Floats, Floats]]  # recogniser → slopes (axes × 128) and mean embedding
    kept: Floats  # axes × M, orthonormal: what of people's axes changes anything that was measured

    def moved(self, wplus: Floats, change: NDArray[np.float64], furthest: NDArray[np.float64]) -> Floats:
        """W+ (23 × 512) with its traits changed, each at most by its `furthest` in deviations."""
        steps = np.clip(change / self.deviation, -furthest, furthest)
        return np.asarray(wplus + np.tensordot(steps.astype(np.float32), self.moves, 1), np.float32)

    def away_from(self, embeddings: Mapping[str, Floats]) -> Floats:
        """The direction along people's axes that leads away from one person, a unit long."""
        ways = [
            -self._towards(name, embedding - self.identity[name][1])
            for name, embedding in embeddings.items()
            if name in self.identity
        ]
        axes = len(next(iter(self.identity.values()))[0])
        return _unit(np.sum(ways, axis=0)) if ways else np.zeros(axes, np.float32)

    def neutral(self, step: Floats) -> Floats:
        """A step along people's axes without what of it would change age, pose, expression or kind.

        Sums are einsum's, as in targets.Codes.
        """
        share = np.einsum("am,a->m", self.kept, step)
        return np.asarray(step - np.einsum("am,m->a", self.kept, share), np.float32)

    def _towards(self, name: str, difference: NDArray[np.floating]) -> Floats:
        return _unit(self.identity[name][0] @ difference.astype(np.float32))


@once
def step_to_people() -> Floats:
    """Along people's axes, from the mean embedding of generated faces towards people's."""
    with opened(PEOPLE) as stored:
        return np.asarray(stored["step"], np.float32)


def _unit(vector: Floats) -> Floats:
    return np.asarray(vector / max(float(np.linalg.norm(vector)), 1e-9), np.float32)


@once
def control() -> Control:
    """The directions that ship with the package."""
    with opened(DATA) as stored:
        moves = stored["moves"].astype(np.float32)
        identity = {
            name: (slopes.astype(np.float32), mean.astype(np.float32))
            for name, slopes, mean in zip(WATCHING, stored["identity"], stored["identity_mean"], strict=True)
        }
        mesh = stored["mesh"].astype(np.float64)
        kept = stored["kept"].astype(np.float32)
        return Control(moves, stored["mean"], stored["deviation"], mesh, identity, kept)
