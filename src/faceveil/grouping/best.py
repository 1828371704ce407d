"""best: annealed exchanges in blocks of neighbouring groups. This project's own; what to use unless told
otherwise.

1. Vectors longer than 256 are reduced to their 128 leading principal components (randomised, block by block).
2. Start: a harvest along a graph of near rows, as Ward's method would merge them (harvest.py).
3. In each round the groups are gathered into blocks of neighbours (by halving the cloud of their means, each
   round along other directions), and each block is improved by simulated annealing: people change places
   between groups at prices known exactly from the block's Gram matrix (see anneal.py). The temperature falls
   from round to round, and is measured by each block's own spread, so that dense and sparse regions are
   treated alike. A data set of at most one block is annealed whole, several times, and the lowest cost wins.
4. Between rounds, groups whose members lose less in the groups around them are dissolved (data in clusters).
5. Pairs (k = 2, up to 3,000 rows) start from a minimum-weight perfect matching (matching.py) and only cool.
6. Numbers on a line: the best runs of neighbours (one_dimension.py).
7. A dozen people or fewer: the optimum itself, by dynamic programming (exact.py).

What is minimised is the information loss, the distance of each photo to its group's mean; the squares of
these distances, which are cheaper to price, guide the search until its last round. A person with three photos
counts three times in the loss and once in k. With stay="apart" no exchange may bring two photos of one person
together.

Cost: O(n·d·log n) time for the start and each round, plus `effort` × a fixed number of steps per row; memory
is one float32 copy of the (reduced) vectors plus one block per core. The result depends on the seed and not
on the number of cores.
"""

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from faceveil.errors import UsageError
from faceveil.grouping.arrays import Ints, unit_float32
from faceveil.grouping.grouper import Grouper, Stay, Units
from faceveil.grouping.matching import MOST_ROWS as MOST_PAIRED
from faceveil.grouping.matching import pairs
from faceveil.grouping.starts import tree_start
from faceveil.grouping.subjects import move_apart

LONGEST = 256
COMPONENTS = 128
ONE_BLOCK = 2000  # rows that are annealed as one block
NEAR = 16  # near rows whose groups a row visits


class Phase(NamedTuple):
    """One round in blocks: from `hot` to `cold`, as shares of a block's mean squared distance (or distance)."""

    hot: float
    cold: float
    by_loss: bool = False  # price exchanges in distances, not in their squares
    then_dissolve: bool = False
    share: float = 1.0  # of the steps per row


class Roaming(NamedTuple):
    """One round in regions: from `hot` to `cold`, as shares of a region's mean squared distance."""

    hot: float
    cold: float
    reach: float  # a visit ends where a row's move alone would cost more
    sweeps: int
    then_dissolve: bool = False


@dataclass(frozen=True)
class Schedule:
    """How long and how hot to anneal: first in regions, then in blocks."""

    block: int  # rows in a block, about
    near: int  # near rows from which a partner's group is drawn
    steps: int  # per row and round
    phases: tuple[Phase, ...]
    rounds: tuple[Roaming, ...] = ()

    @classmethod
    def for_rows(cls, n: int, k: int, effort: float) -> "Schedule":
        """Small data is annealed for long in one block; large data in regions, and only polished in blocks."""
        if n <= ONE_BLOCK:
            return cls(2 * ONE_BLOCK, 8, max(1, int(2500 * effort)), SMALL)
        sweeps = SWEEPS
        return cls(1024, 8, max(1, int(30 * effort)), POLISH, falling(max(1, int(sweeps * effort))))


SWEEPS = 250
HOT, LOW, REACH, REACH_HOT, ROUNDS = 0.2, 0.007, 0.1, 0, 8
SMALL = (
    Phase(0.25, 0.01, then_dissolve=True),
    Phase(0.05, 0.003, then_dissolve=True, share=0.5),
    Phase(0.01, 0.0005, by_loss=True, share=0.25),
)

POLISH = (Phase(0.005, 0.0005, by_loss=True),)

COLD = (Phase(1e-9, 1e-10, then_dissolve=True, share=0.2), Phase(1e-9, 1e-10, by_loss=True, share=0.2))


def falling(sweeps: int) -> tuple[Roaming, ...]:
    """Rounds that cool evenly, `sweeps` in all."""
    edges = np.geomspace(HOT, LOW, ROUNDS + 1)
    each = max(1, round(sweeps / ROUNDS))
    return tuple(
        Roaming(hot, cold, REACH + REACH_HOT * hot, each, then_dissolve=cold < 0.05) for hot, cold in pairwise(map(float, edges))
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
        from faceveil.grouping.blockwise import anneal_in_blocks, exact_labels
        from faceveil.grouping.harvest import harvest_start
        from faceveil.grouping.near import near_graph
        from faceveil.grouping.reduce import shorten
        from faceveil.grouping.regionwise import roam_in_regions

        exact = exact_labels(units, self.k)
        if exact is not None:
            return exact
        schedule = Schedule.for_rows(len(units), self.k, self.effort)
        long = units.X.shape[1] > LONGEST and len(units) > ONE_BLOCK
        X = shorten(units.X, COMPONENTS, rng) if long else unit_float32(units.X)
        near = near_graph(X, NEAR, rng)
        starts = [harvest_start(X, self.k, near, rng)]
        if len(units) <= ONE_BLOCK:
            starts.append(tree_start(X, self.k, rng))
        if units.repeated:
            starts = [move_apart(X, labels, units.people, self.k) for labels in starts]
        paired = pairs(X, units) if self.k == 2 and len(units) <= MOST_PAIRED else None
        if paired is not None:
            starts, schedule = [paired], replace(schedule, phases=COLD)
        starts = [roam_in_regions(X, units, labels, near, self.k, schedule.rounds, rng) for labels in starts]
        return anneal_in_blocks(X, units, starts, self.k, schedule, rng)
