"""What there is to say about a partition: one object that the command line, the JSON and the page render."""

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from faceveil.grouping.arrays import as_vectors
from faceveil.grouping.partition import Partition

MOST_FOR_SILHOUETTE = 20_000  # it looks at all pairs


@dataclass(frozen=True)
class Summary:
    """The figures of one grouping."""

    grouper: str
    k: int
    rows: int
    people: int
    dimensions: int
    groups: int
    smallest: int  # people in the smallest group
    largest: int
    suppressed: int
    information_loss: float
    pairwise_min: float
    pairwise_mean: float
    pairwise_max: float
    silhouette: float | None  # None where all pairs would take too long
    seconds: float
    criteria: list[str] = field(default_factory=list)
    price: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


def summarize(
    X: ArrayLike, partition: Partition, grouper: str, seconds: float, criteria: list[str] | None = None
) -> Summary:
    """Measure a partition."""
    vectors = as_vectors(X)
    pairs = partition.pairwise(vectors)
    small = len(vectors) <= MOST_FOR_SILHOUETTE
    return Summary(
        grouper=grouper,
        k=partition.k,
        rows=len(vectors),
        people=len(np.unique(partition.subjects)),
        dimensions=vectors.shape[1],
        groups=len(partition),
        smallest=int(partition.people.min(initial=len(vectors))),
        largest=int(partition.people.max(initial=0)),
        suppressed=len(partition.suppressed),
        information_loss=partition.information_loss(vectors),
        pairwise_min=pairs.min,
        pairwise_mean=pairs.mean,
        pairwise_max=pairs.max,
        silhouette=partition.silhouette(vectors) if small else None,
        seconds=seconds,
        criteria=criteria or [],
        price=str(partition.outcome) if partition.outcome else None,
    )
