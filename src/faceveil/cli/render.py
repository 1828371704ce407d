"""What the commands print: a table on a terminal, plain text in a pipe, JSON on demand."""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from faceveil.models.index import Progress


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


@contextmanager
def download_bar() -> Iterator["Progress | None"]:
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
def stage_bars(total: int) -> Iterator[Callable[[str], None]]:
    """A function to call with the name of a stage for each photo done; it draws a bar per stage on a terminal."""
    if not sys.stderr.isatty():
        yield lambda stage: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    tasks: dict[str, TaskID] = {}
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:

        def progress(stage: str) -> None:
            if stage not in tasks:
                tasks[stage] = bar.add_task(stage, total=1 if stage.startswith("grouping") else total)
            bar.advance(tasks[stage])

        yield progress
