"""A start that follows the data at any size: Ward's merges along a graph of near rows, and groups of k as
they ripen.

Fragments that cost least to merge are merged first, as in Ward's method, but only where near rows connect
them. A fragment that reaches k rows gives a group of exactly k: its larger branch whole, and of the other
branch the rows nearest to it; what is left of that branch goes on as a fragment. Rows whose neighbours have
all gone are connected anew among themselves, and so on until fewer than 2k are left.

Cost: O(n·d·log n) time, about; one copy of the vectors.
"""

import numpy as np
from numpy.typing import NDArray

from faceveil.grouping.arrays import Ints
from faceveil.grouping.compiled import Array, compiled
from faceveil.grouping.halving import halves
from faceveil.grouping.near import Near, near_graph

NEAR = 8
PASSES = 8


def harvest_start(X: NDArray[np.float32], k: int, near: Near, rng: np.random.Generator) -> Ints:
    """⌊n/k⌋ groups, nearly all of exactly k rows; `near` is the graph of all rows."""
    labels = np.full(len(X), -1, dtype=np.int64)
    groups = 0
    left = np.arange(len(X))
    for _ in range(PASSES):
        if len(left) < 2 * k:
            break
        graph = near if len(left) == len(X) else near_graph(X[left], NEAR, rng)
        found = _ripe_groups(X[left], *_pairs(graph[:, :NEAR]), k)
        labels[left] = np.where(found >= 0, found + groups, -1)
        groups += int(found.max(initial=-1)) + 1
        left = left[found < 0]
    if len(left) < k:
        return _join_near(X, labels, left) if len(left) else labels
    for rows in halves(X[left], k, k, rng):
        labels[left[rows]] = groups
        groups += 1
    return labels


def _pairs(near: Near) -> tuple[Ints, Ints]:
    """The pairs of a graph, each once."""
    rows = np.repeat(np.arange(len(near)), near.shape[1])
    others = near.ravel().astype(np.int64)
    rows, others = rows[others >= 0], others[others >= 0]
    pairs = np.unique(np.minimum(rows, others) * len(near) + np.maximum(rows, others))
    return pairs // len(near), pairs % len(near)


def _join_near(X: NDArray[np.float32], labels: Ints, rest: Ints) -> Ints:
    """Each row left over joins the group of the nearest row that has one."""
    settled = np.flatnonzero(labels >= 0)
    for row in rest:
        labels[row] = labels[settled[((X[settled] - X[row]) ** 2).sum(axis=1).argmin()]]
    return labels


def _ripe_groups(X: NDArray[np.float32], one: Ints, other: Ints, k: int) -> Ints:
    """The group of each row, −1 for those that found none."""
    labels = np.full(len(X), -1, dtype=np.int64)
    price = np.empty(len(one), dtype=np.float32)
    for start in range(0, len(one), 65536):
        part = slice(start, start + 65536)
        gap = X[one[part]] - X[other[part]]
        price[part] = np.einsum("ij,ij->i", gap, gap) / 2
    order = np.argsort(price, kind="stable")  # sorted, so already a heap
    ripen(X, X.copy(), one[order], other[order], price[order], labels, k)
    return labels


@compiled
def ripen(X: Array, sums: Array, one: Array, other: Array, price: Array, labels: Array, k: int) -> None:
    """Merge fragments along the pairs (one, other), cheapest first, and label each group that ripens."""
    n = len(X)
    size = np.ones(n, dtype=np.int32)
    fragment = np.empty(n, dtype=np.int32)  # a fragment is called after its first row; −1: in a group
    following = np.empty(n, dtype=np.int32)
    last = np.empty(n, dtype=np.int32)
    for i in range(n):
        fragment[i] = i
        last[i] = i
        following[i] = -1
    edge = np.empty(len(one), dtype=np.int32)
    for e in range(len(one)):
        edge[e] = e
    count = len(edge)
    groups = 0
    while count > 0:
        a = fragment[one[edge[0]]]
        b = fragment[other[edge[0]]]
        if a < 0 or b < 0 or a == b:
            count = _pop(price, edge, count)
            continue
        now = _ward(sums, size, a, b)
        if now > price[0] * 1.0001:
            price[0] = now
            _sink(price, edge, count)
            continue
        count = _pop(price, edge, count)
        if size[b] > size[a]:
            a, b = b, a
        if size[a] + size[b] < k:
            _merge(sums, size, fragment, following, last, a, b)
        else:
            _give(X, sums, size, fragment, following, last, labels, a, b, k, groups)
            groups += 1


