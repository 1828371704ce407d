"""The best partition of a dozen rows, found by looking at all of them.

Dynamic programming over subsets: O(3ⁿ) time, O(2ⁿ) memory.
"""

from typing import TYPE_CHECKING

import numpy as np

from faceveil.grouping.arrays import Ints
from faceveil.grouping.compiled import Array, compiled_exactly
from faceveil.grouping.one_dimension import best_runs

if TYPE_CHECKING:
    from faceveil.grouping.grouper import Units

MOST_ROWS = 12


def exact_labels(units: "Units", k: int) -> Ints | None:
    """The optimum itself, for a dozen rows and for numbers on a line; None for everything else."""
    if len(units) <= MOST_ROWS:
        wide = units.X - units.X.mean(axis=0, dtype=np.float64)
        return np.asarray(best_partition(wide @ wide.T, units.weights, units.people, k))
    if units.X.shape[1] > 1 or units.repeated:
        return None
    values = (units.X - units.X.mean(axis=0, dtype=np.float64)).sum(axis=1)
    order = np.argsort(values, kind="stable")
    labels = np.empty(len(units), dtype=np.int64)
    labels[order] = best_runs(values[order], units.weights[order], k)
    return labels


@compiled_exactly
def best_partition(gram: Array, weights: Array, people: Array, k: int) -> Array:
    """The label of each row in the partition with the least (weighted) information loss."""
    n = len(gram)
    cost = _costs(gram, weights, people, k)
    total = np.full(1 << n, np.inf)
    choice = np.zeros(1 << n, dtype=np.int64)
    total[0] = 0.0
    for rows in range(1, 1 << n):
        lowest = rows & -rows
        group = rows
        while group > 0:  # every subset that holds the lowest row
            if group & lowest and cost[group] + total[rows ^ group] < total[rows]:
                total[rows] = cost[group] + total[rows ^ group]
                choice[rows] = group
            group = (group - 1) & rows
    labels = np.full(n, -1, dtype=np.int64)
    rows = (1 << n) - 1
    label = 0
    while rows > 0:
        for i in range(n):
            if choice[rows] >> i & 1:
                labels[i] = label
        rows ^= choice[rows]
        label += 1
    return labels


@compiled_exactly
def _costs(gram: Array, weights: Array, people: Array, k: int) -> Array:
    """The loss of each subset; infinite where its size or a person twice forbids it."""
    n = len(gram)
    cost = np.full(1 << n, np.inf)
    member = np.empty(n, dtype=np.int64)
    for rows in range(1, 1 << n):
        size = 0
        for i in range(n):
            if rows >> i & 1:
                member[size] = i
                size += 1
        if size >= k and not _twice(people, member[:size]):
            cost[rows] = _loss(gram, weights, member[:size])
    return cost


@compiled_exactly
def _twice(people: Array, member: Array) -> bool:
    for s in range(len(member)):
        for t in range(s):
            if people[member[s]] == people[member[t]]:
                return True
    return False


@compiled_exactly
def _loss(gram: Array, weights: Array, member: Array) -> float:
    """Σ w·|x − mean|, from products alone."""
    product = np.zeros(len(member))  # x · S
    S2 = 0.0
    W = 0.0
    for s in range(len(member)):
        for t in range(len(member)):
            product[s] += weights[member[t]] * gram[member[s], member[t]]
        S2 += weights[member[s]] * product[s]
        W += weights[member[s]]
    total = 0.0
    for s in range(len(member)):
        square = gram[member[s], member[s]] - 2 * product[s] / W + S2 / (W * W)
        total += weights[member[s]] * np.sqrt(max(square, 0.0))
    return total
