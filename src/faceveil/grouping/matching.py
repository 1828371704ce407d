"""Pairs: for k = 2 the groups are a minimum-weight perfect matching, which can be found exactly.

J. Edmonds, "Paths, trees, and flowers", Canadian Journal of Mathematics 17, 1965, in the implementation of
rustworkx, over the edges to each row's nearest rows.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from faceveil.grouping.arrays import Ints

if TYPE_CHECKING:
    from faceveil.grouping.grouper import Units

MOST_ROWS = 3000  # the time grows with the cube
NEAR = 15
FINE = 10**7  # weights are whole numbers


def pairs(X: NDArray[Any], units: "Units") -> Ints | None:
    """The pairs that lose least (with a trio where n is odd); None where near rows alone cannot pair up."""
    import rustworkx
    from sklearn.neighbors import NearestNeighbors

    far, near = NearestNeighbors(n_neighbors=min(NEAR + 1, len(X))).fit(X).kneighbors(X)
    w = units.weights
    peak = float(far.max()) * float(w.max()) or 1.0
    edges = {}
    for i in range(len(X)):
        for d, j in zip(far[i], near[i].tolist(), strict=True):
            if i != j and units.people[i] != units.people[j]:
                loss = 2 * w[i] * w[j] / (w[i] + w[j]) * d
                edges[min(i, j), max(i, j)] = round(FINE * (2 - loss / peak))
    graph = rustworkx.PyGraph()
    graph.add_nodes_from(range(len(X)))
    graph.add_edges_from([(i, j, weight) for (i, j), weight in edges.items()])
    found = rustworkx.max_weight_matching(graph, max_cardinality=True, weight_fn=int)
    labels = np.full(len(X), -1, dtype=np.int64)
    for label, (i, j) in enumerate(sorted((min(pair), max(pair)) for pair in found)):
        labels[[i, j]] = label
    return _with_the_odd_one(labels, near, units)


def _with_the_odd_one(labels: Ints, near: Ints, units: "Units") -> Ints | None:
    alone = np.flatnonzero(labels < 0)
    if len(alone) > len(labels) % 2:
        return None
    for row in alone:
        for j in near[row]:
            rows = np.flatnonzero(labels == labels[j])
            if labels[j] >= 0 and units.people[row] not in units.people[rows]:
                labels[row] = labels[j]
                break
    return labels if labels.min() >= 0 else None
