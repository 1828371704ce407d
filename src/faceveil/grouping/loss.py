"""The price of a change in information loss itself: distances to the mean, where state.py prices their
squares.

It takes a pass over the members of both groups, so it is asked only about exchanges that the squares
recommend.
"""

import numpy as np

from faceveil.grouping.compiled import Array, compiled
from faceveil.grouping.state import State


@compiled
def loss_of_group(state: State, g: int, leaves: int, enters: int) -> float:
    """Σ w·|x − mean| of group g once row `leaves` has left it and row `enters` has joined it (−1: nobody)."""
    gram, weights = state.gram, state.weights
    W = state.W[g]
    S2 = state.S2[g]
    if leaves >= 0:
        w = weights[leaves]
        S2 += w * (w * gram[leaves, leaves] - 2 * state.P[g, leaves])
        W -= w
    if enters >= 0:
        w = weights[enters]
        product = state.P[g, enters]
        if leaves >= 0:
            product -= weights[leaves] * gram[leaves, enters]
        S2 += w * (w * gram[enters, enters] + 2 * product)
        W += w
    if W <= 0:
        return 0.0
    total = 0.0
    for t in range(state.size[g] + 1):
        x = state.member[g, t] if t < state.size[g] else enters
        if x == leaves or x < 0:
            continue
        product = state.P[g, x]
        if leaves >= 0:
            product -= weights[leaves] * gram[leaves, x]
        if enters >= 0:
            product += weights[enters] * gram[enters, x]
        square = gram[x, x] - 2 * product / W + S2 / (W * W)
        total += weights[x] * np.sqrt(max(square, 0.0))
    return total


@compiled
def losses(state: State) -> Array:
    """The loss of each group."""
    loss = np.zeros(len(state.size))
    for g in range(len(loss)):
        loss[g] = loss_of_group(state, g, -1, -1)
    return loss
