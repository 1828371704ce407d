"""ksame: a random start and its nearest neighbours.

E. M. Newton, L. Sweeney and B. Malin, "Preserving privacy by de-identifying face images", IEEE TKDE 17(2),
2005, algorithm k-Same; "k-same clustering" in AnonFACES.

While 2k rows or more are left, a random one and its k−1 nearest form a group; the last k to 2k−1 form the
last.

Cost: O(n²·d / k) time, O(n) memory above the data.
Deviations: none. What is often coded instead (each row's own k nearest rows, which overlap) is no partition
and keeps no promise; see faceveil.grouping.Neighbourhoods.
"""

import numpy as np

from faceveil.grouping.arrays import Ints
from faceveil.grouping.grouper import Grouper, Units
from faceveil.grouping.mdav import labels_of


class KSame(Grouper):
    """A random row and its nearest, again and again."""

    id = "ksame"

    def _split(self, units: Units, rng: np.random.Generator) -> Ints:
        from faceveil.grouping.pool import Pool

        pool = Pool(units.X)
        groups = []
        while len(pool) >= 2 * self.k:
            start = int(rng.choice(pool.rows))
            groups.append(pool.take(pool.nearest(units.X[start], self.k)))
        return labels_of([*groups, pool.rows], len(units))
