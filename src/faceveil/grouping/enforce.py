"""Change a partition until criteria hold: exchange people, merge groups, suppress only within a budget."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from faceveil.errors import GroupingError
from faceveil.grouping.arrays import Floats, Ints, as_vectors
from faceveil.grouping.halving import halves
from faceveil.grouping.measures import group_means, information_loss
from faceveil.grouping.partition import Outcome, Partition
from faceveil.grouping.subjects import rows_of

AROUND = 12  # groups near a failing one that are asked for help
ASKED = 80  # exchanges with each of them whose effect is looked at, cheapest first


class Rule(Protocol):
    """What this room needs of a criterion (privacy/criteria.py has them)."""

    name: str

    def prepare(self, n: int) -> None:
        """Refuse a column that has not one value for each of n rows."""

    def fit(self, released: Ints) -> None:
        """Learn what the rule compares a group with."""

    def lacks(self, rows: Ints) -> float:
        """0 where a group of these rows keeps the rule."""

    def reason(self, rows: Ints) -> str:
        """Why it does not."""

    def surplus(self, rows: Ints) -> Ints | None:
        """The fewest rows whose removal would make it hold."""


def enforce(
    X: ArrayLike, partition: Partition, rules: Sequence[Rule], suppress: float, stay: str
) -> Partition:
    """The partition, changed until every rule holds; `outcome` says what that took."""
    vectors = as_vectors(X)
    who = partition.subjects
    for rule in rules:
        rule.prepare(len(who))
    units = who if stay == "together" else np.arange(len(who))
    rows = rows_of(units)
    labels = partition.labels[[own[0] for own in rows]]
    people = int(who.max()) + 1
    budget = int(suppress) if suppress >= 1 else int(suppress * people)
    enforcer = Enforcer(
        group_means(vectors, units), who[[own[0] for own in rows]], rows, labels, partition.k, rules, budget
    )
    enforcer.run()
    after = enforcer.labels()[units]
    released = after >= 0
    outcome = Outcome(
        loss_before=partition.information_loss(vectors),
        loss_after=information_loss(vectors[released], after[released]),
        exchanges=enforcer.exchanges,
        merges=enforcer.merges,
        suppressed=len(enforcer.suppressed),
    )
    return Partition(after, partition.k, who, suppressed=np.flatnonzero(~released), outcome=outcome)


class Enforcer:
    """People (or photos) in groups of at least k, and rules that every group shall keep."""

    def __init__(
        self, X: Floats, who: Ints, rows: list[Ints], labels: Ints, k: int, rules: Sequence[Rule], budget: int
    ) -> None:
        self.X = X.astype(np.float64)
        self.who, self.rows, self.k, self.rules, self.budget = who, rows, k, rules, budget
        self.groups = rows_of(labels)
        self.exchanges = self.merges = 0
        self.suppressed: list[int] = []

    def run(self) -> None:
        """Until every rule holds; GroupingError where that cannot be."""
        self._make_possible()
        self._fit()
        lacking = np.array([self._lacks(group) for group in self.groups])
        while (lacking > 0).any():
            here = int(lacking.argmax())
            if self._exchange(here, lacking) or self._suppress(here, lacking):
                continue
            lacking = self._merge(here, lacking)
        self._split_large()

    def labels(self) -> Ints:
        """The group of each unit; −1 for the suppressed."""
        labels = np.full(len(self.rows), -1, dtype=np.int64)
        for label, group in enumerate(self.groups):
            labels[group] = label
        return labels

    def _rows(self, units: Ints) -> Ints:
        return np.concatenate([self.rows[unit] for unit in units])

    def _fit(self) -> None:
        everyone = np.sort(self._rows(np.concatenate(self.groups)))
        for rule in self.rules:
            rule.fit(everyone)

    def _lacks(self, units: Ints) -> float:
        rows = self._rows(units)
        return sum(rule.lacks(rows) for rule in self.rules)

    def _make_possible(self) -> None:
        """Everybody in one group is the most that merging can do: where that fails, people must go."""
        self._fit()
        everyone = np.concatenate(self.groups)
        for rule in self.rules:
            rows = self._rows(everyone)
            if rule.lacks(rows) == 0:
                continue
            surplus = rule.surplus(np.sort(rows))
            gone = self._units_of(surplus) if surplus is not None else None
            if gone is None or len(gone) > self.budget or len(everyone) - len(gone) < self.k:
                raise GroupingError(_impossible(rule, rows, gone, self.budget))
            self._leave(gone)
            everyone = np.concatenate(self.groups)
            self._fit()

    def _units_of(self, rows: Ints) -> Ints:
        unit_of = {int(row): unit for unit, own in enumerate(self.rows) for row in own}
        return np.unique([unit_of[int(row)] for row in rows])

    def _leave(self, units: Ints) -> None:
        """Suppress units; a group that falls below k joins its nearest."""
        self.budget -= len(units)
        self.suppressed += [int(unit) for unit in units]
        self.groups = [np.setdiff1d(group, units) for group in self.groups]
        self.groups = [group for group in self.groups if len(group)]
        while len(self.groups) > 1 and min(map(len, self.groups)) < self.k:
            small = min(range(len(self.groups)), key=lambda g: len(self.groups[g]))
            self._join(small, int(self._nearest(small)[0]))

    def _means(self) -> NDArray[np.float64]:
        return np.array([self.X[group].mean(axis=0) for group in self.groups])

    def _nearest(self, here: int) -> Ints:
        means = self._means()
        far = ((means - means[here]) ** 2).sum(axis=1)
        far[here] = np.inf
        return np.argsort(far, kind="stable")[:-1]

    def _meets_itself(self, units: Ints) -> bool:
        return len(np.unique(self.who[units])) < len(units)

    def _exchange(self, here: int, lacking: NDArray[np.float64]) -> bool:
        """The cheapest exchange with a group around, or gift from it, that brings the rules nearer."""
        best: tuple[float, int, Ints, Ints] | None = None
        for there in self._nearest(here)[:AROUND]:
            for price, mine, yours in self._offers(self.groups[here], self.groups[there]):
                if best is not None and price >= best[0]:
                    break
                if self._meets_itself(mine) or self._meets_itself(yours):
                    continue
                both = self._lacks(mine) + self._lacks(yours)
                if both < lacking[here] + lacking[there] - 1e-9:
                    best = (price, int(there), mine, yours)
                    break
        if best is None:
            return False
        _, there, self.groups[here], self.groups[there] = best
        lacking[here], lacking[there] = self._lacks(self.groups[here]), self._lacks(self.groups[there])
        self.exchanges += 1
        return True

    def _offers(self, mine: Ints, yours: Ints) -> list[tuple[float, Ints, Ints]]:
        """Exchanges of one for one, and gifts where `yours` can spare somebody, cheapest first."""
        mean_a, mean_b = self.X[mine].mean(axis=0), self.X[yours].mean(axis=0)
        a, b = len(mine), len(yours)
        step = self.X[yours][None, :, :] - self.X[mine][:, None, :]
        price = 2 * step @ (mean_b - mean_a) - (step**2).sum(axis=2) * (1 / a + 1 / b)
        order = np.argsort(price, axis=None, kind="stable")[:ASKED]
        offers = []
        for i, j in zip(*np.unravel_index(order, price.shape), strict=True):
            new = np.append(np.delete(mine, i), yours[j]), np.append(np.delete(yours, j), mine[i])
            offers.append((float(price[i, j]), *new))
        if b > self.k:
            gift = ((self.X[yours] - mean_a) ** 2).sum(axis=1) * a / (a + 1)
            gift -= ((self.X[yours] - mean_b) ** 2).sum(axis=1) * b / (b - 1)
            offers += [(float(gift[j]), np.append(mine, yours[j]), np.delete(yours, j)) for j in range(b)]
        return sorted(offers, key=lambda offer: offer[0])

    def _suppress(self, here: int, lacking: NDArray[np.float64]) -> bool:
        """Let the surplus of this group go, where the budget allows it and k people stay."""
        rows = self._rows(self.groups[here])
        gone: Ints = np.zeros(0, dtype=np.int64)
        for rule in self.rules:
            surplus = rule.surplus(rows)
            if surplus is None:
                return False
            gone = np.union1d(gone, self._units_of(surplus)).astype(np.int64)
        stay = np.setdiff1d(self.groups[here], gone)
        if not len(gone) or len(gone) > self.budget or len(stay) < self.k or self._lacks(stay) > 0:
            return False
        self.budget -= len(gone)
        self.suppressed += [int(unit) for unit in gone]
        self.groups[here] = stay
        self._fit()
        lacking[:] = [self._lacks(group) for group in self.groups]
        return True

    def _merge(self, here: int, lacking: NDArray[np.float64]) -> NDArray[np.float64]:
        """Merge with the group around that leaves least lacking, of equals the nearest."""
        around = [
            g for g in self._nearest(here)
            if not self._meets_itself(np.append(self.groups[here], self.groups[g]))
        ]  # fmt: skip
        if not around:
            raise GroupingError(
                f"{self.rules[0].name}: group {here} cannot be mended while photos of one person stay apart."
                " Let them stay together, lower k, or allow suppression."
            )
        after = [self._lacks(np.append(self.groups[here], self.groups[g])) for g in around[:AROUND]]
        there = int(around[int(np.argmin(after))])
        lacking = lacking.copy()
        lacking[there] = min(after)
        self._join(here, there)
        self.merges += 1
        return np.delete(lacking, here)

    def _join(self, here: int, there: int) -> None:
        self.groups[there] = np.append(self.groups[there], self.groups[here])
        del self.groups[here]

    def _split_large(self) -> None:
        """Halve groups of 2k or more again where both halves keep the rules."""
        todo, done = self.groups, []
        while todo:
            group = todo.pop()
            if len(group) >= 2 * self.k:
                half = len(group) // 2
                pieces = list(halves(self.X[group].astype(np.float32), half, 1, np.random.default_rng(0)))
                parts = [group[piece] for piece in pieces]
                if len(parts) == 2 and all(self._lacks(part) == 0 for part in parts):
                    todo += parts
                    continue
            done.append(group)
        self.groups = done[::-1]


def _impossible(rule: Rule, rows: Ints, gone: Ints | None, budget: int) -> str:
    why = f"{rule.name} cannot hold for any grouping: all together have {rule.reason(rows)}"
    if gone is None:
        return f"{why} No suppression helps. Lower what is asked, or add people with other values."
    some = ", ".join(str(unit) for unit in gone[:10]) + ("…" if len(gone) > 10 else "")
    return (
        f"{why} Suppressing {len(gone)} people would do (numbers {some}); the budget is {budget}."
        f" Raise it to {len(gone)}, lower what is asked, or add people with other values."
    )
