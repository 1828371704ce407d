"""Improve a partition block by block: one round gathers neighbouring groups into blocks and anneals each."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from faceveil.grouping.anneal import anneal, nearest_in_gram
from faceveil.grouping.arrays import Ints
from faceveil.grouping.exact import best_partition
from faceveil.grouping.grouper import Units
from faceveil.grouping.halving import halves
from faceveil.grouping.measures import group_means, sum_of_squares
from faceveil.grouping.threads import on_all_cores

if TYPE_CHECKING:
    from faceveil.grouping.best import Schedule


def optimum(X: NDArray[np.float32], units: Units, k: int) -> Ints:
    """The exact answer for a dozen rows."""
    wide = X.astype(np.float64)
    return np.asarray(best_partition(wide @ wide.T, units.weights, units.people, k))


def anneal_in_blocks(
    X: NDArray[np.float32], units: Units, labels: Ints, k: int, schedule: "Schedule", rng: np.random.Generator
) -> Ints:
    """Rounds of annealing, hotter ones first; the labels with the lowest cost among `schedule.tries`."""
    found = [
        _one_try(X, units, labels, k, schedule, np.random.default_rng(seed))
        for seed in rng.integers(2**63, size=schedule.tries)
    ]
    return min(found, key=lambda found: sum_of_squares(X, found)) if len(found) > 1 else found[0]


def _one_try(
    X: NDArray[np.float32], units: Units, labels: Ints, k: int, schedule: "Schedule", rng: np.random.Generator
) -> Ints:
    labels = labels.copy()
    ladder = zip(schedule.temperatures[:-1], schedule.temperatures[1:], strict=True)
    for hot, cold in ladder:
        _round(X, units, labels, k, schedule, hot, cold, rng)
    return labels


def _round(
    X: NDArray[np.float32],
    units: Units,
    labels: Ints,
    k: int,
    schedule: "Schedule",
    hot: float,
    cold: float,
    rng: np.random.Generator,
) -> None:
    """Anneal every block of neighbouring groups, in place."""
    sizes = np.bincount(labels)
    order = np.argsort(labels, kind="stable")
    rows_of = np.split(order, np.cumsum(sizes)[:-1])
    means = group_means(X, labels).astype(np.float32)
    blocks = list(halves(means, max(2, schedule.block * len(sizes) // (2 * len(X)) + 1), 1, rng))
    guard = len(np.unique(units.people)) < len(units)
    seeds = rng.integers(1, 2**31, size=len(blocks))

    def improve(job: tuple[Ints, int]) -> tuple[Ints, Ints]:
        groups, seed = job
        rows = np.concatenate([rows_of[g] for g in groups])
        here = np.repeat(np.arange(len(groups)), sizes[groups])
        points = X[rows]
        gram = points @ points.T
        weights = units.weights[rows].astype(np.float32)
        spread = _mean_square(gram, weights, here)
        near = nearest_in_gram(gram, min(schedule.near, len(rows) - 1))
        anneal(
            gram, weights, units.people[rows] if guard else units.people[:0], here, len(groups), k,
            max(2 * k - 1, sizes.max()), near, hot * spread, cold * spread, schedule.steps * len(rows), seed,
        )  # fmt: skip
        return rows, groups[here]

    with on_all_cores() as run:
        for rows, new in run(improve, zip(blocks, seeds, strict=True)):
            labels[rows] = new


def _mean_square(gram: NDArray[np.float32], weights: NDArray[np.float32], labels: Ints) -> float:
    """Mean squared distance to the group means, from the Gram matrix."""
    total = float((weights * np.diagonal(gram)).sum(dtype=np.float64))
    order = np.argsort(labels, kind="stable")
    for rows in np.split(order, np.cumsum(np.bincount(labels))[:-1]):
        w = weights[rows].astype(np.float64)
        total -= float(w @ gram[np.ix_(rows, rows)] @ w / w.sum())
    return max(total, 0.0) / len(labels)
