"""Work in pieces on all cores, with the same result on any number of them."""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

from threadpoolctl import threadpool_limits

Piece = TypeVar("Piece")
Result = TypeVar("Result")


class Run(Protocol):
    """`map`, in one way or another."""

    def __call__(self, work: Callable[[Piece], Result], pieces: Iterable[Any]) -> list[Result]:
        """The results of `work`, in the order of `pieces`."""


def one_after_the_other(work: Callable[[Piece], Result], pieces: Iterable[Any]) -> list[Result]:
    """`map`, on this thread."""
    return [work(piece) for piece in pieces]


@contextmanager
def on_all_cores() -> Iterator[Run]:
    """`map` over threads; matrix products inside it run on one core each, so that they never differ."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with threadpool_limits(limits=1), ThreadPoolExecutor(cores) as pool:
        yield lambda work, pieces: list(pool.map(work, pieces))
