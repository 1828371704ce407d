"""Halve a cloud of points again and again, each time across its length."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from faceveil.grouping.arrays import Ints


def halves(X: NDArray[np.float32], piece: int, unit: int, rng: np.random.Generator) -> Iterator[Ints]:
    """Rows in pieces of fewer than 2·`piece`, each of at least `piece`, cut at multiples of `unit`.

    A cut goes through the middle, across the line between the means of two halves: first those near to a
    random row and near to the row farthest from it, then (two rounds of 2-means with equal halves) their own
    means. O(n·d·log(n/piece)).
    """
    todo = [np.arange(len(X))]
    while todo:
        rows = todo.pop()
        half = max(len(rows) // (2 * unit), 1) * unit
        if half < piece or len(rows) - half < piece:
            yield rows
            continue
        order = _along_its_length(X[rows], half, rng)
        todo += [rows[order[half:]], rows[order[:half]]]


def _along_its_length(points: NDArray[np.float32], half: int, rng: np.random.Generator) -> Ints:
    one = points[rng.integers(len(points))]
    other = points[((points - one) ** 2).sum(axis=1).argmax()]
    for _ in range(3):
        order = np.argsort(points @ (other - one), kind="stable")
        one, other = points[order[:half]].mean(axis=0), points[order[half:]].mean(axis=0)
    return order
