"""Which k to take: the plateau rule of AnonFACES (Le et al. 2020), section 4.4.

Information loss rises with k, steeply at first, and then flattens: along a plateau more privacy costs next to
nothing, so its far end is the k to take. The paper shows this on a figure and leaves it to the eye; here a step from
one k to the next is flat if loss rises by less than half of what it rises on average over all k tried.
"""

from collections.abc import Sequence
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
    end = _plateau_end(rows, first.k)
    if end is None:
        return Choice(
            method, first.k,
            f"information loss rises steadily from k = {first.k} on, so every further k costs; "
            + ("this is the smallest k that keeps the limit." if max_risk is not None else "this is the smallest k."),
        )  # fmt: skip
    start, stop = end
    here, overall = _rise(start, stop), _rise(rows[0], rows[-1])
    return Choice(
        method, stop.k,
        f"from k = {start.k} to {stop.k} information loss rises by only {here:.3f} (of {overall:.3f} "
        f"over all k), so the larger k costs next to nothing; {stop.judge} then finds {stop.found} of the people.",
    )  # fmt: skip


def _rise(start: Trial, stop: Trial) -> float:
    return stop.information_loss - start.information_loss


def _plateau_end(rows: Sequence[Trial], least: int) -> tuple[Trial, Trial] | None:
    """The first run of flat steps that ends at `least` or beyond: where it starts and where it ends."""
    if len(rows) < 3:
        return None
    mean = _rise(rows[0], rows[-1]) / (rows[-1].k - rows[0].k)
    flat = [_rise(a, b) / (b.k - a.k) < FLAT * max(mean, 0.0) or _rise(a, b) <= 0 for a, b in pairwise(rows)]
    start = None
    for index, is_flat in enumerate([*flat, False]):
        if is_flat and start is None:
            start = index
        elif not is_flat and start is not None:
            if rows[index].k >= least:
                return rows[start], rows[index]
            start = None
    return None
