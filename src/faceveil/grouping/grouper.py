"""What every grouper is: parameters in the constructor, work in `fit`, a Partition as the result."""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from faceveil.errors import UsageError
from faceveil.grouping.arrays import Floats, Ints, as_subjects, as_vectors, check_enough, check_k
from faceveil.grouping.partition import Partition
from faceveil.grouping.subjects import check_apart, move_apart, subject_means

Stay = Literal["together", "apart"]


@dataclass(frozen=True)
class Units:
    """What a grouper deals out: people (photos stay together) or photos (photos of one person stay apart)."""

    X: Floats
    weights: NDArray[np.float64]  # photos behind each unit
    people: Ints  # who each unit shows; no group may hold the same person twice

    def __len__(self) -> int:
        return len(self.X)

    @cached_property
    def repeated(self) -> bool:
        """Is anybody there more than once?"""
        return len(np.unique(self.people)) < len(self)


class Grouper(ABC):
    """Divide vectors into groups of at least k people.

    k     the least number of different people in a group
    seed  makes the result repeatable; None draws from the operating system
    stay  several photos of one person stay "together" in one group, or "apart" in as many groups
    """

    id: ClassVar[str]
    guards_people: ClassVar[bool] = False  # True where `_split` itself keeps the photos of a person apart

    def __init__(self, k: int, *, seed: int | None = None, stay: Stay = "together") -> None:
        self.k = check_k(k)
        self.seed = seed
        self.stay = stay
        if stay not in get_args(Stay):
            raise UsageError(f'Photos of one person stay "together" or "apart"; {stay!r} came.')

    def fit(self, X: ArrayLike, subjects: Iterable[Hashable] | None = None) -> Self:
        """Group the rows of `X`; `partition_` and `labels_` hold the result."""
        vectors = as_vectors(X)
        who = as_subjects(subjects, len(vectors))
        people = int(who.max(initial=-1)) + 1
        check_enough(people, self.k)
        if self.stay == "apart":
            check_apart(who, self.k)
        labels = self._labels(vectors, who, people)
        self.partition_ = Partition(labels, self.k, who)
        self.labels_ = self.partition_.labels
        return self

    def _labels(self, vectors: Floats, who: Ints, people: int) -> Ints:
        rng = np.random.default_rng(self.seed)
        if people == len(who) or self.stay == "apart":
            units = Units(vectors, np.ones(len(who)), who)
            labels = self._split_or_keep(units, rng)
            if people == len(who) or self.guards_people:
                return labels
            return move_apart(vectors, labels, who, self.k)
        weights = np.bincount(who).astype(np.float64)
        units = Units(subject_means(vectors, who), weights, np.arange(people))
        return self._split_or_keep(units, rng)[who]

    def _split_or_keep(self, units: Units, rng: np.random.Generator) -> Ints:
        if len(units) < 2 * self.k:
            return np.zeros(len(units), dtype=np.int64)
        return self._split(units, rng)

    @abstractmethod
    def _split(self, units: Units, rng: np.random.Generator) -> Ints:
        """A label 0…m−1 for each of at least 2k units, at least k units to a label."""


def even_sizes(n: int, k: int) -> Ints:
    """⌊n/k⌋ sizes that add up to n and differ by at most one, larger ones first."""
    groups = n // k
    return np.full(groups, n // groups) + (np.arange(groups) < n % groups)
