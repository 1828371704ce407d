"""random: people are dealt out by chance.

The baseline that any grouper must beat; the upper bound of figure 10 in AnonFACES. The paper's "random
method" of figure 2 is another thing, a same-size k-means from random means: `same-size-kmeans` with
start="random".

Cost: O(n) time and memory. Deviations: none possible.
"""

import numpy as np

from faceveil.grouping.arrays import Ints
from faceveil.grouping.grouper import Grouper, Units, even_sizes


class Random(Grouper):
    """Groups by chance, of sizes that differ by at most one."""

    id = "random"

    def _split(self, units: Units, rng: np.random.Generator) -> Ints:
        sizes = even_sizes(len(units), self.k)
        return rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
