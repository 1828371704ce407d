"""How results show themselves: a plain table in a terminal, the same as HTML in a notebook.

Only what is released is ever shown as a picture: a notebook keeps what it shows, and originals do not belong there.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

MOST_ROWS, MOST_PICTURES = 20, 12
SIDE = 160  # pixels of a small picture


@dataclass(frozen=True, eq=False)
class Table:
    """What a result has to say: a title, rows of cells, sentences below them, pictures (RGB arrays) above."""

    title: str
    head: tuple[str, ...] = ()
    rows: Sequence[Sequence[object]] = ()
    notes: Sequence[str] = ()
    pictures: Sequence[Any] = ()


class Displayed:
    """A result that shows its table; a dataclass among them is made with `repr=False`."""

    def table(self) -> Table:
        """What there is to show."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return as_text(self.table())

    __str__ = __repr__

    def _repr_html_(self) -> str:
        return as_html(self.table())


def as_text(table: Table) -> str:
    """Columns under their heads, as wide as their widest cell."""
    lines = [list(map(_printable, table.head)), *_cells(table)] if table.rows else []
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    rows = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in lines]
    return "\n".join([_printable(table.title), *rows, *_more(table), *map(_printable, table.notes)])


def as_html(table: Table) -> str:
    """The same, with everything escaped and nothing to fetch or run."""
    from html import escape

    def row(cells: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(_printable(cell))}</{tag}>" for cell in cells) + "</tr>"

    body = "".join(row(cells, "td") for cells in _cells(table))
    grid = f"<table><thead>{row(table.head, 'th')}</thead><tbody>{body}</tbody></table>" if table.rows else ""
    below = "".join(f"<p>{escape(_printable(note))}</p>" for note in (*_more(table), *table.notes))
    pictures = "".join(map(_picture, table.pictures[:MOST_PICTURES]))
    return f"<div><p><b>{escape(_printable(table.title))}</b></p>{pictures}{grid}{below}</div>"


def _cells(table: Table) -> list[list[str]]:
    return [[_printable(str(cell)) for cell in row] for row in table.rows[:MOST_ROWS]]


def _more(table: Table) -> list[str]:
    more = len(table.rows) - MOST_ROWS
    return [f"… and {more} more"] if more > 0 else []


def _printable(text: str) -> str:
    """File names may hold what is no text, or what a terminal would obey."""
    from faceveil.photos.names import shown

    return shown(text)


def _picture(pixels: Any) -> str:
    import base64
    import io

    from PIL import Image

    small, file = Image.fromarray(pixels), io.BytesIO()
    small.thumbnail((SIDE, SIDE))
    small.save(file, "PNG")
    data = base64.b64encode(file.getvalue()).decode("ascii")
    return f"<img alt='' src='data:image/png;base64,{data}'>"
