"""How sure a rate is: bootstrap by person, the rule of three, Doddington's rule of 30.

People, not photos, are drawn: photos of one person err together, so treating them as independent would make the
interval too narrow (Bolle, Ratha & Pankanti 2004, the subsets bootstrap).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

DRAWS = 1000
LEVEL = 0.95
DODDINGTON = 30  # errors needed for the true rate to be within 30 % of the measured one, with 90 % confidence


@dataclass(frozen=True)
class Rate:
    """A rate with its 95 % interval, what it was counted on, and a warning where the count is thin."""

    value: float
    low: float
    high: float
    events: float  # hits, or errors: what the rate counts
    trials: float
    people: int
    warning: str | None = None

    def __str__(self) -> str:
        return f"{100 * self.value:.1f} % ({100 * self.low:.1f}–{100 * self.high:.1f})"


@dataclass(frozen=True)
class Estimate:
    """A figure that is no share of trials (EER, AUC, a mean), with its 95 % interval."""

    value: float
    low: float
    high: float


@lru_cache(maxsize=8)
def weights_by_person(people: int, draws: int = DRAWS, seed: int = 0) -> NDArray[np.float32]:
    """How often each person is in each bootstrap sample: draws × people. The seed fixes the interval."""
    rng = np.random.default_rng([seed, people])
    return rng.multinomial(people, np.full(people, 1 / people), size=draws).astype(np.float32)


def rate_by_person(events: Floats, trials: Floats, *, errors: Floats | None = None) -> Rate:
    """sum(events) / sum(trials) over people, with a percentile bootstrap over people.

    `events` and `trials` hold one entry per person. At zero events (or all) no sample differs, so the bound
    comes from the rule of three over people. `errors`, where given, is what Doddington's rule counts.
    """
    people = int(np.count_nonzero(trials))
    total, hits = float(trials.sum()), float(events.sum())
    if people == 0:
        return Rate(0.0, 0.0, 1.0, 0.0, 0.0, 0, "nothing was counted")
    value = hits / total
    counted = trials > 0
    drawn = weights_by_person(people)
    below = drawn @ trials[counted]
    samples = np.asarray(drawn @ events[counted], np.float64) / np.maximum(below, 1e-12)
    low, high = (float(bound) for bound in np.quantile(samples, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]))
    if hits == 0:
        high = rule_of_three(people)
    if hits == total:
        low = 1 - rule_of_three(people)
    counts = float(errors.sum()) if errors is not None else min(hits, total - hits)
    return Rate(value, min(low, value), max(high, value), hits, total, people, doddington(counts))


def share_by_person(event: NDArray[np.bool_], person: NDArray[np.intp], kept: NDArray[np.bool_]) -> Rate:
    """The share of photos (those kept) with an event, with an interval by the person each shows."""
    _, index = np.unique(person[kept], return_inverse=True)
    events = np.bincount(index, weights=event[kept].astype(np.float64)).astype(np.float64)
    return rate_by_person(events, np.bincount(index).astype(np.float64))


def rule_of_three(trials: int) -> float:
    """The 95 % upper bound of a rate of which no event was seen in so many independent trials."""
    return min(1.0, 3 / trials) if trials else 1.0


def doddington(errors: float) -> str | None:
    """The warning of Doddington's rule, or None when there are at least 30 errors."""
    if errors >= DODDINGTON:
        return None
    return f"fewer than {DODDINGTON} events were seen ({errors:g}): the rate is only roughly known"


def estimate_by_person(figure: Callable[[NDArray[np.float32]], Floats], people: int) -> Estimate:
    """A figure's interval: `figure` takes weights (draws × people) and gives one number per row."""
    return interval(float(figure(np.ones((1, people), np.float32))[0]), figure(weights_by_person(people)))


def interval(value: float, samples: Floats) -> Estimate:
    """A figure with the percentile interval of its bootstrap samples."""
    samples = samples[np.isfinite(samples)]
    if not len(samples):
        return Estimate(value, value, value)
    low, high = (float(bound) for bound in np.quantile(samples, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]))
    return Estimate(value, min(low, value), max(high, value))


def mean_by_person(values: Floats, person: NDArray[np.intp]) -> Estimate:
    """The mean of values, with an interval by the person each belongs to. NaN marks what is not known."""
    known = np.isfinite(values)
    if not known.any():
        return Estimate(float("nan"), float("nan"), float("nan"))
    _, index = np.unique(person[known], return_inverse=True)
    total = np.bincount(index, weights=values[known]).astype(np.float64)
    count = np.bincount(index).astype(np.float64)
    return estimate_by_person(lambda drawn: (drawn @ total) / np.maximum(drawn @ count, 1e-12), len(total))
