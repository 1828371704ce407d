"""Curves as SVG: DET with probit axes, CMC, ROC. Lines differ in dash, marker and label, not only in colour."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from numpy.typing import NDArray

from faceveil.evaluation.rates import probit

Floats = NDArray[np.float64]

WIDTH, HEIGHT = 460, 400
LEFT, RIGHT, TOP, BOTTOM = 58, 14, 14, 50
DASHES = ("", "9 4", "2 4", "12 4 2 4", "5 2", "1 2")
MARKS = ("circle", "square", "triangle", "diamond", "cross", "ring")
DET_TICKS = (0.001, 0.01, 0.05, 0.2, 0.5, 0.8, 0.95, 0.99, 0.999)
EDGE = 0.0005  # rates nearer to 0 or 1 lie on the frame


@dataclass(frozen=True, eq=False)
class Line:
    """One curve and how it is called."""

    label: str
    x: Floats
    y: Floats


@dataclass(frozen=True)
class Axis:
    """A scale from values to 0…1, its ticks and its name."""

    name: str
    ticks: Sequence[tuple[float, str]]
    scale: Callable[[Floats], Floats]


def det(lines: Sequence[Line]) -> str:
    """False non-matches against false matches; lower left is the attacker's side."""

    def scale(rate: Floats) -> Floats:
        low, high = probit(EDGE), probit(1 - EDGE)
        return np.asarray((probit(np.clip(rate, EDGE, 1 - EDGE)) - low) / (high - low))

    ticks = [(rate, f"{100 * rate:g}") for rate in DET_TICKS]
    guess = Line("a guess", np.array([EDGE, 1 - EDGE]), np.array([1 - EDGE, EDGE]))
    return chart(
        "DET curve",
        lines,
        Axis("false match rate, %", ticks, scale),
        Axis("false non-match rate, %", ticks, scale),
        guess,
    )


def roc(lines: Sequence[Line]) -> str:
    """True matches against false matches; upper left is the attacker's side."""
    ticks = [(value / 100, str(value)) for value in (0, 20, 40, 60, 80, 100)]
    guess = Line("a guess", np.array([0.0, 1.0]), np.array([0.0, 1.0]))
    return chart(
        "ROC curve",
        lines,
        Axis("false match rate, %", ticks, _same),
        Axis("true match rate, %", ticks, _same),
        guess,
    )


def cmc(lines: Sequence[Line], people: int) -> str:
    """The share of people found among the first ranks."""
    top = max(people, 2)

    def scale(rank: Floats) -> Floats:
        return np.asarray(np.log(np.clip(rank, 1, top)) / np.log(top))

    ranks = [rank for rank in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000) if rank <= top]
    shares = [(value / 100, str(value)) for value in (0, 20, 40, 60, 80, 100)]
    steps = np.geomspace(1, top, 60)
    return chart(
        "CMC curve", lines, Axis("rank", [(float(rank), f"{rank:,}") for rank in ranks], scale),
        Axis("people found, %", shares, _same), Line("a guess", steps, steps / top),
    )  # fmt: skip


def strength(title: str, name: str, lines: Sequence[Line]) -> str:
    """Rates against the strength of a technique."""
    ticks = sorted({float(value) for line in lines for value in line.x})

    def scale(values: Floats) -> Floats:
        return np.asarray((values - ticks[0]) / max(ticks[-1] - ticks[0], 1e-9))

    shares = [(value / 100, str(value)) for value in (0, 20, 40, 60, 80, 100)]
    return chart(
        title, lines, Axis(name, [(tick, f"{tick:g}") for tick in ticks], scale), Axis("%", shares, _same)
    )


def _same(values: Floats) -> Floats:
    return np.clip(values, 0, 1)


def chart(title: str, lines: Sequence[Line], across: Axis, up: Axis, guess: Line | None = None) -> str:
    """A figure with its legend; `guess` is drawn dotted."""
    body = [_frame(across, up)]
    if guess:
        body.append(_path(guess, across, up, "guess", ""))
    marks = []
    for number, line in enumerate(lines):
        style = number % len(DASHES)
        body.append(_path(line, across, up, f"line c{style}", DASHES[style]))
        marks.append(_marks(line, across, up, style, number, len(lines)))
    legend = "".join(_key(line.label, number % len(DASHES)) for number, line in enumerate(lines))
    return (
        f'<figure><svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">'
        f"<title>{escape(title)}</title>{''.join(body)}{''.join(marks)}</svg>"
        f"<figcaption><strong>{escape(title)}</strong> {legend}{_guess_key() if guess else ''}</figcaption></figure>"
    )


