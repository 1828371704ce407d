"""best: annealed exchanges in blocks of neighbouring groups. This project's own; what to use unless told
otherwise.

1. Vectors longer than 256 are reduced to their 128 leading principal components (randomised, block by block).
2. Start: the cloud is halved across its length until the pieces hold k to 2k−1 people.
3. In each round the groups are gathered into blocks of neighbours (by halving the cloud of their means, each
   round along other directions), and each block is improved by simulated annealing: people change places
   between groups at prices known exactly from the block's Gram matrix (see anneal.py). The temperature falls
   from round to round, and is measured by each block's own spread, so that dense and sparse regions are
   treated alike. A data set of at most one block is annealed whole, several times, and the lowest cost wins.
4. Between rounds, groups whose members lose less in the groups around them are dissolved (data in clusters).
5. A dozen people or fewer: the optimum itself, by dynamic programming (exact.py).

What is minimised is the sum of squared distances to the group means, over photos: a person with three photos
counts three times in the loss and once in k. With stay="apart" no exchange may bring two photos of one person
together.

Cost: O(n·d·log n) time for the start and each round, plus `effort` × a fixed number of steps per row; memory
is one float32 copy of the (reduced) vectors plus one block per core. The result depends on the seed and not
on the number of cores.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from faceveil.errors import UsageError
from faceveil.grouping.arrays import Ints, unit_float32
from faceveil.grouping.grouper import Grouper, Stay, Units
from faceveil.grouping.halving import halves
from faceveil.grouping.subjects import move_apart

LONGEST = 256
COMPONENTS = 128


@dataclass(frozen=True)
class Schedule:
    """How long and how hot to anneal; temperatures are shares of a block's mean squared distance."""

    block: int  # rows in a block, about
    near: int  # near rows from which a partner's group is drawn
    steps: int  # per row and round
    temperatures: tuple[float, ...]  # from round to round
    tries: int = 1

    @classmethod
    def for_rows(cls, n: int, effort: float) -> "Schedule":
        """Small data gets many steps, large data as many as fit in a minute on two cores for 200,000 rows."""
        if n <= 2000:
            return cls(2048, 20, int(3000 * effort), (0.25, 0.01), tries=2)
        steps = 150 if n <= 300_000 else 80
        return cls(1024, 16, max(1, int(steps * effort)), (0.2, 0.12, 0.07, 0.04, 0.02, 0.01, 0.003))


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
        from faceveil.grouping.blockwise import anneal_in_blocks, optimum
        from faceveil.grouping.exact import MOST_ROWS
        from faceveil.grouping.reduce import shorten

        long = units.X.shape[1] > LONGEST and len(units) > MOST_ROWS
        X = shorten(units.X, COMPONENTS, rng) if long else unit_float32(units.X)
        if len(units) <= MOST_ROWS:
            return optimum(X, units, self.k)
        labels = self._start(X, units, rng)
        schedule = Schedule.for_rows(len(units), self.effort)
        return anneal_in_blocks(X, units, labels, self.k, schedule, rng)

    def _start(self, X: NDArray[np.float32], units: Units, rng: np.random.Generator) -> Ints:
        labels = np.empty(len(X), dtype=np.int64)
        for label, rows in enumerate(halves(X, self.k, self.k, rng)):
            labels[rows] = label
        repeated = len(np.unique(units.people)) < len(units)
        return move_apart(X, labels, units.people, self.k) if repeated else labels
