"""best: people change places by simulated annealing. This project's own; what to use unless told otherwise.

1. Vectors longer than 256 are reduced to their 128 leading principal components (randomised, block by block).
2. A graph of near rows is built (near.py).
3. Start: a harvest along that graph, as Ward's method would merge its rows (harvest.py).
4. Annealing (S. Kirkpatrick et al., "Optimization by simulated annealing", Science 220, 1983): a row visits the
   group of one of its near rows and changes places with the member whose exchange gains most, or by chance at
   a loss while it is hot. Prices are exact. In each round the groups are cut anew into regions of at most
   12,000 rows, which are annealed side by side (roam.py, regionwise.py). The temperature falls from round to
   round and is measured by each region's own spread, so that dense and sparse regions are treated alike.
5. Between the later rounds, groups whose members lose less in the groups around them are dissolved (data in
   clusters).
6. Up to 2,000 rows are annealed as a whole and for long, from this start and from Ward's tree, at prices from
   their Gram matrix (anneal.py, whole.py); the lowest loss wins.
7. Pairs (k = 2, up to 3,000 rows) start from a minimum-weight perfect matching (matching.py) and only cool.
8. Numbers on a line: the best runs of neighbours (one_dimension.py).
9. A dozen people or fewer: the optimum itself, by dynamic programming (exact.py).

What is minimised is the sum of squared distances to the group's mean, whose price is cheap to know; up to 2,000
rows the last phase minimises the distances themselves, the information loss. (On larger data that phase was
found to gain 0.02 %.) A person with three photos counts three times in the loss and once in k. With
stay="apart" no exchange may bring two photos of one person together.

Cost: O(n·d·log n) time for the graph (O(n²·d) up to 12,000 rows), plus `effort` × a fixed number of visits per
row, each of O(k·d) or less; memory is one float32 copy of the (reduced) vectors, 16 near rows per row and one
region per core. The result depends on the seed and not on the number of cores.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from faceveil.errors import UsageError
from faceveil.grouping.arrays import Ints, unit_float32
from faceveil.grouping.grouper import Grouper, Stay, Units
from faceveil.grouping.matching import MOST_ROWS as MOST_PAIRED
from faceveil.grouping.matching import pairs
from faceveil.grouping.starts import tree_start
from faceveil.grouping.subjects import move_apart

LONGEST = 256
COMPONENTS = 128
SMALL = 2000  # rows that are annealed as a whole
ONE_REGION = 12_000
NEAR = 16  # near rows whose groups a row visits
SWEEPS = 170  # visits per row; three times as many where regions have to be mixed
HOT, COLD = 0.2, 0.007
REACH = 0.1


class Phase(NamedTuple):
    """Annealing as a whole: from `hot` to `cold`, as shares of the mean squared distance (or mean distance)."""

    hot: float
    cold: float
    steps: int  # per row
    by_loss: bool = False  # price exchanges in distances, not in their squares
    then_dissolve: bool = False


class Roaming(NamedTuple):
    """A round in regions: from `hot` to `cold`, as shares of a region's mean squared distance."""

    hot: float
    cold: float
    reach: float  # a visit ends where moving the row alone would cost more
    sweeps: int  # visits per row
    then_dissolve: bool


def long_phases(effort: float) -> tuple[Phase, ...]:
    """For small data."""
    steps = max(1, int(4000 * effort))
    return (
        Phase(0.25, 0.01, steps, then_dissolve=True),
        Phase(0.05, 0.003, int(0.5 * steps), then_dissolve=True),
        Phase(0.01, 0.0005, int(0.25 * steps), by_loss=True),
    )


def cold_phases(effort: float) -> tuple[Phase, ...]:
    """For a start that is nearly the optimum."""
    steps = max(1, int(500 * effort))
    return (Phase(1e-9, 1e-10, steps, then_dissolve=True), Phase(1e-9, 1e-10, steps, by_loss=True))


def falling(n: int, k: int, effort: float) -> tuple[Roaming, ...]:
    """Rounds that cool evenly; large groups, whose visits cost more and gain more, take fewer of them."""
    rounds, sweeps = (4, SWEEPS) if n < ONE_REGION else (8, 3 * SWEEPS)
    each = max(1, round(effort * sweeps / (1 + k / 200) / rounds))
    edges = np.geomspace(HOT, COLD, rounds + 1)
    return tuple(
        Roaming(hot, cold, REACH, each, then_dissolve=cold < 0.05)
        for hot, cold in pairwise(map(float, edges))
    )


class Best(Grouper):
    """The least information loss; `effort` multiplies the number of exchanges that are tried."""

    id = "best"
    guards_people = True

    def __init__(
        self, k: int, *, seed: int | None = None, stay: Stay = "together", effort: float = 1.0
    ) -> None:
        super().__init__(k, seed=seed, stay=stay)
        if not effort > 0:
            raise UsageError(f"effort must be above 0; {effort!r} came. 1 is the default, 4 tries longer.")
        self.effort = effort

    def _split(self, units: Units, rng: np.random.Generator) -> Ints:
        from faceveil.grouping.exact import exact_labels
        from faceveil.grouping.whole import anneal_whole

        exact = exact_labels(units, self.k)
        if exact is not None:
            return exact
        if len(units) > max(SMALL, MOST_PAIRED if self.k == 2 else 0):
            return self._roam(units, rng)
        X = unit_float32(units.X)
        paired = pairs(X, units) if self.k == 2 else None
        if paired is not None:
            return anneal_whole(X, units, 3 * [paired], self.k, cold_phases(self.effort), rng)
        starts = [self._harvest(X, units, rng)[0], self._apart(X, tree_start(X, self.k, rng), units)]
        return anneal_whole(X, units, starts, self.k, long_phases(self.effort), rng)

    def _roam(self, units: Units, rng: np.random.Generator) -> Ints:
        """Large data."""
        from faceveil.grouping.reduce import shorten
        from faceveil.grouping.regionwise import roam_in_regions

        long = units.X.shape[1] > LONGEST
        X = shorten(units.X, COMPONENTS, rng) if long else unit_float32(units.X)
        labels, near = self._harvest(X, units, rng)
        rounds = falling(len(units), self.k, self.effort)
        return roam_in_regions(X, units, labels, near, self.k, rounds, rng)

    def _harvest(
        self, X: NDArray[np.float32], units: Units, rng: np.random.Generator
    ) -> tuple[Ints, NDArray[np.int32]]:
        """A start, and the graph of near rows it followed."""
        from faceveil.grouping.harvest import harvest_start
        from faceveil.grouping.near import near_graph

        near = near_graph(X, NEAR, rng)
        return self._apart(X, harvest_start(X, self.k, near, rng), units), near

    def _apart(self, X: NDArray[np.float32], labels: Ints, units: Units) -> Ints:
        return move_apart(X, labels, units.people, self.k) if units.repeated else labels
