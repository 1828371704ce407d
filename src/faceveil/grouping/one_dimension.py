"""The best partition of numbers on a line into runs of neighbours.

S. L. Hansen and S. Mukherjee, "A polynomial algorithm for optimal univariate microaggregation", IEEE TKDE
15(4), 2003: groups are runs of the sorted values, of k to 2k−1 rows, and the best runs are a shortest path.
O(n·k·log k) time, O(n) memory.
Deviation: the paper adds up squares, and this adds up distances to the mean, which is what is reported.
"""

import numpy as np

from faceveil.grouping.compiled import Array, compiled_exactly


@compiled_exactly
def best_runs(values: Array, weights: Array, k: int) -> Array:
    """The run of each of the sorted `values`, numbered from 0."""
    n = len(values)
    weight = np.zeros(n + 1)
    moment = np.zeros(n + 1)
    for i in range(n):
        weight[i + 1] = weight[i] + weights[i]
        moment[i + 1] = moment[i] + weights[i] * values[i]
    total = np.full(n + 1, np.inf)
    total[0] = 0.0
    begin = np.zeros(n + 1, dtype=np.int64)
    for end in range(k, n + 1):
        for start in range(max(0, end - 2 * k + 1), end - k + 1):
            cost = total[start] + _loss_of_run(values, weight, moment, start, end)
            if cost < total[end]:
                total[end] = cost
                begin[end] = start
    labels = np.empty(n, dtype=np.int64)
    end = n
    label = 0
    while end > 0:
        labels[begin[end] : end] = label
        label += 1
        end = begin[end]
    return labels


@compiled_exactly
def _loss_of_run(values: Array, weight: Array, moment: Array, start: int, end: int) -> float:
    """Σ w·|x − mean|: twice what lies below the mean."""
    mean = (moment[end] - moment[start]) / (weight[end] - weight[start])
    middle = start + np.searchsorted(values[start:end], mean)
    below: float = mean * (weight[middle] - weight[start]) - (moment[middle] - moment[start])
    return 2 * below
