"""Criteria judge a partition and say why it fails; they recount everything from labels and columns
themselves.

KAnonymity   k different people in every group (Sweeney 2002, counted over people and not over photos)
LDiversity   well-spread values of a sensitive column in every group (Machanavajjhala et al. 2006)
TCloseness   values in every group spread as in the whole (Li et al. 2007)
"""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from faceveil.errors import UsageError
from faceveil.grouping import Neighbourhoods, Partition, require_partition
from faceveil.grouping.arrays import Ints, as_subjects, check_k


@dataclass(frozen=True)
class Failure:
    """One group that breaks the rule."""

    group: int
    value: float
    reason: str


@dataclass(frozen=True)
class Verdict:
    """What a criterion says of a partition: does it hold, the worst group's value, and where it fails."""

    criterion: str
    holds: bool
    value: float
    failures: tuple[Failure, ...] = ()

    def __str__(self) -> str:
        if self.holds:
            return f"{self.criterion} holds (worst group {self.value:.4g})."
        first = self.failures[0]
        return f"{self.criterion} fails in {len(self.failures)} group(s); group {first.group}: {first.reason}"


class Criterion(ABC):
    """A rule for every group: `value` measures it; `lacks` is 0 where it holds and grows with the breach."""

    name: str

    def judge(self, groups: Partition | Neighbourhoods | ArrayLike) -> Verdict:
        """Look at every group of a Partition or of labels (−1: not released); overlaps are refused."""
        if isinstance(groups, Neighbourhoods):
            require_partition(groups)
        labels = np.asarray(groups.labels if isinstance(groups, Partition) else groups)
        self.prepare(len(labels))
        present = np.unique(labels[labels >= 0])
        self.fit(np.flatnonzero(labels >= 0))
        found = [(int(g), np.flatnonzero(labels == g)) for g in present]
        values = [self.value(rows) for _, rows in found]
        failures = tuple(
            Failure(g, value, self.reason(rows))
            for (g, rows), value in zip(found, values, strict=True)
            if self.lacks(rows) > 0
        )
        return Verdict(self.name, not failures, self.worst(values), failures)

    def fit(self, released: Ints) -> None:  # noqa: B027 - most criteria need to know one group only
        """Learn what the rule compares a group with."""

    def worst(self, values: Sequence[float]) -> float:
        """The value of the group nearest to a breach."""
        return min(values, default=float("inf"))

    @abstractmethod
    def value(self, rows: Ints) -> float:
        """What the rule measures of a group of these rows."""

    @abstractmethod
    def lacks(self, rows: Ints) -> float:
        """0 where a group of these rows keeps the rule; larger the further it is from that."""

    @abstractmethod
    def reason(self, rows: Ints) -> str:
        """Why a group of these rows fails, in words."""

    @abstractmethod
    def prepare(self, n: int) -> None:
        """Refuse a column that has not one value for each of n rows."""

    def surplus(self, rows: Ints) -> Ints | None:
        """The fewest rows whose removal makes the rule hold for the rest; None where no removal does."""
        return np.zeros(0, dtype=np.int64) if self.lacks(rows) == 0 else None


class KAnonymity(Criterion):
    """At least k different people in every group."""

    def __init__(self, k: int, subjects: Iterable[Hashable] | None = None) -> None:
        self.k = check_k(k)
        self._subjects = None if subjects is None else list(subjects)
        self.name = f"{k}-anonymity"

    def prepare(self, n: int) -> None:
        """Number the subjects."""
        self._who = as_subjects(self._subjects, n)

    def value(self, rows: Ints) -> float:
        """Different people."""
        return float(len(np.unique(self._who[rows])))

    def lacks(self, rows: Ints) -> float:
        """People missing."""
        return max(0.0, self.k - self.value(rows))

    def reason(self, rows: Ints) -> str:
        """How many people there are."""
        return f"{int(self.value(rows))} people where k={self.k}."


class _OfColumn(Criterion):
    """A criterion over one column of values."""

    def __init__(self, values: Iterable[object], column: str) -> None:
        raw = np.asarray(list(values))
        self.values = raw
        self.levels, self.codes = np.unique(raw, return_inverse=True)
        self.column = column

    def prepare(self, n: int) -> None:
        """Refuse another number of rows."""
        if n != len(self.codes):
            raise UsageError(
                f"Column {self.column} has {len(self.codes)} values; the partition has {n} rows."
            )

    def counts(self, rows: Ints) -> NDArray[np.int64]:
        """How often each value of the column occurs."""
        return np.bincount(self.codes[rows], minlength=len(self.levels))


