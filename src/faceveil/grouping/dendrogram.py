"""The merge tree of a partition as an SVG picture (AnonFACES figure 12), with the cuts that bound a good k.

Small data shows every person as a leaf; larger data shows the groups, as the tree of their means. Colours
come from the page (currentColor), so that it reads in the light, in the dark and on paper.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from faceveil.grouping.arrays import Ints, as_vectors
from faceveil.grouping.hierarchical import Linkage, merge_heights
from faceveil.grouping.measures import group_means
from faceveil.grouping.partition import Partition

MOST_LEAVES = 400
WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 960.0, 360.0, 46.0, 12.0, 26.0


@dataclass(frozen=True)
class Cuts:
    """Where most leaves have company, and where nearly all have; the smallest clusters there bound k."""

    low: float
    high: float
    k_min: int
    k_max: int


def dendrogram(X: ArrayLike, partition: Partition, linkage: Linkage = "ward") -> str:
    """The tree as a standalone SVG; branches inside one group are drawn strong, those above it faint."""
    vectors, labels = partition._released(X)
    of_people = len(vectors) <= MOST_LEAVES
    if not of_people:
        vectors, labels = group_means(vectors, labels), np.arange(len(partition))
    if len(vectors) > MOST_LEAVES:
        vectors, labels = (
            vectors[:: -(-len(vectors) // MOST_LEAVES)],
            labels[:: -(-len(labels) // MOST_LEAVES)],
        )
    what = "people" if of_people else "group means"
    if len(vectors) < 2:
        return _svg(
            '<text x="50%" y="50%" text-anchor="middle" fill="currentColor">one leaf</text>', "one leaf"
        )
    tree = merge_heights(vectors, linkage)
    title = f"Dendrogram of {len(vectors)} {what}, {linkage} linkage"
    return _svg(_branches(tree, labels) + _cut_lines(tree), title)


def good_k(X: ArrayLike, linkage: Linkage = "ward") -> Cuts:
    """The two cuts of AnonFACES section 4.4: half of the leaves, then nine in ten, are in a cluster of two or
    more.

    k_min and k_max are the smallest clusters (of two or more) below each cut: bounds for a good k.
    """
    return _cuts(merge_heights(as_vectors(X), linkage))


def _cuts(tree: NDArray[np.float64]) -> Cuts:
    n = len(tree) + 1
    joined = np.cumsum((tree[:, :2] < n).sum(axis=1))  # leaves that have met somebody, merge by merge
    found = []
    for share in (0.5, 0.9):
        at = int(np.searchsorted(joined, share * n))
        inside = set(tree[: at + 1, :2].astype(int).ravel())
        tops = [i for i in range(at + 1) if n + i not in inside]
        found.append((float(tree[at, 2]), int(min(tree[i, 3] for i in tops))))
    (low, k_min), (high, k_max) = found
    return Cuts(low, high, k_min, max(k_min, k_max))


def _leaf_order(tree: NDArray[np.float64]) -> list[int]:
    n = len(tree) + 1
    order, stack = [], [2 * n - 2]
    while stack:
        node = stack.pop()
        if node < n:
            order.append(node)
        else:
            stack += [int(tree[node - n, 1]), int(tree[node - n, 0])]
    return order


def _y(height: float, top: float) -> float:
    return HEIGHT - BOTTOM - height / (top or 1.0) * (HEIGHT - BOTTOM - TOP)


def _branches(tree: NDArray[np.float64], labels: Ints) -> str:
    n = len(tree) + 1
    order = _leaf_order(tree)
    x = np.zeros(2 * n - 1)
    x[order] = LEFT + (np.arange(n) + 0.5) * (WIDTH - LEFT) / n
    height = np.zeros(2 * n - 1)
    group = np.append(labels, np.full(n - 1, -1))  # −1: this branch holds several groups
    top = float(tree[-1, 2])
    strong: list[str] = []
    faint: list[str] = []
    for i, (a, b, h, _) in enumerate(tree):
        left, right = int(a), int(b)
        x[n + i], height[n + i] = (x[left] + x[right]) / 2, h
        group[n + i] = group[left] if group[left] == group[right] else -1
        path = (
            f"M{x[left]:.1f} {_y(height[left], top):.1f}V{_y(h, top):.1f}"
            f"H{x[right]:.1f}V{_y(height[right], top):.1f}"
        )
        (strong if group[n + i] >= 0 else faint).append(path)
    axis = "".join(
        f'<text x="{LEFT - 6:.0f}" y="{_y(v, top) + 4:.1f}" text-anchor="end">{v:.3g}</text>'
        for v in np.linspace(0, top, 5)
    )
    return (
        f'<path class="strong" d="{"".join(strong)}"/><path class="faint" d="{"".join(faint)}"/>'
        f'<g class="axis">{axis}</g>'
    )


def _cut_lines(tree: NDArray[np.float64]) -> str:
    cuts, top = _cuts(tree), float(tree[-1, 2])
    return "".join(
        f'<path class="cut" d="M{LEFT} {_y(h, top):.1f}H{WIDTH}"/>'
        f'<text class="axis" x="{WIDTH - 4:.0f}" y="{_y(h, top) - 4:.1f}" text-anchor="end">{name} = {k}'
        "</text>"
        for h, name, k in ((cuts.low, "k min", cuts.k_min), (cuts.high, "k max", cuts.k_max))
    )


def _svg(inside: str, title: str) -> str:
    style = (
        ".strong{fill:none;stroke:currentColor;stroke-width:1.4}"
        ".faint{fill:none;stroke:currentColor;stroke-width:.7;opacity:.45}"
        ".cut{stroke:currentColor;stroke-dasharray:6 4;opacity:.8}"
        ".axis{font:12px system-ui,sans-serif;fill:currentColor}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:.0f} {HEIGHT:.0f}" role="img"'
        f' aria-label="{title}"><title>{title}</title><style>{style}</style>{inside}</svg>'
    )
