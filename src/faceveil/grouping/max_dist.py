"""max-dist: k-same whose next start is the row farthest from the last one.

M.-H. Le et al., "AnonFACES", WPES 2020, section 4.2: a variant of the k-same clustering "with maximum
distance function for selecting initial cluster centroids". The paper gives no more than that.

Cost: O(n²·d / k) time, O(n) memory above the data.
Choices: the first start is random; each next start is the free row farthest from the last start; the last k
to 2k−1 rows form the last group.
"""

import numpy as np

from faceveil.grouping.arrays import Ints
from faceveil.grouping.grouper import Grouper, Units
from faceveil.grouping.mdav import labels_of


class MaxDist(Grouper):
    """A row far from the last start and its nearest, again and again."""

    id = "max-dist"

    def _split(self, units: Units, rng: np.random.Generator) -> Ints:
        from faceveil.grouping.pool import Pool

        pool = Pool(units.X)
        start = int(rng.choice(pool.rows))
        groups = []
        while len(pool) >= 2 * self.k:
            groups.append(pool.take(pool.nearest(units.X[start], self.k)))
            start = pool.farthest(units.X[start])
        return labels_of([*groups, pool.rows], len(units))
