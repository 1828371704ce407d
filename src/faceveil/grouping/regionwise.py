"""Improve a large partition region by region: one round cuts the groups into regions and roams in each."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from faceveil.grouping.arrays import Ints
from faceveil.grouping.dissolve import dissolve
from faceveil.grouping.grouper import Units
from faceveil.grouping.halving import halves
from faceveil.grouping.near import Near, nearest_in_gram
from faceveil.grouping.region import quick_means, spread, survey
from faceveil.grouping.roam import roam
from faceveil.grouping.threads import Run, on_all_cores

if TYPE_CHECKING:
    from faceveil.grouping.best import Roaming

ROWS = 12_000  # in a region, at most
BESIDE = 4  # near groups of its own group that a row visits
LEAF = 400  # rows, about, whose groups stand side by side in memory


def roam_in_regions(
    X: NDArray[np.float32],
    units: Units,
    labels: Ints,
    near: Near,
    k: int,
    rounds: tuple["Roaming", ...],
    rng: np.random.Generator,
) -> Ints:
    """Rounds of roaming, hotter ones first, each in regions of its own."""
    with on_all_cores() as run:
        for phase in rounds:
            labels = _round(X, units, labels, near, k, phase, rng, run)
    return labels


def _round(
    X: NDArray[np.float32],
    units: Units,
    labels: Ints,
    near: Near,
    k: int,
    phase: "Roaming",
    rng: np.random.Generator,
    run: Run,
) -> Ints:
    sizes = np.bincount(labels)
    start = np.cumsum(sizes) - sizes
    order = np.argsort(labels, kind="stable")
    means = quick_means(X, labels, len(sizes))
    regions = list(halves(means, max(2, ROWS * len(sizes) // (2 * len(X)) + 1), 1, rng))
    most = int(max(2 * k - 1, sizes.max()))

    def improve(job: tuple[Ints, int]) -> tuple[Ints, Ints]:
        groups, seed = job
        side_by_side = halves(means[groups], max(2, LEAF // k), 1, np.random.default_rng(seed))
        groups = groups[np.concatenate(list(side_by_side))]
        rows = np.concatenate([order[start[g] : start[g] + sizes[g]] for g in groups])
        here = np.repeat(np.arange(len(groups)), sizes[groups])
        people = units.people[rows] if units.repeated else units.people[:0]
        weights = units.weights[rows].astype(np.float32)
        beside = nearest_in_gram(means[groups] @ means[groups].T, min(BESIDE, len(groups) - 1))
        region = survey(X[rows], weights, _inside(near, rows), beside, here, most)
        scale = spread(region)
        roam(
            region,
            people,
            k,
            most,
            phase.hot * scale,
            phase.cold * scale,
            phase.reach * scale,
            phase.sweeps,
            seed,
        )
        if phase.then_dissolve:
            dissolve(region, people, most)
        return rows, groups[here]

    new = np.empty_like(labels)
    for rows, labels_there in run(
        improve, zip(regions, rng.integers(1, 2**31, size=len(regions)), strict=True)
    ):
        new[rows] = labels_there
    return np.unique(new, return_inverse=True)[1]


def _inside(near: Near, rows: Ints) -> Near:
    """The near rows of `rows` as places among them; −1 for those outside."""
    where = np.full(len(near) + 1, -1, dtype=np.int32)
    where[rows] = np.arange(len(rows), dtype=np.int32)
    return where[near[rows]]
