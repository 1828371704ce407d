"""mdav: maximum distance to average vector.

J. Domingo-Ferrer and J. M. Mateo-Sanz, "Practical data-oriented microaggregation for statistical disclosure
control", IEEE TKDE 14(1), 2002; as generalised by J. Domingo-Ferrer and V. Torra, "Ordinal, continuous and
heterogeneous k-anonymity through microaggregation", DMKD 11, 2005, algorithm MDAV-generic.

While 3k rows or more are left: the row farthest from their mean and its k−1 nearest form a group, and so do
the row farthest from that one and its k−1 nearest. The last rows form one or two groups.

Cost: O(n²·d / k) time, O(n) memory above the data.
Deviations: none; equal distances go to the lower row.
"""

import numpy as np

from faceveil.grouping.arrays import Ints
from faceveil.grouping.grouper import Grouper, Units


class Mdav(Grouper):
    """Groups of k around the outermost rows first."""

    id = "mdav"

    def _split(self, units: Units, rng: np.random.Generator) -> Ints:
        from faceveil.grouping.pool import Pool

        k, pool = self.k, Pool(units.X)
        groups = []
        while len(pool) >= 3 * k:
            first = units.X[pool.farthest(pool.mean())]
            groups.append(pool.take(pool.nearest(first, k)))
            groups.append(pool.take(pool.nearest(units.X[pool.farthest(first)], k)))
        if len(pool) >= 2 * k:
            first = units.X[pool.farthest(pool.mean())]
            groups.append(pool.take(pool.nearest(first, k)))
        groups.append(pool.rows)
        return labels_of(groups, len(units))


def labels_of(groups: list[Ints], n: int) -> Ints:
    """The label of each of n rows, given the rows of each group."""
    labels = np.full(n, -1, dtype=np.int64)
    for label, rows in enumerate(groups):
        labels[rows] = label
    return labels
