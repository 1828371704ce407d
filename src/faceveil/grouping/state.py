"""A partition of one block of rows, in the form that makes the price of a change cheap to know.

The cost of a group is its (weighted) sum of squared distances to the mean, Σ w|x|² − |S|²/W with S = Σ w·x
and W = Σ w. With the Gram matrix of all rows and the products P[g, i] = S_g · x_i at hand, the price of
exchanging two rows between two groups, or of moving one, takes a handful of additions whatever the length of
the vectors; a change that is made costs one pass over two rows of P.
"""

from typing import NamedTuple, Protocol

import numpy as np

from faceveil.grouping.compiled import Array, compiled


class Grouped(Protocol):
    """Rows in groups: a State, or a Region (region.py)."""

    @property
    def member(self) -> Array:
        """member[g, :size[g]] are the rows of group g."""

    @property
    def size(self) -> Array:
        """The rows in each group."""


class State(NamedTuple):
    """Rows, groups, and their products."""

    gram: Array  # x_i · x_j
    weights: Array  # w_i
    labels: Array  # the group of each row
    member: Array  # member[g, :size[g]] are the rows of group g
    place: Array  # where a row stands in its group
    size: Array
    P: Array  # S_g · x_i
    S2: Array  # |S_g|²
    W: Array  # Σ w of each group


@compiled
def set_up(gram: Array, weights: Array, labels: Array, groups: int, most: int) -> State:
    """The state of `labels`, which it goes on to change in place; no group will hold more than `most`."""
    n = len(gram)
    state = State(
        gram,
        weights,
        labels,
        np.full((groups, most), -1, dtype=np.int32),
        np.empty(n, dtype=np.int32),
        np.zeros(groups, dtype=np.int32),
        np.zeros((groups, n), dtype=np.float32),
        np.zeros(groups),
        np.zeros(groups),
    )
    for i in range(n):
        g = labels[i]
        _enter(state, i, g)
        for j in range(n):
            state.P[g, j] += weights[i] * gram[i, j]
    for i in range(n):
        state.S2[labels[i]] += weights[i] * state.P[labels[i], i]
    return state


@compiled
def price_of_move(state: State, x: int, A: int, B: int) -> float:
    """What the cost rises by when row x leaves group A for group B."""
    w = state.weights[x]
    own = w * w * state.gram[x, x]
    before = state.S2[A] / state.W[A] + state.S2[B] / state.W[B]
    after = (state.S2[A] - 2 * w * state.P[A, x] + own) / (state.W[A] - w)
    after += (state.S2[B] + 2 * w * state.P[B, x] + own) / (state.W[B] + w)
    price: float = before - after
    return price


@compiled
def cheapest_swap(state: State, x: int, A: int, B: int) -> tuple[float, int]:
    """The row of group B whose exchange with row x of group A costs least, and that cost."""
    gram, P, W = state.gram, state.P, state.W
    wx = state.weights[x]
    own = wx * wx * gram[x, x]
    a = state.S2[A] - 2 * wx * P[A, x] + own
    b = state.S2[B] + 2 * wx * P[B, x] + own
    before = state.S2[A] / W[A] + state.S2[B] / W[B]
    best = np.inf
    partner = -1
    for t in range(state.size[B]):
        y = state.member[B, t]
        wy = state.weights[y]
        rest = wy * wy * gram[y, y] - 2 * wx * wy * gram[x, y]
        after = (a + 2 * wy * P[A, y] + rest) / (W[A] - wx + wy)
        after += (b - 2 * wy * P[B, y] + rest) / (W[B] + wx - wy)
        if before - after < best:
            best = before - after
            partner = y
    return best, partner


@compiled
def make_move(state: State, x: int, B: int) -> None:
    """Move row x to group B."""
    A = state.labels[x]
    w = state.weights[x]
    own = w * w * state.gram[x, x]
    state.S2[A] += own - 2 * w * state.P[A, x]
    state.S2[B] += own + 2 * w * state.P[B, x]
    for j in range(len(state.gram)):
        change = w * state.gram[x, j]
        state.P[A, j] -= change
        state.P[B, j] += change
    _leave(state, x, A)
    _enter(state, x, B)


@compiled
def make_swap(state: State, x: int, y: int) -> None:
    """Exchange rows x and y between their groups."""
    gram, P = state.gram, state.P
    A, B = state.labels[x], state.labels[y]
    wx, wy = state.weights[x], state.weights[y]
    square = wx * wx * gram[x, x] + wy * wy * gram[y, y] - 2 * wx * wy * gram[x, y]
    state.S2[A] += 2 * (wy * P[A, y] - wx * P[A, x]) + square
    state.S2[B] += 2 * (wx * P[B, x] - wy * P[B, y]) + square
    for j in range(len(gram)):
        change = wx * gram[x, j] - wy * gram[y, j]
        P[A, j] -= change
        P[B, j] += change
    _leave(state, x, A)
    _leave(state, y, B)
    _enter(state, x, B)
    _enter(state, y, A)


@compiled
def _enter(state: State, x: int, g: int) -> None:
    state.member[g, state.size[g]] = x
    state.place[x] = state.size[g]
    state.size[g] += 1
    state.W[g] += state.weights[x]
    state.labels[x] = g


@compiled
def _leave(state: State, x: int, g: int) -> None:
    state.size[g] -= 1
    last = state.member[g, state.size[g]]
    state.member[g, state.place[x]] = last
    state.place[last] = state.place[x]
    state.W[g] -= state.weights[x]


@compiled
def holds_person(groups: Grouped, people: Array, g: int, x: int, without: int) -> bool:
    """Would group g, once row `without` has left it, hold the person of row x already?"""
    for t in range(groups.size[g]):
        other = groups.member[g, t]
        if other != without and other != x and people[other] == people[x]:
            return True
    return False


@compiled
def cost_of_group(state: State, g: int) -> float:
    """Σ w·|x − mean|² of group g."""
    total = 0.0
    for t in range(state.size[g]):
        x = state.member[g, t]
        total += state.weights[x] * state.gram[x, x]
    cost: float = max(total - state.S2[g] / state.W[g], 0.0) if state.size[g] > 0 else 0.0
    return cost


@compiled
def total_cost(state: State) -> float:
    """The cost of all groups."""
    total = 0.0
    for g in range(len(state.size)):
        total += cost_of_group(state, g)
    return total
