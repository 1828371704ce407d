"""The two criteria by which the Techniques paper (Savcisens) picks a technique's optimal strength."""

from collections.abc import Sequence
from dataclasses import dataclass

MOST_FAILURES = 0.5


@dataclass(frozen=True)
class Configuration:
    """One strength of a technique and how the naive attack fares on it."""

    technique: str
    strength: int | None
    eer: float
    fta: float
    recall: float  # genuine comparisons that match at the recogniser's threshold; failures never do

    @property
    def cost(self) -> float:
        return self.recall + self.fta


def highest_error(rows: Sequence[Configuration]) -> Configuration | None:
    """First criterion: the highest EER among those with a failure-to-acquire rate below one half."""
    usable = [row for row in rows if row.fta < MOST_FAILURES and row.eer == row.eer]
    return max(usable, key=lambda row: row.eer, default=None)


def lowest_cost(rows: Sequence[Configuration]) -> Configuration | None:
    """Second criterion: the lowest recall + failure-to-acquire rate."""
    return min((row for row in rows if row.cost == row.cost), key=lambda row: row.cost, default=None)
