"""The best partition of numbers on a line.

S. L. Hansen and S. Mukherjee, "A polynomial algorithm for optimal univariate microaggregation", IEEE TKDE
15(4), 2003: in the optimum each group is a run of the sorted values, of k to 2k−1 rows, and the runs are a
shortest path. O(n·log n + n·k) time, O(n) memory.
"""

import numpy as np

from faceveil.grouping.compiled import Array, compiled_exactly


@compiled_exactly
def best_runs(values: Array, weights: Array, k: int) -> Array:
    """The run of each of the sorted `values`, numbered from 0."""
    n = len(values)
    weight = np.zeros(n + 1)
    first = np.zeros(n + 1)
    second = np.zeros(n + 1)
    for i in range(n):
        weight[i + 1] = weight[i] + weights[i]
        first[i + 1] = first[i] + weights[i] * values[i]
        second[i + 1] = second[i] + weights[i] * values[i] ** 2
    total = np.full(n + 1, np.inf)
    total[0] = 0.0
    begin = np.zeros(n + 1, dtype=np.int64)
    for end in range(k, n + 1):
        for start in range(max(0, end - 2 * k + 1), end - k + 1):
            moment = first[end] - first[start]
            cost = second[end] - second[start] - moment**2 / (weight[end] - weight[start])
            if total[start] + cost < total[end]:
                total[end] = total[start] + cost
                begin[end] = start
    labels = np.empty(n, dtype=np.int64)
    end = n
    label = 0
    while end > 0:
        labels[begin[end] : end] = label
        label += 1
        end = begin[end]
    return labels