def _x(values: Floats, axis: Axis) -> Floats:
    return np.asarray(LEFT + axis.scale(np.asarray(values, float)) * (WIDTH - LEFT - RIGHT))


def _y(values: Floats, axis: Axis) -> Floats:
    return np.asarray(HEIGHT - BOTTOM - axis.scale(np.asarray(values, float)) * (HEIGHT - TOP - BOTTOM))


def _frame(across: Axis, up: Axis) -> str:
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
    parts = []
    for value, label in across.ticks:
        x = float(_x(np.array([value]), across)[0])
        parts.append(f'<line class="grid" x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{bottom}"/>')
        parts.append(f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">{label}</text>')
    for value, label in up.ticks:
        y = float(_y(np.array([value]), up)[0])
        parts.append(f'<line class="grid" x1="{LEFT}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{label}</text>')
    middle_x, middle_y = (LEFT + right) / 2, (TOP + bottom) / 2
    parts.append(f'<rect class="frame" x="{LEFT}" y="{TOP}" width="{right - LEFT}" height="{bottom - TOP}"/>')
    parts.append(
        f'<text class="axis" x="{middle_x}" y="{HEIGHT - 10}" text-anchor="middle">{escape(across.name)}</text>'
    )
    parts.append(
        f'<text class="axis" transform="translate(15 {middle_y}) rotate(-90)" text-anchor="middle">'
        f"{escape(up.name)}</text>"
    )
    return "".join(parts)


def _path(line: Line, across: Axis, up: Axis, kind: str, dash: str) -> str:
    points = np.column_stack([_x(line.x, across), _y(line.y, up)])
    kept = np.r_[True, np.abs(np.diff(points, axis=0)).max(axis=1) > 0.05] if len(points) > 1 else [True]
    text = " ".join(f"{x:.1f},{y:.1f}" for x, y in points[kept])
    pattern = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<polyline class="{kind}" points="{text}"{pattern}/>'


def _marks(line: Line, across: Axis, up: Axis, style: int, number: int, count: int) -> str:
    """A few marks, at other places on each line, so that lines that lie on each other still show."""
    xs, ys = _x(line.x, across), _y(line.y, up)
    way = np.r_[0, np.cumsum(np.hypot(np.diff(xs), np.diff(ys)))]
    if way[-1] == 0:
        return mark(float(xs[0]), float(ys[0]), style)
    places = (np.arange(4) + (number + 0.5) / count) / 4 * way[-1]
    return "".join(mark(float(np.interp(at, way, xs)), float(np.interp(at, way, ys)), style) for at in places)


def mark(x: float, y: float, style: int) -> str:
    """A small sign, different for each line."""
    kind, r = MARKS[style], 4.0
    shapes = {
        "circle": f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r}"/>',
        "ring": f'<circle class="open" cx="{x:.1f}" cy="{y:.1f}" r="{r}"/>',
        "square": f'<rect x="{x - r + 0.5:.1f}" y="{y - r + 0.5:.1f}" width="{2 * r - 1}" height="{2 * r - 1}"/>',
        "triangle": f'<path d="M{x:.1f} {y - r - 1:.1f}l{r + 1} {2 * r}h-{2 * r + 2}z"/>',
        "diamond": f'<path d="M{x:.1f} {y - r - 1:.1f}l{r + 1} {r + 1}l-{r + 1} {r + 1}l-{r + 1} -{r + 1}z"/>',
        "cross": f'<path class="open" d="M{x - r:.1f} {y - r:.1f}l{2 * r} {2 * r}m0 -{2 * r}l-{2 * r} {2 * r}"/>',
    }
    return f'<g class="mark c{style}">{shapes[kind]}</g>'


def _key(label: str, style: int) -> str:
    pattern = f' stroke-dasharray="{DASHES[style]}"' if DASHES[style] else ""
    return (
        f'<span class="key"><svg viewBox="0 0 44 12">'
        f'<line class="line c{style}" x1="0" y1="6" x2="44" y2="6"{pattern}/>'
        f"{mark(22, 6, style)}</svg>{escape(label)}</span> "
    )


def _guess_key() -> str:
    line = '<line class="guess" x1="0" y1="6" x2="44" y2="6"/>'
    return f'<span class="key"><svg viewBox="0 0 44 12">{line}</svg>a guess</span>'
