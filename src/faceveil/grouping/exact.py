"""The best partition of a dozen rows, found by looking at all of them.

A group of 2k rows or more can be split without loss, so only sizes k…2k−1 matter. Dynamic programming over
subsets: O(3ⁿ) time, O(2ⁿ) memory.
"""

import numpy as np

from faceveil.grouping.compiled import Array, compiled_exactly

MOST_ROWS = 12


@compiled_exactly
def best_partition(gram: Array, weights: Array, people: Array, k: int) -> Array:
    """The label of each row in the partition with the least (weighted) sum of squares."""
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
    """The sum of squares of each subset; infinite where its size or a person twice forbids it."""
    n = len(gram)
    cost = np.full(1 << n, np.inf)
    member = np.empty(n, dtype=np.int64)
    for rows in range(1, 1 << n):
        size = 0
        for i in range(n):
            if rows >> i & 1:
                member[size] = i
                size += 1
        if size < k or size >= 2 * k:
            continue
        square = 0.0
        norm = 0.0
        weight = 0.0
        twice = False
        for s in range(size):
            i = member[s]
            weight += weights[i]
            square += weights[i] * gram[i, i]
            for t in range(size):
                j = member[t]
                norm += weights[i] * weights[j] * gram[i, j]
                twice |= s != t and people[i] == people[j]
        if not twice:
            cost[rows] = square - norm / weight
    return cost
