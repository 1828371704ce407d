"""mondrian: halve at the median of the widest of a few random dimensions.

K. LeFevre, D. J. DeWitt and R. Ramakrishnan, "Mondrian multidimensional k-anonymity", ICDE 2006, in the form
of T. Nakamura, Y. Sakuma and H. Nishi, "Face-image anonymization as an application of multidimensional data
k-anonymizer" (MIKU), IJNC 2021, algorithm 1.

A set of 2k rows or more is sorted by one dimension, the one with the widest range among N_s dimensions drawn
at random, and cut in the middle; smaller sets are the groups.

Cost: O(n · N_s · log(n/k)) time, whatever the length of the vectors; O(n) memory above the data, plus one
copy of N_s columns of the set at hand.
Choices: the paper leaves N_s open: here all dimensions up to 9,216 (a W+ vector), as `dimensions` says
otherwise. Of an odd set the first half gets the smaller share. Equal values go to the lower row.
"""

import numpy as np

from faceveil.errors import UsageError
from faceveil.grouping.arrays import Ints
from faceveil.grouping.grouper import Grouper, Stay, Units
from faceveil.grouping.mdav import labels_of

W_PLUS = 9216  # 18 × 512


class Mondrian(Grouper):
    """Median cuts along wide dimensions; `dimensions` is N_s, the number drawn for each cut."""

    id = "mondrian"

    def __init__(
        self, k: int, *, seed: int | None = None, stay: Stay = "together", dimensions: int = W_PLUS
    ) -> None:
        super().__init__(k, seed=seed, stay=stay)
        if dimensions < 1:
            raise UsageError(f"dimensions (N_s) must be at least 1; {dimensions} came. Leave it out for all.")
        self.dimensions = dimensions

    def _split(self, units: Units, rng: np.random.Generator) -> Ints:
        X = units.X
        groups: list[Ints] = []
        todo = [np.arange(len(X))]
        while todo:
            rows = todo.pop()
            if len(rows) < 2 * self.k:
                groups.append(rows)
                continue
            widest = self._widest(X, rows, rng)
            order = rows[np.argsort(X[rows, widest], kind="stable")]
            todo += [np.sort(order[len(rows) // 2 :]), np.sort(order[: len(rows) // 2])]
        return labels_of(groups, len(X))

    def _widest(self, X: np.ndarray, rows: Ints, rng: np.random.Generator) -> int:
        """The dimension with the widest range among N_s drawn without repetition."""
        width = X.shape[1]
        if self.dimensions >= width:
            ranges = _ranges(X, rows, None)
            return int(ranges.argmax())
        drawn = rng.choice(width, self.dimensions, replace=False, shuffle=False)
        return int(drawn[_ranges(X, rows, drawn).argmax()])


def _ranges(X: np.ndarray, rows: Ints, drawn: Ints | None) -> np.ndarray:
    """max − min of each drawn dimension over `rows`, a block of rows at a time."""
    low: np.ndarray | None = None
    high: np.ndarray | None = None
    for start in range(0, len(rows), 1024):
        block = rows[start : start + 1024]
        values = X[block] if drawn is None else X[np.ix_(block, drawn)]
        low = values.min(axis=0) if low is None else np.minimum(low, values.min(axis=0))
        high = values.max(axis=0) if high is None else np.maximum(high, values.max(axis=0))
    assert low is not None and high is not None
    return np.asarray(high - low)
