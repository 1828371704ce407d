"""same-size-kmeans: k-means whose groups stay equally large.

The "same-size k-means variation" of the ELKI data mining framework (tutorial by E. Schubert), "elki" in
AnonFACES.

⌊n/k⌋ means are drawn by k-means++. Rows are dealt to them in the order of what they stand to lose (distance
to the nearest mean against distance to the farthest), each to the nearest mean whose group is not full. Then,
until nothing moves: means are recomputed, and rows that would gain by leaving, the one with most to gain
first, exchange places with a row that waits to leave the other group when both together gain, or just move
where sizes allow.

Cost: O(n²·d / k) time per round and O(n² / k) memory.
Choices: sizes lie between ⌊n/m⌋ and ⌈n/m⌉ for m = ⌊n/k⌋ groups; at most `rounds` rounds; start="random" draws
the means uniformly, which is the "random method" in figure 2 of AnonFACES.
"""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from faceveil.errors import UsageError
from faceveil.grouping.arrays import Ints
from faceveil.grouping.grouper import Grouper, Stay, Units, even_sizes
from faceveil.grouping.measures import group_means


class SameSizeKMeans(Grouper):
    """k-means with equal sizes, improved by exchanges."""

    id = "same-size-kmeans"

    def __init__(
        self,
        k: int,
        *,
        seed: int | None = None,
        stay: Stay = "together",
        start: Literal["k-means++", "random"] = "k-means++",
        rounds: int = 20,
    ) -> None:
        super().__init__(k, seed=seed, stay=stay)
        if start not in ("k-means++", "random"):
            raise UsageError(f'start must be "k-means++" or "random"; {start!r} came.')
        self.start = start
        self.rounds = rounds

    def _split(self, units: Units, rng: np.random.Generator) -> Ints:
        X = units.X.astype(np.float64)
        sizes = even_sizes(len(X), self.k)
        first = _plus_plus(X, len(sizes), rng) if self.start == "k-means++" else rng.permutation(len(X))
        labels = _deal(_squared(X, X[first[: len(sizes)]]), sizes)
        for _ in range(self.rounds):
            if not _exchange(labels, _squared(X, group_means(X, labels)), sizes.min(), sizes.max()):
                break
        return labels


def _squared(X: NDArray[np.float64], means: NDArray[np.float64]) -> NDArray[np.float64]:
    from scipy.spatial.distance import cdist

    return np.asarray(cdist(X, means, "sqeuclidean"))


def _plus_plus(X: NDArray[np.float64], count: int, rng: np.random.Generator) -> Ints:
    """`count` rows, each drawn with the probability of its squared distance to those before it."""
    chosen = [int(rng.integers(len(X)))]
    nearest = ((X - X[chosen[0]]) ** 2).sum(axis=1)
    while len(chosen) < count:
        weight = nearest.sum()
        row = int(rng.choice(len(X), p=nearest / weight) if weight > 0 else rng.integers(len(X)))
        chosen.append(row)
        nearest = np.minimum(nearest, ((X - X[row]) ** 2).sum(axis=1))
    return np.array(chosen)


def _deal(far: NDArray[np.float64], sizes: Ints) -> Ints:
    """Rows with most to lose first, each to its nearest group with a free place."""
    labels = np.empty(len(far), dtype=np.int64)
    free = sizes.copy()
    todo = np.arange(len(far))
    while len(todo):
        open_ = np.flatnonzero(free)
        left = far[np.ix_(todo, open_)]
        best = open_[left.argmin(axis=1)]
        order = np.argsort(left.min(axis=1) - left.max(axis=1), kind="stable")
        done = []
        for at in order:
            if free[best[at]] == 0:
                break  # a group has filled up: who comes next is worth sorting again
            labels[todo[at]] = best[at]
            free[best[at]] -= 1
            done.append(at)
        todo = np.delete(todo, done)
    return labels


def _exchange(labels: Ints, far: NDArray[np.float64], smallest: int, largest: int) -> bool:
    """One round of exchanges in place; False when nothing moved."""
    counts = np.bincount(labels)
    gain = far[np.arange(len(far)), labels][:, None] - far
    waiting: list[list[int]] = [[] for _ in counts]
    moved = False
    for row in np.argsort(-gain.max(axis=1), kind="stable"):
        here = labels[row]
        wanted = np.flatnonzero(far[row] < far[row, here])
        for there in wanted[np.argsort(far[row, wanted], kind="stable")]:
            partner = next(
                (
                    r
                    for r in waiting[there]
                    if far[r, there] - far[r, here] + far[row, here] > far[row, there]
                ),
                None,
            )
            if partner is not None:
                waiting[there].remove(partner)
                labels[row], labels[partner] = there, here
            elif counts[here] > smallest and counts[there] < largest:
                labels[row] = there
                counts[here] -= 1
                counts[there] += 1
            else:
                continue
            moved = True
            break
        else:
            if len(wanted):
                waiting[here].append(int(row))
    return moved
