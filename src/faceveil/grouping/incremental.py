"""People come and go (AnonFACES E3), and groups that need not change do not change.

`add` puts k newcomers or more into groups of their own, so that no old group changes; fewer join the groups
where they cost least, and a group that reaches 2k people is divided in two. `remove` takes rows out; a group
left with fewer than k people takes in somebody whom a group nearby can spare, or is dissolved into the groups
around it, whichever loses less. No group is ever below k, and the other groups keep their members.

Cost: O(m·d) for each newcomer and m groups; dividing a group costs what `best` costs on 2k rows.
A reader who holds two releases can compare them: whoever is new in a group, or gone from it, is among few.
Publish changes in batches.
"""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from faceveil.errors import GroupingError, UsageError
from faceveil.grouping.arrays import Floats, Ints, as_subjects, as_vectors
from faceveil.grouping.best import Best
from faceveil.grouping.partition import Partition


@dataclass(frozen=True)
class Update:
    """A partition after a change, and the groups (by new label) whose members are not what they were."""

    partition: Partition
    changed: tuple[int, ...]


def add(
    partition: Partition,
    X: ArrayLike,
    new: ArrayLike,
    new_subjects: Iterable[Hashable] | None = None,
    subjects: Iterable[Hashable] | None = None,
    seed: int | None = None,
) -> Update:
    """Add rows `new` after the rows `X` of `partition`; photos of a known person join that person's group.

    `subjects` and `new_subjects` name the people of the old and the new rows; both or neither.
    """
    old, extra = as_vectors(X), as_vectors(new)
    if extra.shape[1] != old.shape[1] or len(old) != len(partition.labels):
        raise UsageError(f"New vectors {extra.shape} do not fit the {old.shape} of the partition.")
    who = _all_subjects(partition, subjects, new_subjects, len(extra))
    vectors = np.concatenate([old, extra])
    groups = _Groups(vectors, partition, who)
    homes = {int(who[row]): int(label) for row, label in enumerate(partition.labels) if label >= 0}
    rows = np.arange(len(old), len(vectors))
    strangers = rows[[int(who[row]) not in homes for row in rows]]
    if len(np.unique(who[strangers])) >= partition.k:
        for label in groups.found(strangers, partition.k, seed):
            homes.update((int(who[member]), label) for member in groups.rows[label])
        rows = np.setdiff1d(rows, strangers)
    for row in map(int, rows):
        home = homes.get(int(who[row]), groups.cheapest(row))
        groups.put(row, home)
        homes[int(who[row])] = home
        if groups.people(home) >= 2 * partition.k:
            for label in groups.divide(home, partition.k, seed):
                homes.update((int(who[member]), label) for member in groups.rows[label])
    return groups.update(np.arange(len(vectors)))


def remove(partition: Partition, X: ArrayLike, rows: Iterable[int]) -> Update:
    """Take `rows` out; the partition that comes back numbers the rows that stay, in their old order."""
    vectors = as_vectors(X)
    gone = np.unique(np.asarray(list(rows), dtype=np.int64))
    if len(gone) and (gone[0] < 0 or gone[-1] >= len(vectors)):
        raise UsageError(f"Rows to remove must lie between 0 and {len(vectors) - 1}; {gone[[0, -1]]} came.")
    groups = _Groups(vectors, partition, partition.subjects)
    for row in gone:
        groups.drop(int(row))
    for label in [g for g, members in groups.rows.items() if not members]:
        del groups.rows[label], groups.sums[label]
    for label in list(groups.rows):
        groups.mend(label, partition.k)
    return groups.update(np.setdiff1d(np.arange(len(vectors)), gone))


def _all_subjects(
    partition: Partition,
    subjects: Iterable[Hashable] | None,
    new_subjects: Iterable[Hashable] | None,
    extra: int,
) -> Ints:
    if (subjects is None) != (new_subjects is None):
        raise UsageError("Name the people of the old rows and of the new rows, or of neither.")
    if subjects is None or new_subjects is None:
        first = int(partition.subjects.max(initial=-1)) + 1
        return np.append(partition.subjects, np.arange(first, first + extra))
    names = [*subjects, *new_subjects]
    return as_subjects(names, len(partition.labels) + extra)


