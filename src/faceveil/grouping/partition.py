"""The result of grouping: disjoint groups, each of at least k different people, or nothing at all."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from faceveil.errors import GroupingError, UsageError
from faceveil.grouping import measures
from faceveil.grouping.arrays import Ints, as_subjects, as_vectors, check_k
from faceveil.show import Displayed, Table

SUPPRESSED = -1


@dataclass(frozen=True)
class Outcome:
    """What it took to make the criteria hold, and the price in information loss."""

    loss_before: float
    loss_after: float
    exchanges: int
    merges: int
    suppressed: int

    def __str__(self) -> str:
        rise = self.loss_after / self.loss_before - 1 if self.loss_before > 0 else 0.0
        return (
            f"The criteria cost {rise:+.1%} information loss"
            f" ({self.loss_before:.4f} → {self.loss_after:.4f}):"
            f" {self.exchanges} exchanges, {self.merges} merges, {self.suppressed} people suppressed."
        )


class Partition(Displayed):
    """Disjoint groups of at least k subjects; a partition that breaks this cannot be built.

    `labels[i]` is the group of row i, 0…m−1 with none left out. Rows that are not released at all carry −1
    and must be named in `suppressed`, so that nobody loses a row by accident.
    """

    def __init__(
        self,
        labels: ArrayLike,
        k: int,
        subjects: Iterable[Hashable] | None = None,
        *,
        suppressed: Sequence[int] | NDArray[np.int64] = (),
        outcome: Outcome | None = None,
    ) -> None:
        self.k = check_k(k)
        self.labels = _checked_labels(labels, np.asarray(suppressed, dtype=np.int64))
        self.subjects = as_subjects(subjects, len(self.labels))
        self.outcome = outcome  # what criteria cost, where any were asked for
        self._refuse_small_groups()
        self.labels.flags.writeable = False
        self.subjects.flags.writeable = False

    def _refuse_small_groups(self) -> None:
        people = self.people
        if len(people) and people.min() < self.k:
            worst = int(people.argmin())
            raise GroupingError(
                f"Each group needs at least k={self.k} different people; group {worst} holds {people[worst]}."
                " Use a grouper, or merge this group with another."
            )

    @cached_property
    def sizes(self) -> Ints:
        """Rows in each group."""
        return np.bincount(self.labels[self.labels >= 0], minlength=0)

    @cached_property
    def people(self) -> Ints:
        """Different subjects in each group: what k counts."""
        released = self.labels >= 0
        if not released.any():
            return np.zeros(0, dtype=np.int64)
        pairs = np.unique(np.stack([self.labels[released], self.subjects[released]]), axis=1)
        return np.bincount(pairs[0])

    @cached_property
    def groups(self) -> list[Ints]:
        """The rows of each group, ascending."""
        order = np.argsort(self.labels, kind="stable")
        hidden = int(np.count_nonzero(self.labels < 0))
        return np.split(order[hidden:], np.cumsum(self.sizes)[:-1]) if len(self.sizes) else []

    @property
    def suppressed(self) -> Ints:
        """The rows that are not released."""
        return np.flatnonzero(self.labels < 0)

    def __len__(self) -> int:
        return len(self.sizes)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Partition) and self.k == other.k and np.array_equal(self.labels, other.labels)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        hidden = f", {len(self.suppressed)} suppressed" if len(self.suppressed) else ""
        return f"Partition({len(self.labels)} rows in {len(self)} groups, k={self.k}{hidden})"

    def table(self) -> Table:
        """How large the groups are."""
        rows = [
            (number, people, size)
            for number, (people, size) in enumerate(
                zip(self.people.tolist(), self.sizes.tolist(), strict=True)
            )
        ]
        notes = [str(self.outcome)] if self.outcome else []
        return Table(repr(self), ("group", "people", "rows"), rows, notes)

    def information_loss(self, X: ArrayLike) -> float:
        """Mean Euclidean distance of each released row to its group's mean (AnonFACES, definition 3.2)."""
        return measures.information_loss(*self._released(X))

    def pairwise(self, X: ArrayLike) -> "measures.Pairwise":
        """Distances between members of one group: min, mean and max of each group, averaged over groups."""
        return measures.pairwise(*self._released(X))

    def silhouette(self, X: ArrayLike) -> float:
        """Mean silhouette of the released rows (Rousseeuw 1987); O(n²·d) time, O(n·m) memory."""
        return measures.silhouette(*self._released(X))

    def _released(self, X: ArrayLike) -> tuple[NDArray[Any], Ints]:
        vectors = as_vectors(X)
        if len(vectors) != len(self.labels):
            raise UsageError(
                f"This partition has {len(self.labels)} rows and {len(vectors)} vectors came."
                " Pass the vectors it was made from."
            )
        if not len(self.suppressed):
            return vectors, self.labels
        released = self.labels >= 0
        return vectors[released], self.labels[released]


def _checked_labels(labels: ArrayLike, suppressed: NDArray[np.int64]) -> Ints:
    raw = np.asarray(labels)
    if raw.ndim != 1 or (raw.size and raw.dtype.kind not in "iu"):
        raise UsageError(f"Labels must be one whole number per row; {raw.dtype} of shape {raw.shape} came.")
    checked = raw.astype(np.int64)
    hidden = np.flatnonzero(checked < 0)
    if not np.array_equal(hidden, np.unique(suppressed)) or (checked[hidden] != SUPPRESSED).any():
        raise UsageError(
            f"{len(hidden)} rows have no group and {len(suppressed)} were named as suppressed."
            " Label exactly the suppressed rows −1."
        )
    counts = np.bincount(checked[checked >= 0])
    if len(counts) and counts.min() == 0:
        raise UsageError(f"Group {int(counts.argmin())} is empty. Number groups 0…m−1 without gaps.")
    return checked


@dataclass(frozen=True)
class Neighbourhoods:
    """For each row its nearest rows, which overlap: useful to look at, and never a claim of k-anonymity.

    Kept apart from Partition on purpose (k-same as often coded averages such sets, and an attacker who
    intersects them is back at one person).
    """

    rows: Ints = field(repr=False)

    @property
    def size(self) -> int:
        """How many rows each neighbourhood holds, itself included."""
        return int(self.rows.shape[1])


def require_partition(groups: object) -> Partition:
    """What every k claim calls first: anything but a Partition is refused."""
    if isinstance(groups, Partition):
        return groups
    raise GroupingError(
        f"A k claim needs disjoint groups (a Partition); {type(groups).__name__} came."
        " Group with faceveil.grouping.group(X, k)."
    )