@compiled
def _ward(sums: Array, size: Array, a: int, b: int) -> float:
    """What merging two fragments adds to the sum of squares."""
    total = np.float32(0)
    one = np.float32(1) / size[a]
    other = np.float32(1) / size[b]
    for j in range(sums.shape[1]):
        gap = sums[a, j] * one - sums[b, j] * other
        total += gap * gap
    added: float = total * size[a] * size[b] / (size[a] + size[b])
    return added


@compiled
def _sink(price: Array, edge: Array, count: int) -> None:
    at = 0
    while 2 * at + 1 < count:
        child = 2 * at + 1
        if child + 1 < count and price[child + 1] < price[child]:
            child += 1
        if price[at] <= price[child]:
            return
        price[at], price[child] = price[child], price[at]
        edge[at], edge[child] = edge[child], edge[at]
        at = child


@compiled
def _pop(price: Array, edge: Array, count: int) -> int:
    price[0] = price[count - 1]
    edge[0] = edge[count - 1]
    _sink(price, edge, count - 1)
    return count - 1


@compiled
def _merge(sums: Array, size: Array, fragment: Array, following: Array, last: Array, a: int, b: int) -> None:
    """Fragment b becomes part of a."""
    row = b
    while row >= 0:
        fragment[row] = a
        row = following[row]
    following[last[a]] = b
    last[a] = last[b]
    size[a] += size[b]
    for j in range(sums.shape[1]):
        sums[a, j] += sums[b, j]


@compiled
def _give(
    X: Array,
    sums: Array,
    size: Array,
    fragment: Array,
    following: Array,
    last: Array,
    labels: Array,
    a: int,
    b: int,
    k: int,
    group: int,
) -> None:
    """A group of all of a and the k − |a| rows of b nearest to its mean; the rest of b stays a fragment."""
    rows = np.empty(size[b], dtype=np.int32)
    far = np.empty(size[b], dtype=np.float32)
    row = b
    for t in range(size[b]):
        rows[t] = row
        far[t] = 0
        for j in range(X.shape[1]):
            gap = X[row, j] - sums[a, j] / size[a]
            far[t] += gap * gap
        row = following[row]
    row = a
    while row >= 0:
        labels[row] = group
        fragment[row] = -1
        row = following[row]
    taken = k - size[a]
    for t in range(taken):  # nearest first
        nearest = t
        for s in range(t + 1, len(rows)):
            if far[s] < far[nearest]:
                nearest = s
        rows[t], rows[nearest] = rows[nearest], rows[t]
        far[t], far[nearest] = far[nearest], far[t]
        labels[rows[t]] = group
        fragment[rows[t]] = -1
    _refound(X, sums, size, fragment, following, last, rows, taken)


@compiled
def _refound(
    X: Array,
    sums: Array,
    size: Array,
    fragment: Array,
    following: Array,
    last: Array,
    rows: Array,
    begin: int,
) -> None:
    """The rows from `begin` on as a fragment of their own."""
    if begin == len(rows):
        return
    first = rows[begin]
    for j in range(X.shape[1]):
        sums[first, j] = 0
    for t in range(begin, len(rows)):
        fragment[rows[t]] = first
        following[rows[t]] = rows[t + 1] if t + 1 < len(rows) else -1
        for j in range(X.shape[1]):
            sums[first, j] += X[rows[t], j]
    size[first] = len(rows) - begin
    last[first] = rows[len(rows) - 1]
