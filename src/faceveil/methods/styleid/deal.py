"""Deal targets out to the faces of a set, so that new faces differ from each other as people do.

Chosen for each face alone, targets of one kind lie close together: to recognisers they are fewer people than the
originals were, and two photos of one person become two of one other. So each face in turn takes, of those that suit
it, any of the half around which the fewest were taken before (the one with the very fewest is an odd face: nobody is
like it); and first of all one unlike those of the same person's other photos, further from them than a stranger,
since hair, outline and surroundings stay and are alike in both.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from faceveil.methods.styleid.choice import SKETCHED, TRIED
from faceveil.methods.styleid.targets import Pool, pool
from faceveil.models.mobilestylegan import Floats
from faceveil.models.recognizers import recognizer

NEAR = 0.4  # thresholds within which a target crowds another
UNLIKE = 0.04  # share of the suitable targets, those most unlike what the person's other photos were dealt
LEAST = 4  # of these
Ints = NDArray[np.int64]


def dealt(
    suitable: Sequence[Ints], people: Sequence[int], recognizers: Sequence[str], rng: np.random.Generator
) -> list[tuple[int, ...]]:
    """Of each face's suitable targets a few, one each time round; `people` says whom each face shows.

    Turns are taken at random; the pool is looked at once a target.
    """
    recognizers = pool().known(recognizers)
    crowd, taken = np.zeros(len(pool())), np.zeros(len(pool()), bool)
    hands: list[list[int]] = [[] for _ in suitable]
    persons = {person: Hands(recognizers) for person in people}
    for turn in range(SKETCHED):
        for face in rng.permutation(len(suitable)):
            if turn >= most(people, people[face]):
                continue
            left = rng.permutation(np.setdiff1d(suitable[face], hands[face]))
            left = left[~taken[left]] if not taken[left].all() else left
            left = persons[people[face]].most_unlike(left, hands[face])
            if len(left):
                target = int(left[crowd[left] <= np.median(crowd[left])][0])
                hands[face].append(target)
                taken[target] = True
                persons[people[face]].add(target)
                crowd += nearness(pool(), target, recognizers)
    return [tuple(hand) for hand in hands]


def most(people: Sequence[int], person: int) -> int:
    """How many targets a face is dealt: fewer where its person has other photos, since of many the same kind would
    promise most for each, and they would become alike."""
    return SKETCHED if list(people).count(person) == 1 else TRIED


class Hands:
    """What all photos of one person were dealt: its mean is enough, however many there are."""

    def __init__(self, recognizers: Sequence[str]) -> None:
        self.count = 0
        self.totals = {name: np.zeros(128) for name in recognizers}

    def add(self, target: int) -> None:
        self.count += 1
        for name, total in self.totals.items():
            total += pool().embeddings[name][target]

    def most_unlike(self, those: Ints, own: Sequence[int]) -> Ints:
        """Of those the ones furthest from the mean of what the other photos have; `own` is this photo's."""
        if self.count == len(own):
            return those
        far = np.zeros(len(those), np.float32)
        for name, total in self.totals.items():
            judge, vectors = recognizer(name), pool().embeddings[name]
            middle = (total - vectors[list(own)].sum(axis=0)) / (self.count - len(own))
            far += judge.distance(vectors[those], middle.astype(np.float32)) / judge.threshold
        return those[np.argsort(-far, kind="stable")[: max(LEAST, round(UNLIKE * len(those)))]]


def nearness(targets: Pool, target: int, recognizers: Sequence[str]) -> Floats:
    """How much each target crowds this one: 1 for each recogniser that sees the two alike, falling to 0."""
    total = np.zeros(len(targets), np.float32)
    for name in recognizers:
        far = targets.distances(name, targets.embeddings[name][target]) / recognizer(name).threshold
        total += np.exp(-((far / NEAR) ** 2))
    return total
