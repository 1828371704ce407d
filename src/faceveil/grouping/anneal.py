"""Simulated annealing of a partition: exchanges that gain are made, others by chance while it is hot."""

import numpy as np

from faceveil.grouping.compiled import Array, compiled
from faceveil.grouping.loss import loss_of_group, losses
from faceveil.grouping.state import (
    Grouped,
    State,
    cheapest_swap,
    holds_person,
    make_move,
    make_swap,
    price_of_move,
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
def anneal(
    state: State,
    people: Array,
    least: int,
    most: int,
    near: Array,
    hot: float,
    cold: float,
    steps: int,
    seed: int,
    by_loss: bool,
) -> None:
    """Exchange rows between groups; the temperature falls from `hot` to `cold`.

    Each step draws a row and one of its near rows, and finds in the near row's group the partner whose
    exchange costs least in squares (or moves the row, where its group can spare it). `by_loss` then asks what
    it costs in distances. An empty `people` says that everybody is there once.
    """
    word = np.empty(1, dtype=np.uint64)
    word[0] = np.uint64(seed) * np.uint64(2862933555777941757) + np.uint64(3037000493)
    cooling = (cold / hot) ** (1.0 / max(1, steps)) if hot > 0 else 1.0
    temperature = hot
    tiny = 0.001 * cold  # rows that are alike: an exchange changes nothing
    loss = losses(state)
    for _ in range(steps):
        temperature *= cooling
        x = next_random(word) % len(state.labels)
        A = state.labels[x]
        B = state.labels[near[x, next_random(word) % near.shape[1]]]
        if A == B:
            continue
        price, partner = cheapest_swap(state, x, A, B)
        if state.size[A] > least and state.size[B] < most:
            move = price_of_move(state, x, A, B)
            if move < price:
                price, partner = move, -1
        if by_loss:
            loss_A = loss_of_group(state, A, x, partner)
            loss_B = loss_of_group(state, B, partner, x)
            price = loss_A + loss_B - loss[A] - loss[B]
        if (
            abs(price) <= tiny
            or not accept(price, temperature, word)
            or meets_itself(state, people, x, partner, A, B)
        ):
            continue
        if partner < 0:
            make_move(state, x, B)
        else:
            make_swap(state, x, partner)
        if by_loss:
            loss[A] = loss_A
            loss[B] = loss_B


@compiled
def accept(price: float, temperature: float, word: Array) -> bool:
    """A gain always; a loss by chance, the rarer the larger it is."""
    if price < 0:
        return True
    return temperature > 0 and next_random(word) < 2147483648.0 * np.exp(-price / temperature)


@compiled
def meets_itself(groups: Grouped, people: Array, x: int, partner: int, A: int, B: int) -> bool:
    """Would the exchange bring two photos of one person into one group?"""
    if len(people) == 0:
        return False
    if holds_person(groups, people, B, x, partner):
        return True
    return partner >= 0 and holds_person(groups, people, A, partner, x)
