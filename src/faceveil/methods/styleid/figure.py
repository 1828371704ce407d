"""The figure of the layer search: score against the first slot, one line per width (StyleID, figure 3a), as SVG."""

from collections.abc import Sequence

from faceveil.methods.styleid.layers import Window
from faceveil.models.mobilestylegan import SLOTS

WIDTH, HEIGHT, MARGIN = 720, 360, 48
COLOURS = ("#888888", "#1b9e77", "#d95f02", "#7570b3", "#e7298a", "#66a61e", "#e6ab02")


def draw(windows: Sequence[Window]) -> str:
    """An SVG document."""
    scores = [window.score for window in windows]
    low, high = min(scores), max(scores)
    widths = sorted({window.width for window in windows})
    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" font-family="sans-serif" font-size="12" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
    ]
    parts += [
        f'<text x="{_x(slot):.0f}" y="{HEIGHT - 26}" text-anchor="middle">{slot}</text>'
        for slot in range(SLOTS)
    ]
    parts.append(
        f'<text x="{WIDTH / 2}" y="{HEIGHT - 8}" text-anchor="middle">first slot of the window</text>'
    )
    for value in (low, (low + high) / 2, high):
        y = _y(value, low, high)
        parts.append(
            f'<line x1="{MARGIN}" x2="{WIDTH - MARGIN}" y1="{y:.1f}" y2="{y:.1f}" stroke="#dddddd"/>'
        )
        parts.append(f'<text x="4" y="{y + 4:.1f}">{value:.2f}</text>')
    for number, width in enumerate(widths):
        colour = COLOURS[number % len(COLOURS)]
        line = sorted((window.first, window.score) for window in windows if window.width == width)
        points = " ".join(f"{_x(first):.1f},{_y(score, low, high):.1f}" for first, score in line)
        dash = ' stroke-dasharray="4 3"' if width == 1 else ""
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>')
        parts.append(f'<text x="{WIDTH - 40}" y="{30 + 16 * number}" fill="{colour}">m = {width}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _x(slot: int) -> float:
    return MARGIN + slot * (WIDTH - 2.4 * MARGIN) / (SLOTS - 1)


def _y(score: float, low: float, high: float) -> float:
    return HEIGHT - MARGIN - (score - low) / max(high - low, 1e-9) * (HEIGHT - 2 * MARGIN)
