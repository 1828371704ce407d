"""The algorithms once more, word by word and slowly: what the fast ones are compared with."""

from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import linkage, to_tree

Groups = set[frozenset[int]]


def groups_of(labels: NDArray[np.int64]) -> Groups:
    return {frozenset(map(int, np.flatnonzero(labels == g))) for g in np.unique(labels)}


def cost(X: NDArray[np.float64], rows: tuple[int, ...] | frozenset[int]) -> float:
    points = X[list(rows)]
    return float(np.linalg.norm(points - points.mean(axis=0), axis=1).sum())


def optimum(X: NDArray[np.float64], k: int) -> float:
    """The least information loss of any partition into groups of at least k: all of them are tried."""

    def rest(rows: tuple[int, ...]) -> float:
        if not rows:
            return 0.0
        first, others = rows[0], rows[1:]
        found = np.inf
        for size in range(k, len(rows) + 1):
            if 0 < len(rows) - size < k:
                continue
            for chosen in combinations(others, size - 1):
                group = (first, *chosen)
                found = min(found, cost(X, group) + rest(tuple(r for r in others if r not in chosen)))
        return found

    return rest(tuple(range(len(X)))) / len(X)


def mdav(X: NDArray[np.float64], k: int) -> Groups:
    left = list(range(len(X)))
    groups = []

    def take(start: int) -> None:
        near = sorted(left, key=lambda r: (((X[r] - X[start]) ** 2).sum(), r))[:k]
        groups.append(frozenset(near))
        for row in near:
            left.remove(row)

    def farthest(point: NDArray[np.float64]) -> int:
        return max(left, key=lambda r: ((X[r] - point) ** 2).sum())

    while len(left) >= 3 * k:
        first = farthest(X[left].mean(axis=0))
        take(first)
        take(farthest(X[first]))
    if len(left) >= 2 * k:
        take(farthest(X[left].mean(axis=0)))
    return {*groups, frozenset(left)}


def mondrian(X: NDArray[np.float64], k: int) -> Groups:
    """MIKU algorithm 1 with all dimensions looked at."""

    def split(V: list[int]) -> Groups:
        if len(V) < 2 * k:
            return {frozenset(V)}
        widths = [max(X[i, j] for i in V) - min(X[i, j] for i in V) for j in range(X.shape[1])]
        j = int(np.argmax(widths))
        V = sorted(V, key=lambda i: (X[i, j], i))
        return split(V[: len(V) // 2]) | split(V[len(V) // 2 :])

    return split(list(range(len(X))))


class Node:
    """A merge tree as objects: leaves have a row, merges two children."""

    def __init__(self, height: float, order: int, row: int | None = None) -> None:
        self.height, self.order, self.row = height, order, row
        self.children: list[Node] = []

    def rows(self) -> list[int]:
        return [self.row] if self.row is not None else [r for c in self.children for r in c.rows()]

    def nodes(self) -> list["Node"]:
        return [self, *(n for c in self.children for n in c.nodes())]


def pruned(node: Node, gone: set[int]) -> Node | None:
    """The tree without these rows; a merge with one side left is that side."""
    if node.row is not None:
        return None if node.row in gone else node
    left = [child for c in node.children if (child := pruned(c, gone)) is not None]
    if len(left) < 2:
        return left[0] if left else None
    node.children = left
    return node


def cut(tree: Node, m: int) -> list[Node]:
    """Undo the highest merge until there are m clusters."""
    clusters = [tree]
    while len(clusters) < m:
        top = max(clusters, key=lambda c: c.order)
        clusters.remove(top)
        clusters += top.children
    return clusters


def lowest(tree: Node, want: int) -> list[int]:
    """The rows of the lowest subtree with at least `want`; its larger branch whole, the rest likewise."""
    if want == 0:
        return []
    node = min((n for n in tree.nodes() if len(n.rows()) >= want), key=lambda n: n.order)
    if len(node.rows()) == want:
        return node.rows()
    large, small = sorted(node.children, key=lambda c: (-len(c.rows()), c.order))
    return large.rows() + lowest(small, want - len(large.rows()))


def hierarchical(X: NDArray[np.float64], k: int, link: str) -> Groups:
    """AnonFACES algorithm 1 with the choices that faceveil/grouping/hierarchical.py writes down."""
    n = len(X)

    def convert(node) -> Node:  # type: ignore[no-untyped-def]
        made = Node(node.dist, node.id, node.id if node.is_leaf() else None)
        if not node.is_leaf():
            made.children = [convert(node.get_left()), convert(node.get_right())]
        return made

    Z: Node | None = convert(to_tree(linkage(X, link)))
    groups = n // k
    sizes = [n // groups + (j < n % groups) for j in range(groups)]
    C = set()
    for k_j in sizes:
        assert Z is not None
        m = len(Z.rows()) // k
        while True:
            q = max(cut(Z, m), key=lambda c: (len(c.rows()), -c.order))
            if len(q.rows()) >= k_j:
                break
            m -= 1
        chosen = lowest(q, k_j)
        Z = pruned(Z, set(chosen))
        C.add(frozenset(chosen))
    return C
