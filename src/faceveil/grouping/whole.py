"""Anneal a small partition as a whole, at prices known from the Gram matrix of all its rows."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from faceveil.grouping.anneal import anneal
from faceveil.grouping.arrays import Ints
from faceveil.grouping.dissolve import dissolve
from faceveil.grouping.grouper import Units
from faceveil.grouping.loss import losses
from faceveil.grouping.measures import weighted_loss
from faceveil.grouping.near import nearest_in_gram
from faceveil.grouping.region import survey
from faceveil.grouping.state import set_up, total_cost
from faceveil.grouping.threads import on_all_cores

if TYPE_CHECKING:
    from faceveil.grouping.best import Phase

NEAR = 8  # near rows from which a partner's group is drawn


def anneal_whole(
    X: NDArray[np.float32],
    units: Units,
    starts: list[Ints],
    k: int,
    phases: tuple["Phase", ...],
    rng: np.random.Generator,
) -> Ints:
    """The phases one after the other, from each start; the labels with the lowest loss."""

    def from_start(job: tuple[Ints, int]) -> Ints:
        labels, chance = job[0], np.random.default_rng(job[1])
        for phase in phases:
            labels = _anneal(X, units, labels, k, phase, int(chance.integers(1, 2**31)))
        return labels

    with on_all_cores() as run:
        found = run(from_start, zip(starts, rng.integers(2**63, size=len(starts)), strict=True))
    return min(found, key=lambda labels: weighted_loss(X, labels, units.weights))


def _anneal(X: NDArray[np.float32], units: Units, labels: Ints, k: int, phase: "Phase", seed: int) -> Ints:
    sizes = np.bincount(labels)
    most = int(max(2 * k - 1, sizes.max()))
    rows = np.argsort(labels, kind="stable")
    here = labels[rows]
    points = X[rows]
    gram = points @ points.T
    weights = units.weights[rows].astype(np.float32)
    people = units.people[rows] if units.repeated else units.people[:0]
    near = nearest_in_gram(gram, min(NEAR, len(rows) - 1))
    state = set_up(gram, weights, here, len(sizes), most)
    scale = (losses(state).sum() if phase.by_loss else total_cost(state)) / len(rows)
    steps = phase.steps * len(rows)
    anneal(state, people, k, most, near, phase.hot * scale, phase.cold * scale, steps, seed, phase.by_loss)
    if phase.then_dissolve:
        nobody = np.empty((len(sizes), 0), dtype=np.int32)
        dissolve(survey(points, weights, near, nobody, here, most), people, most)
    new = np.empty_like(labels)
    new[rows] = here
    return np.unique(new, return_inverse=True)[1]
