"""Tables of numbers, codes and categories: MIKU's claim that any data can be anonymised by grouping and
unifying.

The columns that could point at a person (quasi-identifiers) are turned into vectors, grouped, and unified:
every group gets one value per column. Other columns stay as they are; leave identifiers out of what you
publish.

number    scaled to the range 0…1; unified to the mean (a whole number when all values are whole)
code      digits or letters whose first places say most, as in a ZIP code; unified to the common beginning,
012* category  one of a few names; unified to the name that all share, or *
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from faceveil.errors import UsageError
from faceveil.grouping.partition import Partition

Kind = Literal["number", "code", "category"]
Table = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Unified:
    """A table whose quasi-identifiers are the same within each group, and the partition behind it."""

    table: dict[str, list[str]]
    partition: Partition


def kind_of(values: Sequence[str]) -> Kind:
    """number where every value reads as one and none starts with a 0 that means something, else category."""
    if all(_is_number(value) for value in values):
        coded = any(len(v) > 1 and v.startswith("0") and "." not in v for v in map(str.strip, values))
        return "code" if coded else "number"
    return "category"


def vectors_of(table: Table, columns: Mapping[str, Kind]) -> NDArray[np.float64]:
    """One row of numbers per row of the table; each column weighs the same."""
    if not columns:
        raise UsageError("Name the columns that could point at a person, for example AGE or ZIP-CODE:code.")
    parts = []
    for name, kind in columns.items():
        if name not in table:
            raise UsageError(f"The table has no column {name!r}; it has {', '.join(table)}.")
        if kind not in get_args(Kind):
            raise UsageError(f"A column is a number, code or category; {name} was called {kind!r}.")
        parts.append(_ENCODERS[kind](name, table[name]))
    return np.concatenate(parts, axis=1)


def anonymize_table(
    table: Table,
    k: int,
    columns: Mapping[str, Kind] | Sequence[str],
    grouper: str = "best",
    seed: int | None = None,
    **options: Any,
) -> Unified:
    """Group the rows by `columns` (kinds are guessed where only names are given) and unify those columns."""
    from faceveil.grouping import group

    kinds = dict(columns) if isinstance(columns, Mapping) else {c: kind_of(table.get(c, ())) for c in columns}
    partition = group(vectors_of(table, kinds), k, grouper, seed=seed, **options)
    return Unified(unify(table, partition, kinds), partition)


def unify(table: Table, partition: Partition, kinds: Mapping[str, Kind]) -> dict[str, list[str]]:
    """The released rows of the table, with one value per group in the columns of `kinds`."""
    unified = {name: list(values) for name, values in table.items()}
    for name, kind in kinds.items():
        for rows in partition.groups:
            value = _UNIFIERS[kind]([table[name][row] for row in rows])
            for row in rows:
                unified[name][row] = value
    released = np.flatnonzero(partition.labels >= 0)
    return {name: [values[row] for row in released] for name, values in unified.items()}


def _is_number(value: str) -> bool:
    try:
        return bool(np.isfinite(float(value)))
    except ValueError:
        return False


def _numbers(name: str, values: Sequence[str]) -> NDArray[np.float64]:
    bad = next((v for v in values if not _is_number(v)), None)
    if bad is not None:
        raise UsageError(
            f"Column {name} is called a number and holds {bad!r}. Call it a category or repair it."
        )
    column = np.array([float(v) for v in values])[:, None]
    width = float(np.ptp(column)) if len(column) else 0.0
    return np.asarray((column - column.min()) / width) if width > 0 else np.zeros_like(column)


def _categories(name: str, values: Sequence[str]) -> NDArray[np.float64]:
    """One column per name; two different names lie at distance 1."""
    levels, codes = np.unique(np.asarray(values, dtype=str), return_inverse=True)
    return np.asarray(np.eye(len(levels))[codes] / np.sqrt(2.0))


def _codes(name: str, values: Sequence[str]) -> NDArray[np.float64]:
    """Every beginning of a code is a category: codes that differ late are near."""
    longest = max(map(len, values), default=0)
    parts = [_categories(name, [v[: place + 1] for v in values]) for place in range(longest)]
    return np.asarray(np.concatenate(parts, axis=1) / np.sqrt(longest))


def _one_number(values: Sequence[str]) -> str:
    mean = float(np.mean([float(v) for v in values]))
    whole = all(float(v) == int(float(v)) for v in values)
    return str(round(mean)) if whole else f"{mean:.6g}"


def _one_code(values: Sequence[str]) -> str:
    same = 0
    while all(len(v) > same for v in values) and len({v[same] for v in values}) == 1:
        same += 1
    return values[0][:same] + "*" * (max(map(len, values)) - same)


def _one_category(values: Sequence[str]) -> str:
    return values[0] if len(set(values)) == 1 else "*"


_ENCODERS = {"number": _numbers, "code": _codes, "category": _categories}
_UNIFIERS = {"number": _one_number, "code": _one_code, "category": _one_category}
