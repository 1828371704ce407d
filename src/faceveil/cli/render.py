"""What the commands print: a table on a terminal, plain text in a pipe, JSON on demand."""

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.progress import Progress

    from faceveil.models.index import Progress as Downloading


def print_json(value: object) -> None:
    from faceveil.photos import shown_in_json

    print(shown_in_json(json.dumps(value, indent=2, ensure_ascii=False, default=str)))


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A rich table on a terminal; in a pipe, tab-separated lines that `cut` and `awk` can read."""
    from faceveil.photos import shown

    rows = [[shown(cell) for cell in row] for row in rows]
    if not sys.stdout.isatty():
        for row in (head, *rows):
            print("\t".join(row))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*head)
    for row in rows:
        table.add_row(*map(Text, row))  # in which no bracket means a colour
    Console().print(table)


def megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB"


def painted(text: str, style: str, stream: TextIO) -> str:
    """The text in a colour (a name that click knows) on a terminal whose user has not asked for none."""
    import typer

    wanted = stream.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
    return typer.style(text, fg=style) if wanted else text


@contextmanager
def live() -> "Iterator[Progress | None]":
    """Lines that are kept up to date on a terminal, one per task, each with the time left; None in a pipe."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    left = TextColumn("left, after"), TimeElapsedColumn()
    columns = SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    with Progress(
        *columns, TimeRemainingColumn(), *left, console=Console(stderr=True), transient=True
    ) as lines:
        yield lines


@contextmanager
def counted(description: str, total: int | None) -> Iterator[Callable[..., None]]:
    """A function to call when one of so many is done, or with how many are and of how many."""
    with live() as lines:
        if lines is None:
            yield lambda *figures: None
            return
        task = lines.add_task(description, total=total)

        def step(done: int | None = None, of: int | None = None) -> None:
            if done is None:
                lines.advance(task)
            else:
                lines.update(task, completed=done, total=of)

        yield step


@contextmanager
def download_bar() -> Iterator["Downloading | None"]:
    """A progress callback that draws a bar per file on a terminal; None in a pipe."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, TaskID, TextColumn, TransferSpeedColumn
    from rich.progress import Progress as Bars

    columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn()
    tasks: dict[str, TaskID] = {}
    with Bars(*columns, console=Console(stderr=True)) as bars:

        def progress(name: str, done: int, total: int) -> None:
            task = tasks.setdefault(name, TaskID(-1))
            if task == -1:
                task = tasks[name] = bars.add_task(name, total=total)
            bars.update(task, completed=done)

        yield progress


@contextmanager
def stage_bars(total: int, first: str) -> Iterator[Callable[[str], None]]:
    """A function to call with the name of a stage for each photo done: a line per stage, the first at once."""
    with live() as lines:
        if lines is None:
            yield lambda stage: None
            return
        tasks = {first: lines.add_task(first, total=total)}

        def progress(stage: str) -> None:
            if stage not in tasks:
                tasks[stage] = lines.add_task(stage, total=1 if stage.startswith("grouping") else total)
            lines.advance(tasks[stage])

        yield progress
