"""Which rows are near which: the graph along which groups grow and people change places.

Up to 12,000 rows, every row is compared with every other. More are cut into pieces of about half that, in
several ways; each row is compared with its pieces, and then with the near rows of its near rows. That last
step is NN-descent: W. Dong, M. Charikar and K. Li, "Efficient k-nearest neighbor graph construction for
generic similarity measures", WWW 2011.

Cost: O(n·d·log n) time with a large constant; `count` numbers per row.
"""

import numpy as np
from numpy.typing import NDArray

from faceveil.grouping.arrays import Ints
from faceveil.grouping.compiled import Array, compiled
from faceveil.grouping.halving import halves
from faceveil.grouping.region import NEVER
from faceveil.grouping.threads import on_all_cores

PIECE = 6000  # rows, at least, that are compared with each other in one look
LOOKS = 3
PER_LOOK = 8
DESCENTS = 2
TILE = 512
STRIP = 1024
CHUNK = 4096

Near = NDArray[np.int32]


def near_graph(X: NDArray[np.float32], count: int, rng: np.random.Generator) -> Near:
    """The `count` nearest rows of each row, nearest first, nearly all of them right; −1: there are fewer."""
    if len(X) < 2 * PIECE:
        return _look(X, count, [np.arange(len(X))])
    known = np.concatenate([_look(X, PER_LOOK, list(halves(X, PIECE, 1, rng))) for _ in range(LOOKS)], axis=1)
    for _ in range(DESCENTS):
        known = _descended(X, known, count)
    return known


def _descended(X: NDArray[np.float32], known: Near, count: int) -> Near:
    def chunk(start: int) -> Near:
        return np.asarray(descend(X, known, count, start, min(start + CHUNK, len(X))))

    with on_all_cores() as run:
        return np.concatenate(run(chunk, range(0, len(X), CHUNK)))


def _look(X: NDArray[np.float32], count: int, pieces: list[Ints]) -> Near:
    """Each row's nearest in its piece."""
    found = np.full((len(X), count), -1, dtype=np.int32)

    def tile(job: tuple[Ints, NDArray[np.float32], int]) -> None:
        rows, points, start = job
        some = np.arange(start, min(start + TILE, len(rows)))
        near = _nearest_of(points, start, start + len(some), count)
        found[rows[some]] = np.where(near >= 0, rows[near], -1)

    with on_all_cores() as run:
        for rows in pieces:
            points = X[rows]
            run(tile, [(rows, points, start) for start in range(0, len(rows), TILE)])
    return found


def _nearest_of(points: NDArray[np.float32], start: int, stop: int, count: int) -> Near:
    """The nearest of all points to those from `start` to `stop`, a strip of inner products at a time."""
    near = np.full((stop - start, count), -1, dtype=np.int32)
    far = np.full((stop - start, count), NEVER, dtype=np.float32)
    squares = np.einsum("ij,ij->i", points, points)
    for first in range(0, len(points), STRIP):
        strip = points[start:stop] @ points[first : first + STRIP].T
        sift(strip, squares[first : first + STRIP] / 2, start, first, near, far)
    return near


@compiled
def sift(strip: Array, half_squares: Array, start: int, first: int, near: Array, far: Array) -> None:
    """Note the near points of a strip: row i is point start+i, column j is point first+j.

    Thirty-two columns are passed over together where none of them is near.
    """
    last = near.shape[1] - 1
    for i in range(strip.shape[0]):
        for begin in range(0, strip.shape[1], 32):
            products = strip[i, begin : begin + 32]
            half = half_squares[begin : begin + 32]
            edge = far[i, last]
            hits = 0
            for t in range(len(products)):
                hits += half[t] - products[t] < edge
            if hits == 0:
                continue
            for t in range(len(products)):
                d = half[t] - products[t]
                j = first + begin + t
                if d < far[i, last] and j != start + i:
                    _insert(near[i], far[i], last, j, d)


@compiled
def nearest_in_gram(gram: Array, count: int) -> Array:
    """The `count` nearest other rows of each row, nearest first."""
    n = len(gram)
    near = np.empty((n, count), dtype=np.int32)
    if count == 0:
        return near
    far = np.empty(count, dtype=np.float32)
    squares = np.empty(n, dtype=np.float32)
    for i in range(n):
        squares[i] = gram[i, i]
    for i in range(n):
        filled = 0
        for j in range(n):
            d = squares[j] - 2 * gram[i, j]
            if (filled == count and d >= far[count - 1]) or j == i:
                continue
            filled = min(filled + 1, count)
            _insert(near[i], far, filled - 1, j, d)
    return near


@compiled
def _insert(near: Array, far: Array, at: int, j: int, d: float) -> None:
    """Put row j, at distance d, in its place among the near rows up to `at`; the one there drops out."""
    while at > 0 and far[at - 1] > d:
        far[at] = far[at - 1]
        near[at] = near[at - 1]
        at -= 1
    far[at] = d
    near[at] = j


@compiled
def descend(X: Array, known: Array, count: int, start: int, stop: int) -> Array:
    """The `count` nearest of the rows known and of those that they know, for the rows from `start` to `stop`."""
    near = np.full((stop - start, count), -1, dtype=np.int32)
    far = np.empty(count, dtype=np.float32)
    seen = np.full(len(X), -1, dtype=np.int32)
    for i in range(start, stop):
        seen[i] = i
        filled = 0
        for a in range(-1, known.shape[1]):
            through = i if a < 0 else known[i, a]
            if through < 0:
                continue
            for b in range(known.shape[1]):
                j = known[through, b]
                if j < 0 or seen[j] == i:
                    continue
                seen[j] = i
                d = _squared_distance(X, i, j)
                if filled == count and d >= far[count - 1]:
                    continue
                filled = min(filled + 1, count)
                _insert(near[i - start], far, filled - 1, j, d)
    return near


@compiled
def _squared_distance(X: Array, i: int, j: int) -> float:
    total = np.float32(0)
    for t in range(X.shape[1]):
        gap = X[i, t] - X[j, t]
        total += gap * gap
    return float(total)
