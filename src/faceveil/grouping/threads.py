"""Work in pieces on all cores, with the same result on any number of them."""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from threadpoolctl import threadpool_limits

Piece = TypeVar("Piece")
Result = TypeVar("Result")


@contextmanager
def on_all_cores() -> Iterator[Callable[[Callable[[Piece], Result], Iterable[Piece]], list[Result]]]:
    """A `map` over threads; matrix products inside it run on one core each, so that they never differ."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with threadpool_limits(limits=1), ThreadPoolExecutor(cores) as pool:
        yield lambda work, pieces: list(pool.map(work, pieces))
