"""Deal targets out to the faces of a set, so that new faces differ from each other as people do.

Chosen for each face alone, targets of one kind lie close together: to recognisers they are fewer people than the
originals were. So each face in turn takes, of those that suit it, the targets around which the fewest were
taken before.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from faceveil.methods.styleid.choice import TRIED
from faceveil.methods.styleid.targets import Pool, pool
from faceveil.models.mobilestylegan import Floats
from faceveil.models.recognizers import recognizer

NEAR = 0.4  # thresholds within which a target crowds another


def dealt(
    suitable: Sequence[NDArray[np.int64]], recognizers: Sequence[str], rng: np.random.Generator
) -> list[tuple[int, ...]]:
    """Of each face's suitable targets a few. The turns are taken at random; the pool is looked at once a target."""
    crowd = np.zeros(len(pool()))
    hands: list[tuple[int, ...]] = [()] * len(suitable)
    for face in rng.permutation(len(suitable)):
        those = rng.permutation(suitable[face])  # chance decides between equals
        taken = those[np.argsort(crowd[those], kind="stable")[:TRIED]]
        hands[face] = tuple(taken.tolist())
        for target in taken:
            crowd += nearness(pool(), int(target), recognizers)
    return hands


def nearness(targets: Pool, target: int, recognizers: Sequence[str]) -> Floats:
    """How much each target crowds this one: 1 for each recogniser that sees the two alike, falling to 0."""
    total = np.zeros(len(targets), np.float32)
    for name in recognizers:
        far = targets.distances(name, targets.embeddings[name][target]) / recognizer(name).threshold
        total += np.exp(-((far / NEAR) ** 2))
    return total
