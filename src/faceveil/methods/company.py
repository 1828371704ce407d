"""Company: what a method that protects face by face may know of the others in a set.

A run over a set looks at everybody first and then gives each face its company. Nothing of it is published.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Embeddings = Mapping[str, Floats]  # recogniser → embedding of one face
BY_CHANCE = 0.05  # how often, at most, a stranger may come too near to somebody of the set


@dataclass(frozen=True)
class Profile:
    """What everybody sees in a face and many people share."""

    age: float
    female: float  # probability
    shade: float  # of the lower face: beards


@dataclass(frozen=True, eq=False)
class Met:
    """What is remembered of one original face while the run lasts."""

    embeddings: Embeddings
    profile: Profile
    suitable: tuple[int, ...] = ()  # targets among which the method would draw


@dataclass(frozen=True, eq=False)
class Company:
    """Who else there is, and what this face shall become."""

    others: Mapping[str, Floats] = field(default_factory=dict)  # recogniser → rows: everybody else's faces
    people: int = 1  # in the set
    profile: Profile | None = None  # to take on instead of the face's own
    dealt: tuple[int, ...] = ()  # targets to try before the method's own choice
    targets: tuple[int, ...] | None = None  # to try instead of the method's own choice
    tried: int = 0  # targets of this person that were tried before
    cover: bool = False  # do not try, cover it

    def apart(self, embeddings: Embeddings) -> bool:
        """Whether a new face is no nearer to anybody else than strangers are."""
        return not any(
            too_near(name, embeddings[name], others, self.people).any()
            for name, others in self.others.items()
        )


def too_near(name: str, embedding: Floats, others: Floats, people: int) -> NDArray[np.bool_]:
    """Which of these faces a recogniser finds nearer than chance, in a set of so many people.

    A stranger is near to one of n people n times as often as to one, so the false-match rate that counts falls
    with n: most new faces of nobody shall come through. (Like people are near more often than the rate says.)
    """
    from faceveil.models.recognizers import recognizer  # most methods never ask

    judge = recognizer(name)
    rates = sorted(judge.operating.at_rate, reverse=True)
    rate = next((rate for rate in rates if rate * people <= BY_CHANCE), rates[-1])
    return np.asarray(judge.distance(others, embedding) < judge.operating.at_rate[rate])
