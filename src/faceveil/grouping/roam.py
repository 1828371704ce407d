"""Simulated annealing over a whole region: rows visit the groups of their near rows, and change places.

Most visits end after two inner products: where the row alone would cost far more in the group it visits than
at home, no partner is looked for.
"""

import numpy as np

from faceveil.grouping.anneal import accept, meets_itself, next_random
from faceveil.grouping.compiled import Array, compiled
from faceveil.grouping.region import NEVER, Region, dot, exchange


@compiled
def roam(
    region: Region,
    people: Array,
    least: int,
    most: int,
    hot: float,
    cold: float,
    reach: float,
    sweeps: int,
    seed: int,
) -> None:
    """In each sweep every row visits one group; the temperature falls from `hot` to `cold`.

    `reach` is the price up to which a visit is followed up. An empty `people` says that everybody is there
    once.
    """
    word = np.empty(1, dtype=np.uint64)
    word[0] = np.uint64(seed) * np.uint64(2862933555777941757) + np.uint64(3037000493)
    direction = np.empty((1, region.X.shape[1]), dtype=np.float32)
    cooling = (cold / hot) ** (1.0 / max(1, sweeps)) if hot > 0 else 1.0
    temperature = hot
    tiny = 0.001 * cold  # rows that are alike: an exchange changes nothing
    for _ in range(sweeps):
        temperature *= cooling
        for x in range(len(region.X)):
            A = region.labels[x]
            B = _group_to_visit(region, x, A, next_random(word))
            if B < 0 or B == A:
                continue
            price, partner = price_of_visit(region, direction, x, B, least, most, reach)
            if (
                abs(price) <= tiny
                or not accept(price, temperature, word)
                or meets_itself(region, people, x, partner, A, B)
            ):
                continue
            exchange(region, x, partner, B)


@compiled
def _group_to_visit(region: Region, x: int, A: int, chance: int) -> int:
    """The group of a near row, or a group near x's own; −1 where the row lies outside the region."""
    rows = region.near.shape[1]
    draw = chance % (rows + region.beside.shape[1])
    if draw >= rows:
        group: int = region.beside[A, draw - rows]
        return group
    z = region.near[x, draw]
    return region.labels[z] if z >= 0 else -1


@compiled
def price_of_visit(
    region: Region, direction: Array, x: int, B: int, least: int, most: int, reach: float
) -> tuple[float, int]:
    """What the cost rises by, and the row of B that changes places with x (−1: x moves alone).

    NEVER where moving alone costs more than `reach`.
    """
    X, S, S2, W = region.X, region.S, region.S2, region.W
    A = region.labels[x]
    wx = region.weights[x]
    before = S2[A] / W[A] + S2[B] / W[B]
    a = S2[A] + region.squares[x] - 2 * wx * dot(S, A, X, x)
    b = S2[B] + region.squares[x] + 2 * wx * dot(S, B, X, x)
    move = before - a / (W[A] - wx) - b / (W[B] + wx) if region.size[A] > 1 else NEVER
    if move > reach:
        return NEVER, -1
    y = _partner(region, direction, x, A, B)
    wy = region.weights[y]
    both = wx * dot(X, x, X, y)
    a += region.squares[y] + 2 * wy * (dot(S, A, X, y) - both)
    b += region.squares[y] - 2 * wy * (dot(S, B, X, y) + both)
    swap = before - a / (W[A] - wx + wy) - b / (W[B] + wx - wy)
    if move < swap and region.size[A] > least and region.size[B] < most:
        return move, -1
    return swap, y


@compiled
def _partner(region: Region, direction: Array, x: int, A: int, B: int) -> int:
    """The row of B whose exchange with x gains most (exactly so where the two weigh the same)."""
    X, S = region.X, region.S
    wx = region.weights[x]
    one = np.float32(1 / region.W[A])
    other = np.float32(1 / region.W[B])
    for t in range(X.shape[1]):
        direction[0, t] = one * (S[A, t] - wx * X[x, t]) - other * (S[B, t] + wx * X[x, t])
    most = -NEVER
    partner = -1
    for s in range(region.size[B]):
        y = region.member[B, s]
        gain = 2 * region.weights[y] * dot(direction, 0, X, y) + (one + other) * region.squares[y]
        if gain > most:
            most = gain
            partner = y
    return partner