class _Groups:
    """Groups under change: their rows and running sums."""

    def __init__(self, X: Floats, partition: Partition, who: Ints) -> None:
        self.X, self.who, self.k = X.astype(np.float64), who, partition.k
        self.rows = {g: list(map(int, members)) for g, members in enumerate(partition.groups)}
        self.before = {g: set(members) for g, members in self.rows.items()}
        self.sums = {g: self.X[members].sum(axis=0) for g, members in self.rows.items()}

    def people(self, g: int) -> int:
        return len({int(self.who[row]) for row in self.rows[g]})

    def mean(self, g: int) -> NDArray[np.float64]:
        return np.asarray(self.sums[g] / len(self.rows[g]))

    def cheapest(self, row: int, without: int = -1) -> int:
        """The group that one more row costs least, in squares."""

        def price(g: int) -> float:
            size = len(self.rows[g])
            return float(((self.X[row] - self.mean(g)) ** 2).sum() * size / (size + 1))

        return min((g for g in self.rows if g != without), key=price)

    def put(self, row: int, g: int) -> None:
        self.rows[g].append(row)
        self.sums[g] = self.sums[g] + self.X[row]

    def drop(self, row: int) -> None:
        for g, members in self.rows.items():
            if row in members:
                members.remove(row)
                self.sums[g] = self.sums[g] - self.X[row]
                return

    def found(self, members: Ints, k: int, seed: int | None) -> list[int]:
        """New groups of these rows alone."""
        parts = Best(k, seed=seed).fit(self.X[members], self.who[members]).partition_.groups
        first = max(self.rows, default=-1) + 1
        for label, part in enumerate(parts, first):
            self.rows[label] = [int(members[at]) for at in part]
            self.sums[label] = self.X[self.rows[label]].sum(axis=0)
        return list(range(first, first + len(parts)))

    def divide(self, g: int, k: int, seed: int | None) -> list[int]:
        """Two groups in place of one."""
        members = np.array(self.rows.pop(g))
        del self.sums[g]
        return self.found(members, k, seed)

    def mend(self, g: int, k: int) -> None:
        """Bring a group below k people up to k, or dissolve it."""
        while g in self.rows and self.people(g) < k:
            if len(self.rows) == 1:
                raise GroupingError(
                    f"k={k} needs at least {k} people; {self.people(g)} would be left."
                    " Keep more people, or withdraw the release."
                )
            self._borrow_or_dissolve(g, k)

    def _borrow_or_dissolve(self, g: int, k: int) -> None:
        guests = [
            (self._price(person, h, g), person, h)
            for h in self.rows
            if h != g
            for person in self._spare(h, k)
        ]
        own = sorted({int(self.who[row]) for row in self.rows[g]})
        moves = [(person, self.cheapest(self._rows_of(person, g)[0], g)) for person in own]
        leaving = sum(self._price(person, g, h) for person, h in moves)
        missing = k - self.people(g)
        if len(guests) >= missing and sum(p for p, *_ in sorted(guests)[:missing]) <= leaving:
            _, person, h = min(guests)
            self._move(person, h, g)
            return
        for person, h in moves:
            self._move(person, g, h)
        del self.rows[g], self.sums[g]

    def _spare(self, h: int, k: int) -> list[int]:
        """The people of a group that can do without one."""
        return sorted({int(self.who[row]) for row in self.rows[h]}) if self.people(h) > k else []

    def _rows_of(self, person: int, g: int) -> list[int]:
        return [row for row in self.rows[g] if self.who[row] == person]

    def _price(self, person: int, here: int, there: int) -> float:
        rows = self._rows_of(person, here)
        inside, outside = len(self.rows[here]), len(self.rows[there])
        leave = (
            sum(((self.X[row] - self.mean(here)) ** 2).sum() for row in rows) * inside / max(inside - 1, 1)
        )
        enter = sum(((self.X[row] - self.mean(there)) ** 2).sum() for row in rows) * outside / (outside + 1)
        return float(enter - leave)

    def _move(self, person: int, here: int, there: int) -> None:
        for row in self._rows_of(person, here):
            self.rows[here].remove(row)
            self.sums[here] = self.sums[here] - self.X[row]
            self.put(row, there)

    def update(self, kept: Ints) -> Update:
        """The partition of the rows that are kept; labels keep their order."""
        labels = np.full(len(self.X), -1, dtype=np.int64)
        changed = []
        for label, g in enumerate(sorted(self.rows)):
            labels[self.rows[g]] = label
            if set(self.rows[g]) != self.before.get(g):
                changed.append(label)
        hidden = np.flatnonzero(labels[kept] < 0)
        return Update(Partition(labels[kept], self.k, self.who[kept], suppressed=hidden), tuple(changed))
