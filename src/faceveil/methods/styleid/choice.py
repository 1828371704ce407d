"""Choose targets for a face: few that suit it well at first, then from ever wider choices.

What stays of the source (hair, outline, light) brings a swapped face nearer to it, so being a stranger is not
enough: of those that suit, the ones furthest from the source are taken. Recognisers see children as much alike, and
of some kinds there are few in the pool; a face for which nobody near passes the check rather gets one of another age
or origin than none. A child first gets another child, boy or girl.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from faceveil.methods.styleid.targets import Person, Pool, pool
from faceveil.models.mobilestylegan import Floats
from faceveil.models.recognizers import recognizer

TRIED = 3  # targets of each choice that are rendered, if need be
CHILD, CHILDREN = 14.0, 16.0  # years under which a source is a child, and under which a target is one for it


class Choice(NamedTuple):
    """Which targets come into question, and how many of them are looked at."""

    most: int
    worse: float  # by how much they may suit worse than the best
    furthest: int  # of these, from the source
    sketched: int  # of these, drawn at random
    children: bool = False  # of either gender, and nobody else


CHOICES = (
    Choice(100, 15.0, 8, TRIED),
    Choice(200, 40.0, 8, TRIED),
    Choice(500, 100.0, 16, 8),
    Choice(1000, 150.0, 16, 8),
)
AMONG_CHILDREN = Choice(500, 150.0, 16, 8, children=True)


def shortlists(
    person: Person, embeddings: Mapping[str, Floats], rng: np.random.Generator
) -> Iterator[list[int]]:
    """Of each choice some targets, drawn at random from the furthest; none comes twice."""
    far, taken = _distances(embeddings), np.zeros(len(pool()), bool)
    for choice in choices(person):
        unlike = _unlikeness(pool(), person, choice)
        order = np.argsort(unlike, kind="stable")
        order = order[np.isfinite(unlike[order])]
        left = order[~taken[order]]
        enough = max(TRIED, int(np.searchsorted(unlike[left], unlike[order[0]] + choice.worse)))
        best = left[: min(choice.most, enough)]
        furthest = best[np.argsort(-far[best], kind="stable")[: choice.furthest]]
        few = rng.permutation(furthest)[: choice.sketched]
        taken[few] = True
        yield few.tolist()


def choices(person: Person) -> tuple[Choice, ...]:
    """In the order to try them."""
    first, second, third, last = CHOICES
    return first, second, AMONG_CHILDREN if person.age < CHILD else third, last


def _unlikeness(targets: Pool, person: Person, choice: Choice) -> NDArray[np.float64]:
    unlike = targets.unlikeness(person)
    if choice.children:
        unlike = np.minimum(unlike, targets.unlikeness(replace(person, female=1 - person.female)))
        unlike[targets.age >= CHILDREN] = np.inf
    return unlike


def _distances(embeddings: Mapping[str, Floats]) -> NDArray[np.floating]:
    """Of each target to the source, in thresholds, by the recogniser that sees them nearest."""
    every = [
        pool().distances(name, embedding) / recognizer(name).threshold
        for name, embedding in embeddings.items()
    ]
    return np.min(every, axis=0) if every else np.zeros(len(pool()))
