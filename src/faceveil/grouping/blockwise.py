"""Improve a partition block by block: one round gathers neighbouring groups into blocks and anneals each."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from faceveil.grouping.anneal import anneal
from faceveil.grouping.arrays import Ints
from faceveil.grouping.dissolve import dissolve
from faceveil.grouping.exact import MOST_ROWS, best_partition
from faceveil.grouping.grouper import Units
from faceveil.grouping.halving import halves
from faceveil.grouping.loss import losses
from faceveil.grouping.measures import weighted_loss
from faceveil.grouping.near import gram_of, nearest_in_gram
from faceveil.grouping.one_dimension import best_runs
from faceveil.grouping.region import quick_means, survey
from faceveil.grouping.state import set_up, total_cost
from faceveil.grouping.threads import Run, on_all_cores, one_after_the_other

if TYPE_CHECKING:
    from faceveil.grouping.best import Phase, Schedule


def exact_labels(units: Units, k: int) -> Ints | None:
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


def anneal_in_blocks(
    X: NDArray[np.float32],
    units: Units,
    starts: list[Ints],
    k: int,
    schedule: "Schedule",
    rng: np.random.Generator,
) -> Ints:
    """Rounds of annealing, hotter ones first, from each start; the labels with the lowest cost."""
    seeds = rng.integers(2**63, size=len(starts))

    def from_start(job: tuple[Ints, int]) -> Ints:
        return _rounds(X, units, job[0], k, schedule, np.random.default_rng(job[1]), one_after_the_other)

    with on_all_cores() as everywhere:
        if len(starts) == 1:
            return _rounds(X, units, starts[0], k, schedule, np.random.default_rng(seeds[0]), everywhere)
        found = everywhere(from_start, zip(starts, seeds, strict=True))
    return min(found, key=lambda labels: weighted_loss(X, labels, units.weights))


def _rounds(
    X: NDArray[np.float32],
    units: Units,
    labels: Ints,
    k: int,
    schedule: "Schedule",
    rng: np.random.Generator,
    run: Run,
) -> Ints:
    for phase in schedule.phases:
        labels = _round(X, units, labels, k, schedule, phase, rng, run)
    return labels


def _round(
    X: NDArray[np.float32],
    units: Units,
    labels: Ints,
    k: int,
    schedule: "Schedule",
    phase: "Phase",
    rng: np.random.Generator,
    run: Run,
) -> Ints:
    """Anneal every block of neighbouring groups."""
    sizes = np.bincount(labels)
    order = np.argsort(labels, kind="stable")
    start = np.concatenate([[0], np.cumsum(sizes)])
    means = quick_means(X, labels, len(sizes))
    blocks = list(halves(means, max(2, schedule.block * len(sizes) // (2 * len(X)) + 1), 1, rng))
    most = int(max(2 * k - 1, sizes.max()))

    def improve(job: tuple[Ints, int]) -> tuple[Ints, Ints]:
        groups, seed = job
        rows = np.concatenate([order[start[g] : start[g + 1]] for g in groups])
        here = np.repeat(np.arange(len(groups)), sizes[groups])
        points = X[rows]
        gram = gram_of(points)
        weights = units.weights[rows].astype(np.float32)
        people = units.people[rows] if units.repeated else units.people[:0]
        near = nearest_in_gram(gram, min(schedule.near, len(rows) - 1))
        state = set_up(gram, weights, here, len(groups), most)
        steps = int(schedule.steps * phase.share * len(rows))
        if phase.by_loss:
            scale = losses(state).sum() / len(rows)
        else:
            scale = total_cost(state) / len(rows)
        anneal(
            state, people, k, most, near, phase.hot * scale, phase.cold * scale, steps, seed, phase.by_loss
        )
        if phase.then_dissolve:
            dissolve(survey(points, weights, near, here, len(groups), most), people, most)
        return rows, groups[here]

    new = np.empty_like(labels)
    for rows, labels_there in run(
        improve, zip(blocks, rng.integers(1, 2**31, size=len(blocks)), strict=True)
    ):
        new[rows] = labels_there
    return np.unique(new, return_inverse=True)[1]
