"""Where the search for small data also begins: groups of k to 2k−1 rows out of Ward's tree."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from faceveil.grouping.arrays import Ints
from faceveil.grouping.halving import halves


def tree_start(X: NDArray[Any], k: int, rng: np.random.Generator) -> Ints:
    """Groups as Ward's tree has them, which follow the clusters of the data where there are any. O(n²·d).

    From below: two branches of less than k rows each make a group once they hold k together; a branch of less
    than k beside a larger one joins its nearest group there; groups of 2k or more are halved.
    """
    from faceveil.grouping.hierarchical import merge_tree

    n = len(X)
    below: list[list[Ints]] = [[np.array([row])] for row in range(n)]
    for a, b in merge_tree(X, "ward"):
        below.append(_merge(X, below[a], below[b], k))
        below[a] = below[b] = []
    labels = np.empty(n, dtype=np.int64)
    label = 0
    for group in below[-1]:
        for piece in halves(X[group], k, k, rng):
            labels[group[piece]] = label
            label += 1
    return labels


def _merge(X: NDArray[Any], one: list[Ints], other: list[Ints], k: int) -> list[Ints]:
    """The groups of two branches; a branch that is one group of less than k rows is not yet a group."""
    small, large = sorted((one, other), key=lambda groups: sum(map(len, groups)))
    if len(small[0]) >= k:
        return small + large
    if len(large) == 1 and len(large[0]) < k:
        return [np.concatenate([small[0], large[0]])]
    means = np.array([X[group].mean(axis=0) for group in large])
    nearest = int(((means - X[small[0]].mean(axis=0)) ** 2).sum(axis=1).argmin())
    return [np.concatenate([g, small[0]]) if i == nearest else g for i, g in enumerate(large)]
