"""How good a partition is: the figures that AnonFACES reports (section 3.3 and definition 3.2)."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from faceveil.grouping.arrays import Ints

BLOCK = 8192


class Pairwise(NamedTuple):
    """Distances between the members of a group: each figure of each group, averaged over the groups."""

    min: float
    mean: float
    max: float


def group_means(X: NDArray[Any], labels: Ints) -> NDArray[np.float64]:
    """The mean vector of each group, in float64."""
    order = np.argsort(labels, kind="stable")
    starts = np.flatnonzero(np.diff(labels[order], prepend=-1))
    counts = np.bincount(labels)
    means = np.empty((len(counts), X.shape[1]))
    for first in range(0, len(counts), BLOCK):
        last = min(first + BLOCK, len(counts))
        rows = order[starts[first] : starts[last] if last < len(counts) else len(order)]
        means[first:last] = np.add.reduceat(X[rows].astype(np.float64), starts[first:last] - starts[first])
    return means / counts[:, None]


def squared_distances_to_means(X: NDArray[Any], labels: Ints) -> NDArray[np.float64]:
    """The squared distance of each row to its group's mean."""
    means = group_means(X, labels)
    squared = np.empty(len(X))
    for start in range(0, len(X), BLOCK):
        rows = slice(start, start + BLOCK)
        gap = X[rows] - means[labels[rows]]
        squared[rows] = np.einsum("ij,ij->i", gap, gap)
    return squared


def information_loss(X: NDArray[Any], labels: Ints) -> float:
    """Mean Euclidean distance of each row to its group's mean."""
    return float(np.sqrt(squared_distances_to_means(X, labels)).mean()) if len(X) else 0.0


def sum_of_squares(X: NDArray[Any], labels: Ints) -> float:
    """Within-group sum of squared distances to the mean: what `best` minimises."""
    return float(squared_distances_to_means(X, labels).sum())


def weighted_loss(X: NDArray[Any], labels: Ints, weights: NDArray[np.float64]) -> float:
    """Σ w·|x − mean| where each row stands for as many photos as its weight."""
    totals = np.bincount(labels, weights)
    means = group_means(X * weights[:, None], labels) * (np.bincount(labels) / totals)[:, None]
    return float((weights * np.sqrt(((X - means[labels]) ** 2).sum(axis=1))).sum())


def pairwise(X: NDArray[Any], labels: Ints) -> Pairwise:
    """Min, mean and max distance between two members, per group, then averaged over groups of two or more."""
    from scipy.spatial.distance import pdist

    order = np.argsort(labels, kind="stable")
    members = np.split(order, np.cumsum(np.bincount(labels))[:-1]) if len(labels) else []
    rows = [(d.min(), d.mean(), d.max()) for d in (pdist(X[m]) for m in members if len(m) > 1)]
    return Pairwise(*(float(v) for v in np.mean(rows, axis=0))) if rows else Pairwise(0.0, 0.0, 0.0)


def silhouette(X: NDArray[Any], labels: Ints) -> float:
    """Mean silhouette, block by block; 0 for a single group, and 0 for a row alone in its group."""
    from scipy.spatial.distance import cdist

    counts = np.bincount(labels)
    if len(counts) < 2:
        return 0.0
    indicator = np.zeros((len(X), len(counts)), dtype=np.float32)
    indicator[np.arange(len(X)), labels] = 1.0
    total = 0.0
    for start in range(0, len(X), 1024):
        own = labels[start : start + 1024]
        sums = cdist(X[start : start + 1024], X) @ indicator
        here = np.arange(len(own))
        inside = sums[here, own] / np.maximum(counts[own] - 1, 1)
        outside = sums / counts
        outside[here, own] = np.inf
        nearest = outside.min(axis=1)
        widest = np.maximum(inside, nearest)
        score = np.divide(nearest - inside, widest, out=np.zeros_like(widest), where=widest > 0)
        total += float(score[counts[own] > 1].sum())
    return total / len(X)
