"""The rows that have no group yet, and the three questions the greedy groupers ask about them."""

import numpy as np
from numpy.typing import NDArray

from faceveil.grouping.arrays import Floats, Ints
from faceveil.grouping.compiled import Array, compiled


@compiled
def _squared_distances(X: Array, rows: Array, count: int, point: Array, out: Array) -> None:
    for i in range(count):
        row = rows[i]
        total = X[row, 0] * 0
        for j in range(X.shape[1]):
            gap = X[row, j] - point[j]
            total += gap * gap
        out[i] = total


class Pool:
    """Rows left over, in ascending order; ties always go to the lower row."""

    def __init__(self, X: Floats) -> None:
        self.X = np.ascontiguousarray(X)
        self.rows = np.arange(len(X))
        self.sum = X.sum(axis=0, dtype=np.float64)
        self._distances = np.empty(len(X), dtype=X.dtype)

    def __len__(self) -> int:
        return len(self.rows)

    def mean(self) -> NDArray[np.float64]:
        """The mean of what is left."""
        return np.asarray(self.sum / len(self.rows))

    def distances(self, point: Floats) -> Floats:
        """Squared distance of each row left to `point`, in the order of `rows`; valid until the next call."""
        out = self._distances[: len(self.rows)]
        _squared_distances(self.X, self.rows, len(self.rows), point.astype(self.X.dtype), out)
        return out

    def farthest(self, point: Floats) -> int:
        """The row farthest from `point`."""
        return int(self.rows[self.distances(point).argmax()])

    def nearest(self, point: Floats, count: int) -> Ints:
        """The `count` rows nearest to `point`, ascending."""
        return np.asarray(self.rows[smallest(self.distances(point), count)])

    def take(self, rows: Ints) -> Ints:
        """Take `rows` out of the pool."""
        self.sum -= self.X[rows].sum(axis=0, dtype=np.float64)
        gone = np.searchsorted(self.rows, rows)
        self.rows = np.delete(self.rows, gone)
        return rows


def smallest(values: Floats, count: int) -> Ints:
    """Positions of the `count` smallest values, ascending by position; ties go to the lower position."""
    if count >= len(values):
        return np.arange(len(values))
    edge = np.partition(values, count - 1)[count - 1]
    below = np.flatnonzero(values < edge)
    level = np.flatnonzero(values == edge)[: count - len(below)]
    return np.sort(np.concatenate([below, level]))
