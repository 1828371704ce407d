"""Windows: a square of the generator's picture, and which part of each of its maps that is."""

from dataclasses import dataclass

CELLS = 64  # of a side of the picture, in which windows are measured


@dataclass(frozen=True)
class Part:
    """A rectangle of a square map, in its pixels."""

    top: int
    left: int
    bottom: int
    right: int

    def doubled(self) -> "Part":
        return Part(2 * self.top, 2 * self.left, 2 * self.bottom, 2 * self.right)

    def within(self, shown: "Part") -> tuple[slice, slice]:
        """Rows and columns of this part in a map that shows another."""
        return (
            slice(self.top - shown.top, self.bottom - shown.top),
            slice(self.left - shown.left, self.right - shown.left),
        )


@dataclass(frozen=True)
class Window:
    """A square of the picture, in cells of 1/64 of its side."""

    top: int
    left: int
    side: int

    def part(self, size: int, margin: int = 0) -> Part:
        """Where the window lies in a map of that size, with pixels around it as far as the map goes."""
        first = (max(0, begin * size // CELLS - margin) for begin in (self.top, self.left))
        last = (
            min(size, -(-(begin + self.side) * size // CELLS) + margin) for begin in (self.top, self.left)
        )
        return Part(*first, *last)


WHOLE = Window(0, 0, CELLS)
