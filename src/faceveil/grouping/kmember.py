"""kmember: greedy k-member clustering.

J.-W. Byun, A. Kamra, E. Bertino and N. Li, "Efficient k-anonymization using clustering techniques", DASFAA
2007, figure 3.

The row farthest from the last one taken opens a group, which then takes, k−1 times, the row that adds least
to its information loss. Fewer than k rows at the end join, in random order, the group where they add least.

Cost: O(n²·d) time, O(n) memory above the data.
Deviations: the paper's information loss is the width of value ranges in a table; for vectors it is the sum of
squared distances to the mean, so the row that adds least to a group is the row nearest to its mean.
"""

import numpy as np

from faceveil.grouping.arrays import Floats, Ints
from faceveil.grouping.grouper import Grouper, Units
from faceveil.grouping.mdav import labels_of


class KMember(Grouper):
    """Groups grown one row at a time."""

    id = "kmember"

    def _split(self, units: Units, rng: np.random.Generator) -> Ints:
        from faceveil.grouping.pool import Pool

        X, pool = units.X, Pool(units.X)
        last = int(rng.choice(pool.rows))
        groups = []
        while len(pool) >= self.k:
            last = pool.farthest(X[last])
            group = [int(pool.take(np.array([last]))[0])]
            total = X[last].astype(np.float64)
            while len(group) < self.k:
                last = int(pool.take(pool.nearest(total / len(group), 1))[0])
                group.append(last)
                total += X[last]
            groups.append(np.array(group))
        labels = labels_of(groups, len(X))
        _add_where_it_costs_least(X, labels, rng.permutation(pool.rows))
        return labels


def _add_where_it_costs_least(X: Floats, labels: Ints, rest: Ints) -> None:
    counts = np.bincount(labels[labels >= 0]).astype(np.float64)
    sums = np.zeros((len(counts), X.shape[1]))
    np.add.at(sums, labels[labels >= 0], X[labels >= 0])
    for row in rest:
        squared = ((sums / counts[:, None] - X[row]) ** 2).sum(axis=1)
        best = int((squared * counts / (counts + 1)).argmin())
        labels[row] = best
        sums[best] += X[row]
        counts[best] += 1
