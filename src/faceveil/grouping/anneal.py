"""Simulated annealing of a partition: exchanges that gain are made, others by chance while it is hot."""

import numpy as np

from faceveil.grouping.compiled import Array, compiled
from faceveil.grouping.state import (
    State,
    cheapest_swap,
    holds_person,
    make_move,
    make_swap,
    price_of_move,
    set_up,
)


@compiled
def next_random(word: Array) -> int:
    """31 random bits by xorshift64*: one word of state, the same numbers on every thread and machine."""
    x = word[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    word[0] = x
    bits: int = (x * np.uint64(2685821657736338717)) >> np.uint64(33)
    return bits


@compiled
def nearest_in_gram(gram: Array, count: int) -> Array:
    """The `count` nearest other rows of each row, nearest first."""
    n = len(gram)
    near = np.empty((n, count), dtype=np.int32)
    far = np.empty(count, dtype=np.float32)
    for i in range(n):
        filled = 0
        for j in range(n):
            d = gram[j, j] - 2 * gram[i, j]
            if j == i or (filled == count and d >= far[count - 1]):
                continue
            filled = min(filled + 1, count)
            at = filled - 1
            while at > 0 and far[at - 1] > d:
                far[at] = far[at - 1]
                near[i, at] = near[i, at - 1]
                at -= 1
            far[at] = d
            near[i, at] = j
    return near


@compiled
def anneal(
    gram: Array,
    weights: Array,
    people: Array,
    labels: Array,
    groups: int,
    least: int,
    most: int,
    near: Array,
    hot: float,
    cold: float,
    steps: int,
    seed: int,
) -> State:
    """Exchange rows between groups, in place in `labels`; the temperature falls from `hot` to `cold`.

    Each step draws a row and one of its near rows, and finds in the near row's group the partner whose
    exchange costs least (or moves the row, where its group can spare it). hot = 0 accepts gains only. An
    empty `people` says that everybody is there once.
    """
    n = len(gram)
    word = np.empty(1, dtype=np.uint64)
    word[0] = np.uint64(seed) * np.uint64(2862933555777941757) + np.uint64(3037000493)
    state = set_up(gram, weights, labels, groups, most)
    cooling = (cold / hot) ** (1.0 / max(1, steps)) if hot > 0 else 1.0
    temperature = hot
    for _ in range(steps):
        temperature *= cooling
        x = next_random(word) % n
        A = labels[x]
        B = labels[near[x, next_random(word) % near.shape[1]]]
        if A == B:
            continue
        price, partner = cheapest_swap(state, x, A, B)
        if state.size[A] > least and state.size[B] < most:
            move = price_of_move(state, x, A, B)
            if move < price:
                price, partner = move, -1
        if price >= 0 and (
            temperature == 0 or next_random(word) >= 2147483648.0 * np.exp(-price / temperature)
        ):
            continue
        if len(people) > 0 and (
            holds_person(state, people, B, x, partner)
            or (partner >= 0 and holds_person(state, people, A, partner, x))
        ):
            continue
        if partner < 0:
            make_move(state, x, B)
        else:
            make_swap(state, x, partner)
    return state
