"""v-mdav: groups of variable size, k to 2k−1.

A. Solanas and A. Martínez-Ballesté, "V-MDAV: a multivariate microaggregation with variable group size",
COMPSTAT 2006.

The row farthest from the mean of all data and its k−1 nearest form a group. The group then grows, up to 2k−1:
the free row nearest to any member joins when that distance is below gamma times its distance to the nearest
other free row. Fewer than k rows at the end join the group with the nearest mean.

Cost: O(n²·d / k) time plus the extensions, O(n) memory above the data.
Deviations: none; equal distances go to the lower row. gamma is 0.2 as the authors advise for scattered data
(1.1 for data in clusters).
"""

import numpy as np

from faceveil.errors import UsageError
from faceveil.grouping.arrays import Floats, Ints
from faceveil.grouping.grouper import Grouper, Stay, Units
from faceveil.grouping.mdav import labels_of
from faceveil.grouping.pool import Pool


class VMdav(Grouper):
    """MDAV whose groups grow while a row is much nearer to them than to anything else."""

    id = "v-mdav"

    def __init__(
        self, k: int, *, seed: int | None = None, stay: Stay = "together", gamma: float = 0.2
    ) -> None:
        super().__init__(k, seed=seed, stay=stay)
        if not gamma >= 0:
            raise UsageError(
                f"gamma must be 0 or more; {gamma!r} came. Use 0.2 (scattered) or 1.1 (clusters)."
            )
        self.gamma = gamma

    def _split(self, units: Units, rng: np.random.Generator) -> Ints:
        pool = Pool(units.X)
        centre = pool.mean()
        groups = []
        while len(pool) >= self.k:
            group = pool.take(pool.nearest(units.X[pool.farthest(centre)], self.k))
            groups.append(self._extend(units.X, pool, group))
        return _join_nearest(units.X, groups, pool.rows)

    def _extend(self, X: Floats, pool: Pool, group: Ints) -> Ints:
        if not len(pool) or self.gamma == 0 or self.k == 1:
            return group
        inside = np.min([pool.distances(X[row]).copy() for row in group], axis=0)
        while len(group) < 2 * self.k - 1 and len(pool) > 1:
            at = int(inside.argmin())
            row = int(pool.rows[at])
            outside = pool.distances(X[row])
            outside[at] = np.inf
            if not np.sqrt(inside[at]) < self.gamma * np.sqrt(outside.min()):
                break
            pool.take(np.array([row]))
            inside = np.minimum(np.delete(inside, at), pool.distances(X[row]))
            group = np.append(group, row)
        return group


def _join_nearest(X: Floats, groups: list[Ints], rest: Ints) -> Ints:
    """Labels, with each row of `rest` in the group whose mean is nearest."""
    labels = labels_of(groups, len(X))
    means = np.array([X[group].mean(axis=0) for group in groups])
    for row in rest:
        labels[row] = int(((means - X[row]) ** 2).sum(axis=1).argmin())
    return labels
