"""Figures of the analyses as SVG: lines for the searches (StyleID, figures 3a, 3b and 5), bars for appendix A."""

from collections.abc import Iterable, Mapping, Sequence

from faceveil.methods.styleid.channels import Block, Step
from faceveil.methods.styleid.layers import Window

WIDTH, HEIGHT, MARGIN = 720, 360, 48
ROW = 20  # px of one bar
NAMES = 150  # px for the names of the bars
COLOURS = (
    "#888888", "#1b9e77", "#d95f02", "#7570b3", "#e7298a", "#66a61e", "#e6ab02", "#a6761d", "#1f78b4",
)  # fmt: skip
Points = Sequence[tuple[float, float]]


def draw(windows: Sequence[Window]) -> str:
    """Score against the first slot of the window, one line per width."""
    series = _series(("m = {}", window.width, window.first, window.score) for window in windows)
    return lines(series, "first slot of the window")


def draw_blocks(blocks: Sequence[Block]) -> str:
    """Score against the channel, one line per slot."""
    series = _series(("slot {}", block.slot, block.first, block.score) for block in blocks)
    return lines(series, "first channel of the block")


def draw_curve(steps: Sequence[Step]) -> str:
    """Identity distance against the number of channels swapped, one line per width of the blocks."""
    series = _series(("{} wide", step.width, step.channels, step.identity) for step in steps)
    return lines(series, "channels swapped, best blocks first")


def _series(points: Iterable[tuple[str, int, float, float]]) -> dict[str, Points]:
    """Points (x, y) by the number that their line is named after, the least first."""
    found: dict[int, list[tuple[float, float]]] = {}
    names: dict[int, str] = {}
    for name, number, x, y in points:
        found.setdefault(number, []).append((x, y))
        names[number] = name.format(number)
    return {names[number]: found[number] for number in sorted(found)}


def lines(series: Mapping[str, Points], label: str) -> str:
    """One line per series, its name beside it in its colour; the first is dashed."""
    points = [point for line in series.values() for point in line]
    across, up = (_Scale(values) for values in zip(*points, strict=True))
    parts = [_text(_x(across, x), HEIGHT - 26, f"{x:g}") for x in _ticks({x for x, _ in points})]
    parts.append(_text(WIDTH / 2, HEIGHT - 8, label))
    for value in (up.low, (up.low + up.high) / 2, up.high):
        y = _y(up, value)
        parts += [_grid(MARGIN, WIDTH - MARGIN, y), f'<text x="4" y="{y + 4:.1f}">{value:.2f}</text>']
    for number, (name, line) in enumerate(series.items()):
        colour = COLOURS[number % len(COLOURS)]
        path = " ".join(f"{_x(across, x):.1f},{_y(up, y):.1f}" for x, y in sorted(line))
        dash = ' stroke-dasharray="4 3"' if number == 0 else ""
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>')
        parts.append(f'<text x="{WIDTH - 52}" y="{30 + 16 * number}" fill="{colour}">{name}</text>')
    return _document(parts, HEIGHT)


def bars(values: Mapping[str, float], label: str) -> str:
    """One bar per name, to the left of the middle where the value is below zero."""
    height = MARGIN + ROW * len(values)
    furthest = max(abs(value) for value in values.values()) or 1.0
    middle, reach = NAMES + (WIDTH - NAMES) / 2, (WIDTH - NAMES) / 2 - MARGIN
    parts = [_text(middle, height - 12, label)]
    for row, (name, value) in enumerate(values.items()):
        y, length = 8 + ROW * row, abs(value) / furthest * reach
        left, colour = (middle, COLOURS[1]) if value >= 0 else (middle - length, COLOURS[2])
        parts.append(f'<text x="4" y="{y + 13}">{name}</text>')
        parts.append(
            f'<rect x="{left:.1f}" y="{y}" width="{length:.1f}" height="{ROW - 6}" fill="{colour}"/>'
        )
        place = left + length + 20 if value >= 0 else left - 20
        parts.append(_text(place, y + 12, f"{value:.2f}"))
    return _document(parts, height)


class _Scale:
    """The range of values along an axis."""

    def __init__(self, values: Sequence[float]) -> None:
        self.low, self.high = min(values), max(values)

    def share(self, value: float) -> float:
        return (value - self.low) / max(self.high - self.low, 1e-9)


def _ticks(values: set[float]) -> list[float]:
    """All values, or some of them where they would not find room."""
    ordered = sorted(values)
    return ordered[:: -(-len(ordered) // 24)]


def _x(across: _Scale, value: float) -> float:
    return MARGIN + across.share(value) * (WIDTH - 2.6 * MARGIN)


def _y(up: _Scale, value: float) -> float:
    return HEIGHT - MARGIN - up.share(value) * (HEIGHT - 2 * MARGIN)


def _text(x: float, y: float, text: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.0f}" text-anchor="middle">{text}</text>'


def _grid(left: float, right: float, y: float) -> str:
    return f'<line x1="{left}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}" stroke="#dddddd"/>'


def _document(parts: Sequence[str], height: float) -> str:
    head = (
        '<svg xmlns="http://www.w3.org/2000/svg" font-family="sans-serif" font-size="12" '
        f'viewBox="0 0 {WIDTH} {height}">'
    )
    return "\n".join([head, f'<rect width="{WIDTH}" height="{height}" fill="white"/>', *parts, "</svg>", ""])
