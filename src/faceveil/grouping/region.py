"""A partition of a large region, in the form that needs no preparation: vectors, and the sums of the groups.

As in state.py the cost of a group is Σ w|x|² − |S|²/W with S = Σ w·x and W = Σ w. Here inner products are
formed when a price is asked for, so that a region may hold many times the rows of a block.
"""

from typing import NamedTuple

import numpy as np

from faceveil.grouping.compiled import Array, compiled

NEVER = 1e30  # a price nobody pays; finite, since compiled code takes every number to be so


class Region(NamedTuple):
    """Rows, groups, and their sums."""

    X: Array
    weights: Array  # w of each row
    squares: Array  # w²|x|²
    near: Array  # near rows of each row, −1 where there are fewer
    beside: Array  # near groups of each group, as they stood at first
    labels: Array  # the group of each row
    member: Array  # member[g, :size[g]] are the rows of group g
    place: Array  # where a row stands in its group
    size: Array
    S: Array  # Σ w·x of each group
    S2: Array  # |S|²
    W: Array  # Σ w


@compiled
def survey(X: Array, weights: Array, near: Array, beside: Array, labels: Array, most: int) -> Region:
    """The region of `labels`, which it goes on to change in place; no group will hold more than `most`."""
    n = len(X)
    groups = len(beside)
    region = Region(
        X,
        weights,
        np.empty(n, dtype=np.float32),
        near,
        beside,
        labels,
        np.full((groups, most), -1, dtype=np.int32),
        np.empty(n, dtype=np.int32),
        np.zeros(groups, dtype=np.int32),
        np.zeros((groups, X.shape[1]), dtype=np.float32),
        np.zeros(groups),
        np.zeros(groups),
    )
    for x in range(n):
        region.squares[x] = weights[x] * weights[x] * dot(X, x, X, x)
        _enter(region, x, labels[x])
    for g in range(groups):
        region.S2[g] = dot(region.S, g, region.S, g)
    return region


@compiled
def dot(one: Array, i: int, other: Array, j: int) -> float:
    """The inner product of row i of one array and row j of another."""
    total = np.float32(0)
    for t in range(one.shape[1]):
        total += one[i, t] * other[j, t]
    return float(total)


@compiled
def quick_means(X: Array, labels: Array, groups: int) -> Array:
    """The mean of each group, in the precision of X."""
    means = np.zeros((groups, X.shape[1]), dtype=X.dtype)
    size = np.zeros(groups, dtype=np.int64)
    for i in range(len(X)):
        size[labels[i]] += 1
        for t in range(X.shape[1]):
            means[labels[i], t] += X[i, t]
    for g in range(groups):
        for t in range(X.shape[1]):
            means[g, t] /= size[g]
    return means


@compiled
def spread(region: Region) -> float:
    """The mean cost of a row."""
    total = 0.0
    for x in range(len(region.X)):
        total += region.squares[x] / region.weights[x]
    for g in range(len(region.W)):
        if region.size[g] > 0:
            total -= region.S2[g] / region.W[g]
    return max(total, 0.0) / len(region.X)


@compiled
def exchange(region: Region, x: int, partner: int, B: int) -> None:
    """Row x goes to group B and `partner` (−1: nobody) comes from there."""
    A = region.labels[x]
    _leave(region, x, A)
    if partner >= 0:
        _leave(region, partner, B)
        _enter(region, partner, A)
    _enter(region, x, B)
    region.S2[A] = dot(region.S, A, region.S, A)
    region.S2[B] = dot(region.S, B, region.S, B)


@compiled
def _enter(region: Region, x: int, g: int) -> None:
    w = region.weights[x]
    region.member[g, region.size[g]] = x
    region.place[x] = region.size[g]
    region.size[g] += 1
    region.labels[x] = g
    region.W[g] += w
    for t in range(region.X.shape[1]):
        region.S[g, t] += w * region.X[x, t]


@compiled
def _leave(region: Region, x: int, g: int) -> None:
    w = region.weights[x]
    region.size[g] -= 1
    last = region.member[g, region.size[g]]
    region.member[g, region.place[x]] = last
    region.place[last] = region.place[x]
    region.W[g] -= w
    for t in range(region.X.shape[1]):
        region.S[g, t] -= w * region.X[x, t]
