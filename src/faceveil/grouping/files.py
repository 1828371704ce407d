"""Vectors, subjects, tables and groups on disk."""

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np

from faceveil.errors import UsageError
from faceveil.grouping.arrays import Floats
from faceveil.grouping.partition import Partition
from faceveil.grouping.tables import Kind, kind_of


def read_vectors(path: Path) -> Floats:
    """An array from .npy, the one array of numbers in .npz, or the numbers of a .csv."""
    _refuse_no_file(path)
    if path.suffix in (".npy", ".npz"):
        try:
            return _only_numbers(path) if path.suffix == ".npz" else _whole(path)
        except UsageError:
            raise
        except MemoryError as error:
            raise UsageError(f"{path} says that it holds more than fits in memory ({error}).") from error
        except Exception as error:  # damaged files raise all kinds of errors
            raise UsageError(
                f"{path} cannot be read as vectors: {error}. Save it with numpy.save."
            ) from error
    if path.suffix != ".csv":
        raise UsageError(f"Vectors come as .npy, .npz or .csv; {path.name} came.")
    table = read_table(path)
    words = [name for name, values in table.items() if kind_of(values) == "category"]
    if words:
        raise UsageError(
            f"Column {words[0]} of {path} is not a number. Name the columns to group by with --columns."
        )
    return np.array([[float(value) for value in values] for values in table.values()]).T


def _whole(path: Path) -> Floats:
    """All of an .npy; one whose header promises more than the file holds is refused before memory is asked for."""
    return np.array(np.load(path, mmap_mode="r", allow_pickle=False))


def _only_numbers(path: Path) -> Floats:
    with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        found = [name for name in arrays.files if arrays[name].dtype.kind in "fiu" and arrays[name].ndim > 1]
        if len(found) != 1:
            raise UsageError(f"{path} should hold one array of vectors; it holds {len(found)}: {found}.")
        return np.asarray(arrays[found[0]])


def read_table(path: Path) -> dict[str, list[str]]:
    """The columns of a CSV file with a header."""
    _refuse_no_file(path)
    try:
        with path.open(newline="", encoding="utf-8-sig") as lines:
            header, *rows = csv.reader(lines)
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not in UTF-8 ({error.reason}). Save it as CSV in UTF-8.") from error
    except (OSError, ValueError, csv.Error) as error:
        raise UsageError(f"{path} cannot be read as a CSV file with a header: {error}.") from error
    uneven = next((i for i, row in enumerate(rows, 2) if len(row) != len(header)), None)
    if uneven is not None:
        raise UsageError(
            f"{path}, line {uneven}: {len(rows[uneven - 2])} fields where the header has {len(header)}."
        )
    return {name: [row[i] for row in rows] for i, name in enumerate(header)}


def _refuse_no_file(path: Path) -> None:
    """Reading a pipe would wait for its writer, and a device may never end."""
    if path.exists() and not path.is_file():
        raise UsageError(f"{path} cannot be read: it is a folder, pipe or device. Give a file.")


def read_subjects(path: Path) -> list[str]:
    """The last column of a CSV file: one person for each vector."""
    table = read_table(path)
    return table[list(table)[-1]]


def parse_columns(text: str, table: dict[str, list[str]]) -> dict[str, Kind]:
    """AGE,ZIP:code → each column and its kind, guessed where it is not given."""
    kinds: dict[str, Kind] = {}
    for item in text.split(","):
        name, _, kind = item.strip().partition(":")
        if name not in table:
            raise UsageError(f"The table has no column {name!r}; it has {', '.join(table)}.")
        kinds[name] = kind or kind_of(table[name])  # type: ignore[assignment]
    return kinds


def parse_rule(text: str, table: dict[str, list[str]]) -> tuple[str, float, str | None]:
    """disease=3:entropy → the column, the number, the kind."""
    column, _, rest = text.rpartition("=")
    number, _, kind = rest.partition(":")
    if column not in table:
        raise UsageError(f"The attributes have no column {column!r}; they have {', '.join(table)}.")
    try:
        return column, float(number), kind or None
    except ValueError as error:
        raise UsageError(f"A criterion reads column=number, as disease=3; {text!r} came.") from error


def parse_options(items: list[str]) -> dict[str, Any]:
    """name=value, with numbers as numbers."""
    options: dict[str, Any] = {}
    for item in items:
        name, equals, value = item.partition("=")
        if not equals:
            raise UsageError(f"--set takes name=value, as effort=4; {item!r} came.")
        options[name.replace("-", "_")] = typed([value])[0]
    return options


def typed(values: list[str]) -> list[Any]:
    """Whole numbers or numbers where all values are, else text."""
    for kind in (int, float):
        try:
            return [kind(value) for value in values]
        except ValueError:
            continue
    return list(values)


def groups_csv(partition: Partition, who: list[str] | None) -> bytes:
    """row,group (and subject); a suppressed row has no group."""
    head = ["row", "group", *(["subject"] if who else [])]
    rows = [
        [row, label if label >= 0 else "", *([who[row]] if who else [])]
        for row, label in enumerate(partition.labels)
    ]
    return _csv([head, *rows])


def table_csv(table: dict[str, list[str]]) -> bytes:
    """A table as CSV."""
    return _csv([list(table), *zip(*table.values(), strict=True)])


def _csv(rows: list[Any]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()
