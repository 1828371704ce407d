"""Which k to take: the plateau rule of AnonFACES (Le et al. 2020), section 4.4.

Information loss rises with k, steeply at first, and then flattens: along a plateau more privacy costs next to
nothing, so its far end is the k to take. The paper shows this on a figure and leaves it to the eye; here a step from
one k to the next is flat if loss rises by less than half of what it rises on average over all k tried.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise

from faceveil.evaluation.trials import Trial

FLAT = 0.5  # of the mean slope
WHOLE = 0.98  # a k at which more faces than the rest cannot be released is no choice


@dataclass(frozen=True)
class Choice:
    """The recommended k of one method, or None, and why."""

    method: str
    k: int | None
    reason: str


def choose_k(trials: Sequence[Trial], max_risk: float | None = None) -> Choice:
    """Choose among trials of one method. With a limit, only k whose upper bound keeps it are considered."""
    method = trials[0].method
    rows = sorted((row for row in trials if row.released >= WHOLE), key=lambda row: row.k)
    if not rows:
        return Choice(method, None, f"at no k can {WHOLE:.0%} of the faces be released.")
    allowed = [row for row in rows if max_risk is None or row.found.high <= max_risk]
    if not allowed:
        best = min(rows, key=lambda row: row.found.high)
        return Choice(
            method, None,
            f"no k keeps the limit of {max_risk:.1%}: the nearest is k = {best.k}, where {best.judge} finds "
            f"{best.found}. Try larger k, or more people, which narrows the interval.",
        )  # fmt: skip
    first = allowed[0]
    plateau = _plateau(rows, {row.k for row in allowed})
    if plateau is None:
        return Choice(
            method, first.k,
            f"information loss rises steadily from k = {first.k} on, so every further k costs; "
            + ("this is the smallest k that keeps the limit." if max_risk is not None else "this is the smallest k."),
        )  # fmt: skip
    start, stop = plateau
    here, overall = _rise(start, stop), _rise(rows[0], rows[-1])
    return Choice(
        method, stop.k,
        f"from k = {start.k} to {stop.k} information loss rises by only {here:.3f} (of {overall:.3f} "
        f"over all k), so the larger k costs next to nothing; {stop.judge} then finds {stop.found} of the people.",
    )  # fmt: skip


def _rise(start: Trial, stop: Trial) -> float:
    return stop.information_loss - start.information_loss


def _plateau(rows: Sequence[Trial], allowed: Collection[int]) -> tuple[Trial, Trial] | None:
    """The first run of flat steps with an allowed k beyond its start: that start, and the last allowed k in it."""
    start = 0
    best: tuple[Trial, Trial] | None = None
    for index, flat in enumerate([*_flat_steps(rows), False]):
        if flat and rows[index + 1].k in allowed:
            best = rows[start], rows[index + 1]
        if not flat:
            if best is not None:
                return best
            start = index + 1
    return best


def _flat_steps(rows: Sequence[Trial]) -> list[bool]:
    """Whether loss rises little, or not at all, from each k to the next."""
    if len(rows) < 3:
        return [False] * (len(rows) - 1)
    mean = _rise(rows[0], rows[-1]) / (rows[-1].k - rows[0].k)
    return [_rise(a, b) / (b.k - a.k) < FLAT * max(mean, 0.0) or _rise(a, b) <= 0 for a, b in pairwise(rows)]
