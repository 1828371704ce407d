"""k-anonymous groups of any vectors."""

from collections.abc import Hashable, Iterable, Sequence
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from faceveil.grouping import Partition, files
from faceveil.grouping import group as divide
from faceveil.grouping.enforce import Rule
from faceveil.grouping.grouper import Stay


def group(
    X: ArrayLike | Path | str,
    k: int,
    *,
    grouper: str = "best",
    subjects: Iterable[Hashable] | Path | str | None = None,
    seed: int | None = None,
    stay: Stay = "together",
    criteria: Sequence[Rule] = (),
    suppress: float = 0,
    **parameters: Any,
) -> Partition:
    """Divide the rows of X (an array, or a .npy, .npz or .csv) into groups of at least k people.

    `subjects` says who each row shows (a CSV, or one value per row); `criteria` are rules of
    faceveil.privacy.criteria that every group shall keep; `parameters` are what the grouper itself takes, such as
    effort=4.
    """
    vectors = files.read_vectors(Path(X)) if isinstance(X, str | Path) else X
    who = files.read_subjects(Path(subjects)) if isinstance(subjects, str | Path) else subjects
    return divide(
        vectors, k, grouper, who, seed, stay=stay, criteria=criteria, suppress=suppress, **parameters
    )
