"""Tables of the analyses: rows are dataclasses, columns their fields, files CSV."""

import csv
from collections.abc import Sequence
from dataclasses import astuple, fields
from pathlib import Path
from typing import Any, TypeVar

Row = TypeVar("Row")


def write_table(rows: Sequence[Any], path: Path) -> None:
    """One line per row, in their order."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([field.name for field in fields(rows[0])])
        writer.writerows(astuple(row) for row in rows)


def read_rows(kind: type[Row], path: Path) -> list[Row]:
    """Rows that `write_table` wrote; the fields' types say what each column holds."""
    with path.open(newline="", encoding="utf-8") as file:
        return [
            kind(**{field.name: field.type(line[field.name]) for field in fields(kind)})  # type: ignore[arg-type, operator]
            for line in csv.DictReader(file)
        ]
