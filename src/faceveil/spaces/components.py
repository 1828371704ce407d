"""Principal components of long rows that come a batch at a time."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
MOST_FITTED = 2000  # faces from which components are learned; more would add time and no detail


@dataclass(frozen=True, eq=False)
class Components:
    """A mean and unit axes, by falling variance. Rows are taken one at a time: the sums of a matrix product
    depend on how many rows it has, and a face's numbers must not depend on its company."""

    mean: Floats
    axes: Floats  # c × d
    variance: Floats  # c

    def project(self, rows: Floats) -> Floats:
        """d numbers to c."""
        return np.array([self.axes @ (row - self.mean) for row in rows], np.float32)

    def restore(self, coordinates: Floats) -> Floats:
        """c numbers back to d."""
        return np.array([self.mean + row @ self.axes for row in coordinates], np.float32)


def principal_components(
    rows_of: Callable[[NDArray[np.int64]], Floats], count: int, components: int
) -> Components:
    """The leading components of `count` rows, which `rows_of` gives a batch at a time (IncrementalPCA).

    At most 2,000 rows, evenly spread, are learned from. Memory: two batches of about 2 × `components` rows.
    """
    from sklearn.decomposition import IncrementalPCA

    chosen = np.unique(np.linspace(0, count - 1, min(count, MOST_FITTED)).astype(np.int64))
    components = min(components, max(1, len(chosen) - 1))
    pca = IncrementalPCA(n_components=components)
    for batch in _large_batches(chosen, components):
        pca.partial_fit(rows_of(batch))
    return Components(
        pca.mean_.astype(np.float32), pca.components_.astype(np.float32),
        pca.explained_variance_.astype(np.float32),
    )  # fmt: skip


def _large_batches(rows: NDArray[np.int64], components: int) -> Iterator[NDArray[np.int64]]:
    """Batches that hold at least as many rows as there are components, which IncrementalPCA needs."""
    pieces = max(1, len(rows) // max(2 * components, 64))
    yield from np.array_split(rows, pieces)
