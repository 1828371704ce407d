"""Dissolve groups whose members lose less in the groups around them: clusters need not be multiples of k."""

import numpy as np

from faceveil.grouping.compiled import Array, compiled
from faceveil.grouping.state import State, cost_of_group, holds_person, make_move


@compiled
def dissolve(state: State, people: Array, most: int, near: Array) -> int:
    """Empty every group that can be emptied at a gain; how many were."""
    emptied = 0
    for g in range(len(state.size)):
        gain = cost_of_group(state, g)
        for t in range(state.size[g]):
            gain -= _cheapest_entry(state, people, state.member[g, t], g, most, near)[0]
        if gain > 0 and _try_to_empty(state, people, g, most, near):
            emptied += 1
    return emptied


@compiled
def _try_to_empty(state: State, people: Array, g: int, most: int, near: Array) -> bool:
    """Send the members of g away one by one; all come back if that turns out a loss."""
    rows = state.member[g, : state.size[g]].copy()
    gain = cost_of_group(state, g)
    sent = 0
    for x in rows:
        price, there = _cheapest_entry(state, people, x, g, most, near)
        gain -= price
        if gain <= 0:
            break
        make_move(state, x, there)
        sent += 1
    if sent == len(rows):
        return True
    for t in range(sent):
        make_move(state, rows[t], g)
    return False


@compiled
def _cheapest_entry(state: State, people: Array, x: int, g: int, most: int, near: Array) -> tuple[float, int]:
    """The group, of those around row x but not g, where x adds least, and what it adds."""
    best = np.inf
    there = -1
    w = state.weights[x]
    own = w * state.gram[x, x]
    for t in range(near.shape[1]):
        B = state.labels[near[x, t]]
        if g == B or there == B or state.size[B] >= most:
            continue
        if len(people) > 0 and holds_person(state, people, B, x, -1):
            continue
        after = (state.S2[B] + 2 * w * state.P[B, x] + w * own) / (state.W[B] + w)
        price = own + state.S2[B] / state.W[B] - after
        if price < best:
            best = price
            there = B
    return best, there
