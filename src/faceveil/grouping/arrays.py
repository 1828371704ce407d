"""What comes in: vectors and subjects, checked once and never changed."""

import math
from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from faceveil.errors import GroupingError, UsageError

Floats = NDArray[np.floating[Any]]
Ints = NDArray[np.int64]


def as_vectors(X: ArrayLike) -> Floats:
    """`X` as an n×d array of finite floats; longer shapes (W+, images) are flattened per row."""
    raw = np.asarray(X)
    if raw.dtype.kind not in "fiub":
        raise UsageError(f"Vectors must be numbers; these are {raw.dtype}. Encode categories first.")
    if raw.ndim == 0:
        raise UsageError("Vectors must be an array with one row per photo; a single number came.")
    vectors = raw if raw.ndim == 2 else raw.reshape(len(raw), -1 if raw.size else 0)
    if vectors.dtype not in (np.float32, np.float64):
        vectors = vectors.astype(np.float64)
    _refuse_beyond(_largest_allowed(vectors), vectors)
    return vectors


def _largest_allowed(vectors: Floats) -> float:
    """Squares of sums over all rows, added up over the columns, must still be numbers: else nothing is nearest."""
    rows, columns = vectors.shape
    largest = float(np.finfo(vectors.dtype).max)
    return float(math.sqrt(largest / max(1, columns)) / (2 * max(1, rows)))


def _refuse_beyond(limit: float, vectors: Floats) -> None:
    for start in range(0, len(vectors), 16384):
        largest = np.abs(vectors[start : start + 16384]).max(axis=1, initial=0.0)
        good = largest <= limit  # false of NaN too
        if good.all():
            continue
        row = start + int(np.argmin(good))
        if not np.isfinite(largest[row - start]):
            raise UsageError(f"Vectors must be finite; row {row} holds NaN or infinity. Remove or repair it.")
        raise UsageError(
            f"Vectors must be small enough to square: row {row} holds {largest[row - start]:.3g}, and {limit:.3g} is "
            f"the most in {vectors.dtype} for so many. Divide all vectors by the same number."
        )


def as_subjects(subjects: Iterable[Hashable] | None, n: int) -> Ints:
    """Subjects as numbers 0…s−1 in order of appearance; without subjects each row is its own person."""
    if subjects is None:
        return np.arange(n)
    names = list(subjects)
    if len(names) != n:
        raise UsageError(f"Each vector needs one subject; {n} vectors and {len(names)} subjects came.")
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(_plain(name), len(numbers)) for name in names], dtype=np.int64)


def _plain(name: Hashable) -> Hashable:
    if name is None or (isinstance(name, float) and name != name):
        raise UsageError("A subject is missing (None or NaN). Name every person, or leave subjects out.")
    return name


def check_k(k: int) -> int:
    """`k` as an int of at least 1."""
    if isinstance(k, bool) or int(k) != k or k < 1:
        raise UsageError(f"k must be a whole number of at least 1; {k!r} came.")
    return int(k)


def check_enough(people: int, k: int) -> None:
    """Refuse fewer people than one group needs."""
    if people < k:
        wanted = "Add photos." if people == 0 else f"Lower k to {people} or less, or add photos."
        raise GroupingError(f"k={k} needs at least {k} people; these vectors show {people}. {wanted}")


def unit_float32(vectors: Floats) -> NDArray[np.float32]:
    """A centred float32 copy whose largest entry is 1, so that products neither overflow nor drown."""
    centre = vectors.mean(axis=0, dtype=np.float64)
    copy = np.empty(vectors.shape, dtype=np.float32)
    peak = 0.0
    for start in range(0, len(vectors), 16384):
        rows = slice(start, start + 16384)
        peak = max(peak, float(np.abs(vectors[rows] - centre).max(initial=0.0)))
    scale = 1.0 / peak if peak > 0 and np.isfinite(1.0 / peak) else 0.0
    for start in range(0, len(vectors), 16384):
        rows = slice(start, start + 16384)
        copy[rows] = (vectors[rows] - centre) * scale
    return copy
