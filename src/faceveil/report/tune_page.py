"""The page of `faceveil tune`: the recommended k, the curves over k, the table, the tree of the set."""

from collections.abc import Callable, Sequence
from html import escape

import numpy as np

from faceveil.evaluation.choose_k import Choice
from faceveil.evaluation.trials import Trial
from faceveil.report.curves import Axis, Floats, Line, chart
from faceveil.report.parts import document, table

Figure = Callable[[Trial], float]
HEAD = (
    "method", "k", "released", "groups", "information loss", "found, %", "by", "one age band, %",
    "one gender, %", "both, %", "Fréchet", "silhouette", "s",
)  # fmt: skip


def tune_page(trials: Sequence[Trial], choices: Sequence[Choice], tree: str, bounds: str) -> str:
    """The whole page as one string of HTML; `tree` is an SVG, `bounds` what it says about k."""
    return document(
        "faceveil: which k",
        "".join(
            [_head(trials, choices), _curves(trials), _rows(trials), _tree(tree, bounds), _notes(trials)]
        ),
    )


def _head(trials: Sequence[Trial], choices: Sequence[Choice]) -> str:
    people = max(row.people for row in trials)
    found = "".join(
        f"<div class='verdict {'passed' if one.k else 'failed'}'><h2>{escape(one.method)}: "
        f"{f'k = {one.k}' if one.k else 'no k'}</h2><p>{escape(one.reason)}</p></div>"
        for one in choices
    )
    title = f"<p class='kind'>faceveil tune</p><h1>Which k, for {people} people</h1>"
    return f"<header>{title}</header><section>{found}</section>"


def _curves(trials: Sequence[Trial]) -> str:
    figures: list[tuple[str, str, Figure]] = [
        ("Information loss", "mean distance in dlib's space", lambda row: row.information_loss),
        ("People found at rank 1 by the worst judge", "%", lambda row: 100 * row.found.value),
        ("Groups of one age band and gender", "%", lambda row: 100 * row.homogeneity.get("age and gender", np.nan)),
        ("Fréchet distance (MobileNetV2)", "0 is equal", lambda row: row.frechet),
    ]  # fmt: skip
    charts = "".join(_chart(title, unit, trials, figure) for title, unit, figure in figures)
    return f"<section><h2>Against k</h2><div class='curves'>{charts}</div></section>"


def _chart(title: str, unit: str, trials: Sequence[Trial], figure: Figure) -> str:
    lines = []
    for method in dict.fromkeys(row.method for row in trials):
        rows = sorted((row for row in trials if row.method == method), key=lambda row: row.k)
        known = [row for row in rows if np.isfinite(figure(row))]
        if known:
            values = np.array([[row.k, figure(row)] for row in known], float)
            lines.append(Line(method, values[:, 0], values[:, 1]))
    if not lines:
        return ""
    k = _logarithmic("k", sorted({row.k for row in trials}))
    top = max(float(line.y.max()) for line in lines)
    return chart(title, lines, k, _from_zero(unit, top))


def _logarithmic(name: str, ticks: Sequence[int]) -> Axis:
    low, high = np.log(ticks[0]), np.log(max(ticks[-1], ticks[0] + 1))

    def scale(values: Floats) -> Floats:
        return np.asarray((np.log(values) - low) / (high - low))

    return Axis(name, [(float(tick), str(tick)) for tick in ticks], scale)


def _from_zero(name: str, top: float) -> Axis:
    step = 10 ** np.floor(np.log10(max(top, 1e-6)))
    step = step / 5 if top < 2 * step else step / 2 if top < 5 * step else step
    ticks = np.arange(0, top + step, step)

    def scale(values: Floats) -> Floats:
        return np.asarray(values / ticks[-1])

    return Axis(name, [(float(tick), f"{tick:.3g}") for tick in ticks], scale)


def _rows(trials: Sequence[Trial]) -> str:
    rows = [("", _cells(row)) for row in trials]
    return f"<section><h2>Every trial</h2>{table(HEAD, rows)}</section>"


def _cells(row: Trial) -> list[str]:
    def number(value: float, digits: int = 3) -> str:
        return f"{value:.{digits}f}" if np.isfinite(value) else "–"

    rate = f"{100 * row.found.value:.1f} <i>{100 * row.found.low:.1f}–{100 * row.found.high:.1f}</i>"
    same = [
        number(100 * row.homogeneity.get(name, np.nan), 0) for name in ("age", "gender", "age and gender")
    ]
    return [
        escape(row.method), str(row.k), f"{row.released:.1%}", str(row.groups), number(row.information_loss), rate,
        escape(row.judge) + (" *" if row.took_part else ""), *same, number(row.frechet, 2), number(row.silhouette),
        number(row.seconds, 1),
    ]  # fmt: skip


def _tree(tree: str, bounds: str) -> str:
    return (
        f"<section><h2>The set as a tree</h2><p>{escape(bounds)}</p><div class='wide'>{tree}</div></section>"
    )


def _notes(trials: Sequence[Trial]) -> str:
    star = (
        "* this recogniser took part in making the result. " if any(row.took_part for row in trials) else ""
    )
    return (
        f"<section><p class='note'>{star}Found: each released face is looked up among all originals; a chance hit "
        "in a group of k has a rate of 1/k. The interval is by person, 95 %. The faces are those of this set "
        "alone: other people, photos and recognisers will give other figures.</p></section>"
    )
