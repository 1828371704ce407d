"""Engines: where the work of a run happens. All give the same bytes; results come as they are ready.

An engine takes a function and items and yields what the function returns. A network's call, OpenCV and matrix
products use one thread each in every engine, so parallelism cannot change a result, and nothing waits for cores.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from functools import partial
from itertools import islice
from threading import Thread
from typing import Protocol, TypeVar

from faceveil.errors import FaceveilError, UsageError
from faceveil.models.runtime import allow_threads, threads_wanted, usable_cores

Item = TypeVar("Item")
Result = TypeVar("Result")


class Engine(Protocol):
    """Apply a function to every item."""

    def __call__(self, work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]: ...


def serial(work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """One after the other, here."""
    with _one_thread():
        yield from map(work, items)


def threads(
    work: Callable[[Item], Result], items: Iterable[Item], *, workers: int | None = None
) -> Iterator[Result]:
    """In several threads of this process: one start-up, and networks in memory once.

    Nearly all time is spent in decoders and networks, which let other threads run. By default there is one thread
    more than cores, since now and then one waits for the disk; networks serve as many at a time as there are cores.
    """
    count = workers or usable_cores() + 1
    allow_threads(workers or usable_cores())
    pool = ThreadPoolExecutor(count)
    try:
        with _one_thread():
            yield from _as_ready(pool, count, work, items)
    finally:
        pool.shutdown(cancel_futures=True)


def processes(
    work: Callable[[Item], Result], items: Iterable[Item], *, workers: int | None = None
) -> Iterator[Result]:
    """In several processes: a crash of one ends the run but not this program."""
    import multiprocessing  # threads start without it
    from concurrent.futures import ProcessPoolExecutor

    workers = workers or usable_cores()
    # A fresh interpreter per worker: a forked one would inherit threads that no longer run.
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), initializer=_begin_worker)
    try:
        yield from _as_ready(pool, workers, work, items)
    except BrokenExecutor as error:
        raise FaceveilError(
            "a worker process ended suddenly, perhaps for lack of memory. Go on with --resume and fewer --workers."
        ) from error
    finally:
        pool.shutdown(cancel_futures=True)


def _as_ready(
    pool: Executor, workers: int, work: Callable[[Item], Result], items: Iterable[Item]
) -> Iterator[Result]:
    """Results as they come. Only a few items wait at a time, so memory does not grow with their number."""
    waiting = iter(items)
    running: set[Future[Result]] = {pool.submit(work, item) for item in islice(waiting, 2 * workers)}
    while running:
        done, running = wait(running, return_when=FIRST_COMPLETED)
        running |= {pool.submit(work, item) for item in islice(waiting, len(done))}
        for future in done:
            yield future.result()


ENGINES = {"threads": threads, "processes": processes}


def engine(name: str, workers: int | None = None) -> Engine:
    """An engine by name."""
    if name == "serial":
        return serial
    if name == "auto":
        name = "threads" if threads_wanted(name, workers) else "processes"
    if name in ENGINES:
        return partial(ENGINES[name], workers=workers)
    raise UsageError(f"no engine {name!r}; there are auto, serial, threads and processes.")


def _begin_worker() -> None:
    """A worker ends with its program, even one that is killed: else it writes one more photo and waits for ever."""
    from multiprocessing import connection, parent_process

    parent = parent_process()
    assert parent is not None

    def end_with_it() -> None:
        connection.wait([parent.sentinel])
        os._exit(1)

    Thread(target=end_with_it, daemon=True).start()
    _one_thread()


def _one_thread() -> AbstractContextManager[object]:
    """From now on; matrix products until the end of the block, since groupers want all cores."""
    import cv2
    from threadpoolctl import threadpool_limits

    cv2.setNumThreads(1)
    return threadpool_limits(limits=1)  # type: ignore[no-any-return]
