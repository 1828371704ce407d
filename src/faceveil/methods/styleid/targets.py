"""Targets: a shipped pool of generated faces of nobody, measured, from which each source gets one that suits it.

`training/pool.py` draws, measures and filters them: as many of each gender, age and origin.
"""

from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from faceveil.methods.styleid.looks import traits
from faceveil.models.attrnet import INPUT_SIZE, AttrNet
from faceveil.models.mobilestylegan import Floats
from faceveil.models.recognizers import RECOGNIZERS, recognizer
from faceveil.models.runtime import once
from faceveil.models.wspace import w_space

DATA = Path(__file__).with_name("data") / "targets.npz"
NUMBERS = ("looks", "age", "female", "skin", "expression", "shade")
ORIGINS = ("ethnicity White", "ethnicity Black", "ethnicity Asian", "ethnicity Indian")
LABELS = (  # of AttrNet's, what is kept of each face
    *ORIGINS,
    *("female", "age under 18", "age 60 and over", "glasses", "facial hair", "bald", "grey hair", "hat"),
)
EMBEDDING_STEPS = 127.0  # embeddings are stored as bytes of the largest value

SURE = 0.85  # of a target's gender, so that no later step can tip it
# What one unit of unlikeness is: looks in the order of looks.NAMES, which can be moved, and what can less.
LOOKS_UNIT = np.array([10.0, 8.0, 0.07, 0.07, 0.025, 0.015, 0.07, 0.07])
AGE_UNIT, SKIN_UNIT, EXPRESSION_UNIT, SHADE_UNIT = 2.5, 20.0, 0.25, 0.1  # skin is recoloured anyway
FAR = 3.0  # units of age from which unlikeness grows linearly
LABEL_UNIT = np.array(
    [0.15] * 4 + [0.2, 0.3, 0.3, 0.2, 0.4, 0.3, 0.4, np.inf]
)  # of LABELS; no target wears a hat


@dataclass(frozen=True, eq=False)
class Person:
    """What a target must suit: measured of the source."""

    looks: NDArray[np.float64]  # 8, of looks.NAMES
    age: float
    female: float  # probability
    skin: float  # typology angle; NaN in a grey photo
    expression: NDArray[np.float32]  # 7 probabilities
    shade: float  # of the lower face: beards
    labels: NDArray[np.float32]  # probabilities of LABELS

    @property
    def covered(self) -> bool:
        """By a hat or a scarf, or bald, as AttrNet sees it: no hair of another goes with that."""
        return bool(max(self.labels[LABELS.index(name)] for name in ("hat", "bald")) > 0.5)

    @property
    def traits(self) -> NDArray[np.float64]:
        """In the order of looks.TRAITS."""
        return traits(self.looks, self.age, self.expression)


@dataclass(frozen=True, eq=False)
class Pool:
    """N generated faces; rows of all arrays go together."""

    w: Floats  # N × 512
    looks: NDArray[np.float64]  # N × 8
    age: NDArray[np.float64]
    female: NDArray[np.float64]
    skin: NDArray[np.float64]
    expression: NDArray[np.float64]  # N × 7
    shade: NDArray[np.float64]
    labels: NDArray[np.float64]  # N × LABELS
    embeddings: dict[str, Floats]  # recogniser id → N × 128

    def __len__(self) -> int:
        return len(self.w)

    @property
    def origin(self) -> NDArray[np.float64]:
        """N × 4, of ORIGINS."""
        return self.labels[:, : len(ORIGINS)]

    def traits(self, target: int) -> NDArray[np.float64]:
        """Of one target, in the order of looks.TRAITS."""
        return traits(self.looks[target], self.age[target], self.expression[target])

    def unlikeness(self, source: Person) -> NDArray[np.float64]:
        """How badly each target suits: squared differences in the units above; infinite for the other gender."""
        total = (((self.looks - source.looks) / LOOKS_UNIT) ** 2).sum(axis=1)
        total += _squared_then_linear((self.age - source.age) / AGE_UNIT)
        total += ((self.shade - source.shade) / SHADE_UNIT) ** 2
        total += ((self.expression - source.expression) ** 2).sum(axis=1) / EXPRESSION_UNIT**2
        total += (((self.labels - source.labels) / LABEL_UNIT) ** 2).sum(axis=1)
        if not np.isnan(source.skin):
            total += ((self.skin - source.skin) / SKIN_UNIT) ** 2
        same = self.female > SURE if source.female > 0.5 else self.female < 1 - SURE
        total[~same] = np.inf
        return np.asarray(total)

    def distances(self, name: str, embedding: Floats) -> NDArray[np.float32]:
        """Of each target to an embedding, by the recogniser of that id."""
        return recognizer(name).distance(self.embeddings[name], embedding)


def _squared_then_linear(steps: NDArray[np.float64]) -> NDArray[np.float64]:
    """Huber's loss: what is far off anyway must not outweigh everything else."""
    size = np.abs(steps)
    return np.asarray(np.where(size < FAR, size**2, 2 * FAR * size - FAR**2))


def labels(crop: NDArray[np.uint8]) -> NDArray[np.float32]:
    """What AttrNet sees in a face of FFHQ's alignment, in the order of LABELS."""
    if crop.shape[0] < INPUT_SIZE:
        crop = np.asarray(
            cv2.resize(crop, (INPUT_SIZE, INPUT_SIZE), interpolation=cv2.INTER_LINEAR), np.uint8
        )
    net = _attrnet()
    return net.read(crop[None])[0, [net.labels.index(name) for name in LABELS]]


@once
def _attrnet() -> AttrNet:
    return AttrNet()


@once
def pool() -> Pool:
    """The pool that ships with the package."""
    with np.load(DATA) as stored:
        scales, steps = stored["embedding_scale"], stored["embeddings"]
        vectors = {
            name: np.asarray(steps[:, number] * (scales[number] / EMBEDDING_STEPS), np.float32)
            for number, name in enumerate(RECOGNIZERS)
        }
        numbers = {name: stored[name].astype(np.float64) for name in NUMBERS}
        return Pool(
            w=w_space().unwhiten(stored["coordinates"].astype(np.float32)),
            labels=stored["labels"] / 255.0,
            embeddings=vectors,
            **numbers,
        )
