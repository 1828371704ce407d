"""hierarchical: fixed-size groups from a merge tree.

M.-H. Le et al., "AnonFACES: Anonymizing Faces Adjusted to Constraints on Efficacy and Security", WPES 2020,
algorithm 1.

A merge tree of all rows is cut into m clusters; the biggest cluster, if it holds enough rows, gives a group
and these rows leave the tree; else the tree is cut one merge higher.

Cost: O(n²·d) time and O(n²) memory for the tree (scipy's nearest-neighbour chain), O(n² / k) for the groups.

As printed the algorithm cannot run. What it says, and what is done here:
- The loop `while |q| <= k_j` never ends normally, since q is cut down to k rows: it ends here once |q| ≥ k_j.
- The sizes k and k+1 do not add up to n when n − mk ≥ m: sizes are as even as possible (⌊n/m⌋ and ⌈n/m⌉,
  larger ones first), and k_j rows are selected, not k.
- m is the number of groups, the number of clusters in the cut, and is overwritten in the loop: here `groups`
  stays, and the cut restarts at ⌊rows left / k⌋ for each group.
- "Z − q" (a tree minus rows) is the tree pruned: leaves go, and a merge with one side empty goes with them;
  heights stay. Building the tree anew for each group instead would cost O(n³ / k).
- "The lowest k members" are the lowest subtree with at least k_j leaves. Where it holds more, its larger
  branch is taken whole and the rest by the same rule from the other branch.
- Of clusters equally big the one that was merged lowest gives the group.
- The promise that the authors' published code breaks is kept: no group below k.
"""

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from faceveil.errors import GroupingError, UsageError
from faceveil.grouping.arrays import Ints
from faceveil.grouping.grouper import Grouper, Stay, Units, even_sizes

Linkage = Literal["single", "complete", "average", "ward"]
MOST_ROWS = 40_000  # the tree needs all pair-wise distances: 6.4 GB here


class Hierarchical(Grouper):
    """Groups cut out of a merge tree; `linkage` is single, complete, average or ward."""

    id = "hierarchical"

    def __init__(
        self, k: int, *, seed: int | None = None, stay: Stay = "together", linkage: Linkage = "ward"
    ) -> None:
        super().__init__(k, seed=seed, stay=stay)
        if linkage not in get_args(Linkage):
            raise UsageError(f"linkage must be one of {', '.join(get_args(Linkage))}; {linkage!r} came.")
        self.linkage = linkage

    def _split(self, units: Units, rng: np.random.Generator) -> Ints:
        from faceveil.grouping.pruning import cut_groups

        merges = merge_tree(units.X, self.linkage)
        return np.asarray(cut_groups(merges, even_sizes(len(units), self.k), self.k))


def merge_tree(X: NDArray[np.floating], linkage: Linkage) -> NDArray[np.int64]:
    """The merges in order of height, as pairs of nodes; node n+i is merge i."""
    return np.ascontiguousarray(merge_heights(X, linkage)[:, :2].astype(np.int64))


def merge_heights(X: NDArray[np.floating], linkage: Linkage) -> NDArray[np.float64]:
    """scipy's linkage matrix (two nodes, height, leaves), refused where it would not fit in memory."""
    from scipy.cluster.hierarchy import linkage as link

    if len(X) > MOST_ROWS:
        raise GroupingError(
            f"hierarchical needs all pair-wise distances: at most {MOST_ROWS:,} rows; {len(X):,} came."
            " Use the grouper best, which has no such limit and loses less."
        )
    return np.asarray(link(X.astype(np.float64), linkage))
