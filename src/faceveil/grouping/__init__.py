"""Vectors in, groups of at least k people out: `group(X, k)` gives a Partition.

Every algorithm has a file of its own and an id in GROUPERS; `best` is what to use unless a paper is followed.
"""

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from numpy.typing import ArrayLike

from faceveil.errors import UsageError
from faceveil.grouping.best import Best
from faceveil.grouping.enforce import Rule, enforce
from faceveil.grouping.grouper import Grouper, Stay
from faceveil.grouping.hierarchical import Hierarchical
from faceveil.grouping.kmember import KMember
from faceveil.grouping.ksame import KSame
from faceveil.grouping.max_dist import MaxDist
from faceveil.grouping.mdav import Mdav
from faceveil.grouping.mondrian import Mondrian
from faceveil.grouping.oka import Oka
from faceveil.grouping.partition import Neighbourhoods, Partition, require_partition
from faceveil.grouping.random import Random
from faceveil.grouping.same_size_kmeans import SameSizeKMeans
from faceveil.grouping.v_mdav import VMdav

GROUPERS: dict[str, type[Grouper]] = {
    grouper.id: grouper
    for grouper in (
        Best, Hierarchical, Mondrian, Mdav, VMdav, KMember, KSame, MaxDist, Oka, SameSizeKMeans, Random,
    )
}  # fmt: skip


def group(
    X: ArrayLike,
    k: int,
    grouper: str = "best",
    subjects: Iterable[Hashable] | None = None,
    seed: int | None = None,
    *,
    stay: Stay = "together",
    criteria: Sequence[Rule] = (),
    suppress: float = 0,
    **parameters: Any,
) -> Partition:
    """Divide the rows of `X` into groups of at least k people.

    subjects    who each row shows; several rows of one person count once
    stay        rows of one person stay "together" in one group, or "apart" in as many groups
    criteria    rules that every group shall keep (faceveil.privacy.criteria); groups change until they hold
    suppress    how many people may be left out for that, as a number or (below 1) as a share
    parameters  what the grouper itself takes, such as linkage="average" or effort=4
    """
    kind = GROUPERS.get(grouper)
    if kind is None:
        raise UsageError(f"No grouper is called {grouper!r}. Choose from: {', '.join(GROUPERS)}.")
    try:
        made = kind(k, seed=seed, stay=stay, **parameters)
    except TypeError as error:
        raise UsageError(f"The grouper {grouper} does not take this: {error}.") from error
    who = None if subjects is None else list(subjects)
    partition = made.fit(X, who).partition_
    return enforce(X, partition, criteria, suppress, stay) if criteria else partition


__all__ = ["GROUPERS", "Grouper", "Neighbourhoods", "Partition", "group", "require_partition"]
