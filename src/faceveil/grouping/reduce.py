"""Long vectors made short: the leading principal components, from random projections, a block at a time.

N. Halko, P. G. Martinsson and J. A. Tropp, "Finding structure with randomness", SIAM Review 53(2), 2011,
algorithm 4.4 (subspace iteration).
"""

import numpy as np
from numpy.typing import NDArray

from faceveil.grouping.arrays import Floats

BLOCK = 4096


def shorten(X: Floats, components: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """`X` in its leading `components` principal axes; O(n·d·components) time, one block of rows in memory."""
    centre = X.mean(axis=0, dtype=np.float64).astype(np.float32)
    peak = max((float(np.abs(rows - centre).max()) for rows in _blocks(X)), default=0.0) or 1.0
    axes = rng.standard_normal((X.shape[1], components + 16)).astype(np.float32)
    for _ in range(3):
        image = np.zeros_like(axes)
        for rows in _blocks(X):
            part = ((rows - centre) / peak).astype(np.float32)
            image += part.T @ (part @ axes)
        axes = np.linalg.qr(image)[0]
    coordinates = np.concatenate([((rows - centre) / peak).astype(np.float32) @ axes for rows in _blocks(X)])
    turn = np.linalg.svd((coordinates.T @ coordinates).astype(np.float64))[0][:, :components]
    return np.asarray(coordinates @ turn.astype(np.float32))


def _blocks(X: Floats) -> list[Floats]:
    return [X[start : start + BLOCK] for start in range(0, len(X), BLOCK)]
