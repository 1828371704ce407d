"""NumPy's files, read by one thread at a time.

NumPy has Python parse each array's header, and the parser of CPython 3.11 fails now and then when several threads use
it at once ("AST constructor recursion depth mismatch").
"""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_one_at_a_time = threading.RLock()


@contextmanager
def opened(path: Path) -> Iterator[Mapping[str, NDArray[Any]]]:
    """The arrays of an .npz by name."""
    with _one_at_a_time, np.load(path, allow_pickle=False) as stored:
        yield stored


def mapped(path: Path) -> NDArray[Any]:
    """The array of an .npy, left on the disk until it is used."""
    with _one_at_a_time:
        found: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
        return found
