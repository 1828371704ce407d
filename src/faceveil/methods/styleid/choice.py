"""Choose targets for a face: few that suit it well at first, then from ever wider choices.

What stays of the source (hair, ears, frame, light) brings a new face nearer to it, so being a stranger is not enough:
of those that suit, the ones further from the source are taken, at random, so that two photos of one person differ, or
as they were dealt out to a set (`deal.py`).
Those that hardly any other resembles are left out: they look odd. Recognisers see children as much alike, and of
some kinds there are few in the pool; a face for which nobody near passes the check rather gets one of another age or
origin than none. A child first gets another child, boy or girl.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from faceveil.methods.styleid.targets import Person, Pool, pool
from faceveil.models.mobilestylegan import Floats
from faceveil.models.recognizers import recognizer

TRIED = 3  # targets of each choice that are rendered, if need be
SKETCHED = 8  # of which they are the best
FEWEST = 8  # targets among which chance decides
STRANGE = 0.1  # share of the pool, the most alone: exaggerated, or in a hard light
CHILD, CHILDREN = 14.0, 16.0  # years under which a source is a child, and under which a target is one for it


class Choice(NamedTuple):
    """Which targets come into question, and how many of them are looked at."""

    most: int
    worse: float  # by how much they may suit worse than the best
    furthest: float  # share of these, from the source; SKETCHED of them are drawn at random
    children: bool = False  # of either gender, and nobody else


CHOICES = (
    Choice(300, 40.0, 0.3),
    Choice(300, 60.0, 0.2),
    Choice(500, 100.0, 0.1),
    Choice(1000, 150.0, 0.02),
)
AMONG_CHILDREN = Choice(500, 150.0, 0.05, children=True)


def shortlists(
    person: Person,
    embeddings: Mapping[str, Floats],
    rng: np.random.Generator,
    dealt: Sequence[int] = (),
) -> Iterator[list[int]]:
    """Of each choice some targets, drawn at random from the furthest; none comes twice. Those `dealt` come first."""
    far, taken = _distances(embeddings), _strange(embeddings)
    for number, choice in enumerate(choices(person)):
        if number == 0 and dealt:
            few = np.array(dealt, np.intp)
        else:
            furthest = _furthest(person, choice, far, taken)
            few = rng.permutation(furthest)[:SKETCHED]
        taken[few] = True
        yield few.tolist()


def suitable(person: Person, embeddings: Mapping[str, Floats]) -> list[int]:
    """All among which the first choice draws."""
    furthest = _furthest(person, choices(person)[0], _distances(embeddings), _strange(embeddings))
    return [int(target) for target in furthest]


def _furthest(
    person: Person, choice: Choice, far: NDArray[np.floating], taken: NDArray[np.bool_]
) -> NDArray[np.intp]:
    """Of those that suit about as well as the best and are not taken, the ones far from the source."""
    unlike = _unlikeness(pool(), person, choice)
    order = np.argsort(unlike, kind="stable")
    order = order[np.isfinite(unlike[order])]
    left = order[~taken[order]]
    enough = max(TRIED, int(np.searchsorted(unlike[left], unlike[order[0]] + choice.worse)))
    return _most(left[: min(choice.most, enough)], far, choice.furthest)


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


def _most(targets: NDArray[np.intp], values: NDArray[np.floating], share: float) -> NDArray[np.intp]:
    """This share of the targets, those with the largest values, and enough to leave something to chance."""
    count = max(FEWEST, round(share * len(targets)))
    return targets[np.argsort(-values[targets], kind="stable")[:count]]


def _strange(names: Iterable[str]) -> NDArray[np.bool_]:
    """The targets that are left out from the first."""
    alone = _alone(names)
    return np.asarray(alone > np.quantile(alone, 1 - STRANGE))


def _alone(names: Iterable[str]) -> NDArray[np.floating]:
    """How far each target is from the others, in thresholds, by these recognisers on average."""
    every = [pool().alone[name] / recognizer(name).threshold for name in pool().known(names)]
    return np.mean(every, axis=0) if every else np.zeros(len(pool()))


def _distances(embeddings: Mapping[str, Floats]) -> NDArray[np.floating]:
    """Of each target to the source, in thresholds, by the recogniser that sees them nearest."""
    every = [
        pool().distances(name, embeddings[name]) / recognizer(name).threshold
        for name in pool().known(embeddings)
    ]
    return np.min(every, axis=0) if every else np.zeros(len(pool()))
