"""The pairs protocol of LFW: each fold is judged with the threshold that is best on the other folds."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath

import numpy as np
from numpy.typing import NDArray

from faceveil.errors import UsageError
from faceveil.evaluation.acquire import Looks, View
from faceveil.evaluation.attackers import Attacker
from faceveil.evaluation.people import read_text
from faceveil.evaluation.results import ProtocolResult

Floats = NDArray[np.float64]

COMPARISONS: dict[str, tuple[View, View]] = {
    "unprotected": ("original", "original"),
    "naive": ("original", "anonymised"),
    "parrot": ("anonymised", "anonymised"),
}


@dataclass(frozen=True)
class Pair:
    """Two photos by name (Name_0001), whether they show one person, and the fold."""

    first: str
    second: str
    same: bool
    fold: int


@dataclass(frozen=True)
class Accuracy:
    """Mean accuracy over the folds with its standard error, and the mean of the thresholds used."""

    value: float
    error: float
    threshold: float
    folds: int
    pairs: int
    failed: int  # pairs of which a photo was not acquired; they count as judged "two people"


def read_pairs(path: Path | str) -> list[Pair]:
    """LFW's pairs.txt: a head line, then per fold as many lines of one person as of two."""
    path = Path(path)
    rows = [line.split("\t") for line in read_text(path).splitlines() if line.strip()]
    if not rows or len(rows[0]) != 2 or any(len(row) not in (3, 4) for row in rows[1:]):
        raise UsageError(f"{path} is not a list of pairs as LFW's pairs.txt is (fields separated by tabs).")
    try:
        per_fold = 2 * int(rows[0][1])
        return [_pair(words, number // per_fold) for number, words in enumerate(rows[1:])]
    except (ValueError, ZeroDivisionError) as error:
        raise UsageError(f"{path} has something else where LFW's pairs.txt has numbers: {error}.") from error


def _pair(words: list[str], fold: int) -> Pair:
    other = words[2] if len(words) == 4 else words[0]
    first, second = f"{words[0]}_{int(words[1]):04d}", f"{other}_{int(words[-1]):04d}"
    return Pair(first, second, len(words) == 3, fold)


def pairs_accuracy(
    pairs: list[Pair],
    distance: Callable[[NDArray[np.intp], NDArray[np.intp]], Floats],
    row_of: dict[str, int],
) -> Accuracy:
    """The protocol's accuracy. `distance` takes rows and gives distances, infinity for a failed comparison."""
    there = [pair for pair in pairs if pair.first in row_of and pair.second in row_of]
    fold = np.array([pair.fold for pair in there])
    if len(np.unique(fold)) < 2:
        raise UsageError(
            f"the pairs protocol needs the photos of at least two folds; {len(there)} pairs are there."
        )
    same = np.array([pair.same for pair in there])
    rows = np.array([(row_of[pair.first], row_of[pair.second]) for pair in there])
    distances = np.asarray(distance(rows[:, 0], rows[:, 1]), np.float64)
    return cross_validated(distances, same, fold)


def protocol_results(looks: Looks, judges: Sequence[Attacker], pairs: list[Pair]) -> list[ProtocolResult]:
    """The protocol on originals, on originals against released photos, and on released photos."""
    looks = looks.main
    row_of = {PurePosixPath(pair.name).stem: row for row, pair in enumerate(looks.pairs.pairs)}
    done = []
    for name, (first, second) in COMPARISONS.items():
        for judge in judges:
            found = pairs_accuracy(pairs, partial(_distances, looks, judge, first, second), row_of)
            done.append(
                ProtocolResult(
                    name, judge.id, found.value, found.error, found.folds, found.pairs, found.failed
                )
            )
    return done


def _distances(
    looks: Looks, judge: Attacker, first: View, second: View, rows: NDArray[np.intp], others: NDArray[np.intp]
) -> Floats:
    distances = np.full(len(rows), np.inf)
    for number, (row, other) in enumerate(zip(rows, others, strict=True)):
        a = looks.looks[row].vectors.get((first, judge.id))
        b = looks.looks[other].vectors.get((second, judge.id))
        if a is not None and b is not None:
            distances[number] = judge.recognizer.distance(a, b)
    return distances


def cross_validated(distances: Floats, same: NDArray[np.bool_], fold: NDArray[np.intp]) -> Accuracy:
    """Accuracy of each fold with the best threshold of the others."""
    thresholds, rights = [], []
    for held in np.unique(fold):
        threshold = best_threshold(distances[fold != held], same[fold != held])
        thresholds.append(threshold)
        rights.append(np.mean((distances[fold == held] < threshold) == same[fold == held]))
    error = float(np.std(rights, ddof=1) / np.sqrt(len(rights)))
    return Accuracy(
        float(np.mean(rights)), error, float(np.mean(thresholds)), len(rights), len(distances),
        int(np.sum(~np.isfinite(distances))),
    )  # fmt: skip


def best_threshold(distances: Floats, same: NDArray[np.bool_]) -> float:
    """The threshold with the most right answers, by one pass over the sorted distances."""
    values, index = np.unique(distances, return_inverse=True)
    gained = np.cumsum(np.bincount(index, weights=np.where(same, 1, -1)))
    finite = np.isfinite(values)
    values, gained = values[finite], gained[finite]
    if not len(values) or gained.max() <= 0:
        return 0.0
    best = int(np.argmax(gained))
    return (
        float(values[best : best + 2].mean())
        if best + 1 < len(values)
        else float(np.nextafter(values[best], np.inf))
    )
