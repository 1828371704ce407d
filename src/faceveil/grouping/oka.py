"""oka: one-pass k-means.

J.-L. Lin and M.-C. Wei, "An efficient clustering method for k-anonymization", PAIS 2008; "OTP" in AnonFACES.

⌊n/k⌋ random rows open the groups; each other row joins the group with the nearest mean, which moves with it.
Then groups above k give up their rows farthest from the mean, and each of these joins, in random order, the
nearest group that is below k, or the nearest of all when none is.

Cost: O(n²·d / k) time, O(n·d / k) memory.
Deviations: the paper visits the rows sorted by their quasi-identifiers, which vectors do not have; here the
order is random.
"""

import numpy as np

from faceveil.grouping.arrays import Ints
from faceveil.grouping.grouper import Grouper, Units


class Oka(Grouper):
    """One pass of k-means, then the sizes are put right."""

    id = "oka"

    def _split(self, units: Units, rng: np.random.Generator) -> Ints:
        X = units.X.astype(np.float64)
        order = rng.permutation(len(X))
        groups = len(X) // self.k
        means = X[order[:groups]].copy()
        counts = np.ones(groups)
        labels = np.empty(len(X), dtype=np.int64)
        labels[order[:groups]] = np.arange(groups)
        for row in order[groups:]:
            nearest = int(((means - X[row]) ** 2).sum(axis=1).argmin())
            labels[row] = nearest
            counts[nearest] += 1
            means[nearest] += (X[row] - means[nearest]) / counts[nearest]
        given_up = [np.zeros(0, dtype=np.int64)]
        for group in np.flatnonzero(counts > self.k):
            rows = np.flatnonzero(labels == group)
            far = ((X[rows] - means[group]) ** 2).sum(axis=1)
            given_up.append(rows[np.argsort(far, kind="stable")[self.k :]])
            counts[group] = self.k
        for row in rng.permutation(np.concatenate(given_up)):
            far = ((means - X[row]) ** 2).sum(axis=1)
            if (counts < self.k).any():
                far[counts >= self.k] = np.inf
            labels[row] = int(far.argmin())
            counts[labels[row]] += 1
        return labels