class LDiversity(_OfColumn):
    """Well-represented values in every group.

    distinct   at least l different values
    entropy    exp(entropy) of the values at least l
    recursive  the commonest value less often than c times all but the l−1 commonest together
    """

    def __init__(
        self,
        values: Iterable[object],
        l: float,  # noqa: E741 - the name of the thing
        kind: Literal["distinct", "entropy", "recursive"] = "distinct",
        *,
        c: float = 1.0,
        column: str = "value",
    ) -> None:
        super().__init__(values, column)
        if kind not in ("distinct", "entropy", "recursive"):
            raise UsageError(f"l-diversity is distinct, entropy or recursive; {kind!r} came.")
        if l < 1 or c <= 0 or (kind != "entropy" and l != int(l)):
            raise UsageError(
                f"l must be 1 or more (a whole number unless kind is entropy) and c above 0; l={l}, c={c}."
            )
        self.l, self.kind, self.c = l, kind, c
        self.name = f"{kind} {f'({c:g},{l:g})' if kind == 'recursive' else f'{l:g}'}-diversity of {column}"

    def value(self, rows: Ints) -> float:
        """Distinct values, exp(entropy), or how many times the commonest value fits under c · tail."""
        return self._value(self.counts(rows))

    def _value(self, counts: NDArray[np.int64]) -> float:
        present = np.sort(counts[counts > 0])[::-1]
        if self.kind == "distinct":
            return float(len(present))
        if self.kind == "entropy":
            share = present / present.sum()
            return float(np.exp(-(share * np.log(share)).sum()))
        tail = present[int(self.l) - 1 :].sum()
        return float(self.c * tail / present[0]) if len(present) else 0.0

    def _holds(self, counts: NDArray[np.int64]) -> bool:
        if self.kind == "recursive":
            return self._value(counts) > 1.0
        return self._value(counts) >= self.l - 1e-9

    def lacks(self, rows: Ints) -> float:
        """How far the value is below what is asked."""
        counts = self.counts(rows)
        if self._holds(counts):
            return 0.0
        wanted = 1.0 if self.kind == "recursive" else self.l
        return wanted - self._value(counts) + 1e-6

    def reason(self, rows: Ints) -> str:
        """The commonest value and its share."""
        counts = self.counts(rows)
        top = int(counts.argmax())
        return (
            f"{int((counts > 0).sum())} different values of {self.column}; {str(self.levels[top])!r} is"
            f" {counts[top]} of {counts.sum()} ({self.kind} value {self._value(counts):.3g})."
        )

    def surplus(self, rows: Ints) -> Ints | None:
        """Rows of the commonest values, taken one at a time until the rule holds."""
        left = list(rows)
        gone: list[int] = []
        counts = self.counts(rows)
        while not self._holds(counts):
            top = int(counts.argmax())
            if self.kind == "distinct" or counts[top] <= 1:
                return None
            at = next(i for i, row in enumerate(left) if self.codes[row] == top)
            gone.append(left.pop(at))
            counts[top] -= 1
        return np.array(gone, dtype=np.int64)


class TCloseness(_OfColumn):
    """The values of every group lie within earth mover's distance t of the values of all released rows.

    ordered      numbers: moving a value by one rank costs 1/(ranks − 1)
    categorical  names: moving to any other value costs 1
    """

    def __init__(
        self,
        values: Iterable[object],
        t: float,
        distance: Literal["ordered", "categorical"] | None = None,
        *,
        column: str = "value",
    ) -> None:
        super().__init__(values, column)
        if not 0 <= t <= 1:
            raise UsageError(f"t must lie between 0 and 1; {t} came.")
        numbers = self.values.dtype.kind in "fiu"
        self.distance = distance or ("ordered" if numbers else "categorical")
        if self.distance not in ("ordered", "categorical"):
            raise UsageError(f"The distance of t-closeness is ordered or categorical; {distance!r} came.")
        self.t = t
        self.name = f"{t:g}-closeness of {column} ({self.distance})"
        self.fit(np.arange(len(self.codes)))

    def fit(self, released: Ints) -> None:
        """The spread of the whole."""
        counts = self.counts(released)
        self._whole = counts / max(counts.sum(), 1)

    def worst(self, values: Sequence[float]) -> float:
        """The largest distance."""
        return max(values, default=0.0)

    def value(self, rows: Ints) -> float:
        """Earth mover's distance between these rows and the whole."""
        counts = self.counts(rows)
        gap = counts / counts.sum() - self._whole
        if self.distance == "categorical":
            return float(np.abs(gap).sum() / 2)
        return float(np.abs(np.cumsum(gap)).sum() / max(len(gap) - 1, 1))

    def lacks(self, rows: Ints) -> float:
        """How far the distance is above t."""
        return max(0.0, self.value(rows) - self.t - 1e-12)

    def reason(self, rows: Ints) -> str:
        """The distance and the limit."""
        return f"its values of {self.column} are {self.value(rows):.3g} from the whole; t is {self.t:g}."
