"""People with several photos: one unit per person (together), or one photo per group (apart)."""

import numpy as np
from numpy.typing import NDArray

from faceveil.errors import GroupingError
from faceveil.grouping.arrays import Floats, Ints, unit_float32
from faceveil.grouping.measures import group_means


def subject_means(X: Floats, who: Ints) -> NDArray[np.float64]:
    """One vector per person: the mean of their photos."""
    return group_means(X, who)


def check_apart(who: Ints, k: int) -> None:
    """Photos can stay apart exactly when nobody has more photos than there can be groups of k."""
    photos = np.bincount(who)
    groups = len(who) // k
    if photos.max() <= groups:
        return
    person = int(photos.argmax())
    possible = max(m for m in range(1, len(who) + 1) if len(who) // m >= photos.max())
    raise GroupingError(
        f"Photos of one person can stay apart only in as many groups: k={k} gives at most {groups} groups,"
        f" and person {person} (row {int(np.argmax(who == person))}) has {photos[person]} photos."
        f" Lower k to {possible}, leave out {photos[person] - groups} of them, or let them stay together."
    )


def move_apart(X: Floats, labels: Ints, who: Ints, k: int) -> Ints:
    """Exchange rows until no group holds a person twice; every group keeps at least k rows.

    Each step takes a group that holds a person twice and the nearest group without that person, and divides
    their rows anew so that nobody's photos differ by more than one between the two. The sum over people and
    groups of (photos)² falls with each step, so it ends, and it ends only when nobody is twice in a group.
    """
    if np.bincount(who).max() > labels.max() + 1:
        labels = _deal(who, k)
    groups = rows_of(labels)
    means = group_means(X, labels)
    near = _near_groups(means)
    todo = list(range(len(groups)))
    while todo:
        here = todo.pop()
        person = _somebody_twice(who[groups[here]])
        if person is None:
            continue
        there = _nearest_without(groups, who, means, near, here, person)
        rows = np.concatenate([groups[here], groups[there]])
        first = _first_half(X[rows], who[rows], means[here] - means[there])
        groups[here], groups[there] = rows[first], rows[~first]
        for group in (here, there):
            means[group] = X[groups[group]].mean(axis=0)
            todo.append(group)
    apart = np.empty_like(labels)
    for group, rows in enumerate(groups):
        apart[rows] = group
    return apart


def rows_of(labels: Ints) -> list[Ints]:
    """The rows of each label, ascending."""
    order = np.argsort(labels, kind="stable")
    return np.split(order, np.cumsum(np.bincount(labels))[:-1])


def _near_groups(means: NDArray[np.float64], count: int = 32) -> Ints:
    """The nearest groups of each group, nearest first (itself included), a block at a time."""
    short = unit_float32(means)
    count = min(count, len(means))
    near = np.empty((len(means), count), dtype=np.int64)
    for start in range(0, len(means), 512):
        far = (short**2).sum(axis=1) - 2 * short[start : start + 512] @ short.T
        some = np.argpartition(far, count - 1, axis=1)[:, :count]
        order = np.argsort(np.take_along_axis(far, some, axis=1), axis=1, kind="stable")
        near[start : start + 512] = np.take_along_axis(some, order, axis=1)
    return near


def _somebody_twice(who: Ints) -> int | None:
    people, counts = np.unique(who, return_counts=True)
    return int(people[counts.argmax()]) if counts.max() > 1 else None


def _nearest_without(
    groups: list[Ints], who: Ints, means: NDArray[np.float64], near: Ints, here: int, person: int
) -> int:
    """The nearest group without `person`; there is one, since nobody has more photos than groups."""
    for there in near[here]:
        if not (who[groups[there]] == person).any():
            return int(there)
    for there in ((means - means[here]) ** 2).sum(axis=1).argsort(kind="stable"):
        if not (who[groups[there]] == person).any():
            return int(there)
    raise AssertionError("more photos of one person than groups")


def _first_half(X: Floats, who: Ints, towards: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Divide rows in two halves (of even size): each person's photos evenly, then by direction."""
    pull = X @ towards
    first = np.zeros(len(X), dtype=bool)
    single = []
    for person in np.unique(who):
        rows = np.flatnonzero(who == person)
        rows = rows[np.argsort(-pull[rows], kind="stable")]
        first[rows[: len(rows) // 2]] = True
        if len(rows) % 2:
            single.append(rows[len(rows) // 2])
    undecided = np.array(single, dtype=np.int64)
    undecided = undecided[np.argsort(-pull[undecided], kind="stable")]
    first[undecided[: (len(undecided) + 1) // 2]] = True
    return first


def _deal(who: Ints, k: int) -> Ints:
    """Deal the rows, person by person, round ⌊n/k⌋ groups: never a person twice in a group."""
    labels = np.empty(len(who), dtype=np.int64)
    labels[np.argsort(who, kind="stable")] = np.arange(len(who)) % (len(who) // k)
    return labels
