"""Targets: a shipped pool of generated faces of nobody, measured, from which each source gets one that suits it.

`training/targets.py` draws, measures and filters them.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from faceveil.models.mobilestylegan import Floats
from faceveil.models.recognizers import RECOGNIZERS, recognizer
from faceveil.models.wspace import w_space

DATA = Path(__file__).with_name("data") / "targets.npz"
EMBEDDING_STEPS = 127.0  # embeddings are stored as bytes of the largest value

# What one unit of unlikeness is: looks in the order of looks.NAMES, then age in years and skin in degrees.
LOOKS_UNIT = np.array([8.0, 6.0, 0.06, 0.06, 0.02, 0.012, 0.05, 0.05])
AGE_UNIT, SKIN_UNIT, SMILE_UNIT, SHADE_UNIT = 6.0, 10.0, 0.4, 0.1
SURE_OF_GENDER = 0.5


@dataclass(frozen=True, eq=False)
class Person:
    """What a target must suit: measured of the source."""

    looks: NDArray[np.float64]  # 8, of looks.NAMES
    age: float
    female: float
    skin: float  # NaN in a grey photo
    smile: float
    shade: float  # of the lower face: beards


@dataclass(frozen=True, eq=False)
class Pool:
    """N generated faces; rows of all arrays go together."""

    w: Floats  # N × 512
    looks: NDArray[np.float64]  # N × 8
    age: NDArray[np.float64]
    female: NDArray[np.float64]
    skin: NDArray[np.float64]
    smile: NDArray[np.float64]
    shade: NDArray[np.float64]
    embeddings: dict[str, Floats]  # recogniser id → N × 128

    def __len__(self) -> int:
        return len(self.w)

    def unlikeness(self, source: Person) -> NDArray[np.float64]:
        """How badly each target suits: squared differences in the units above; infinite for the other gender."""
        total = (((self.looks - source.looks) / LOOKS_UNIT) ** 2).sum(axis=1)
        total += ((self.age - source.age) / AGE_UNIT) ** 2
        total += ((self.smile - source.smile) / SMILE_UNIT) ** 2
        total += ((self.shade - source.shade) / SHADE_UNIT) ** 2
        if not np.isnan(source.skin):
            total += ((self.skin - source.skin) / SKIN_UNIT) ** 2
        total[(self.female > SURE_OF_GENDER) != (source.female > SURE_OF_GENDER)] = np.inf
        return np.asarray(total)

    def distances(self, name: str, embedding: Floats) -> NDArray[np.float32]:
        """Of each target to an embedding, by the recogniser of that id."""
        return recognizer(name).distance(self.embeddings[name], embedding)


@cache
def pool() -> Pool:
    """The pool that ships with the package."""
    with np.load(DATA) as stored:
        scales = stored["embedding_scale"]
        return Pool(
            w_space().unwhiten(stored["coordinates"].astype(np.float32)),
            *(stored[name].astype(np.float64) for name in ("looks", "age", "female", "skin", "smile", "shade")),
            {
                name: stored["embeddings"][:, number].astype(np.float32) * (scales[number] / EMBEDDING_STEPS)
                for number, name in enumerate(RECOGNIZERS)
            },
        )
