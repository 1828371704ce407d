"""Targets dealt out to the faces of a set: of those that suit, and unlike those of the others."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from faceveil.evaluation.attackers import attackers
from faceveil.evaluation.clusters import identities
from faceveil.methods.styleid.choice import TRIED, shortlists, suitable
from faceveil.methods.styleid.deal import dealt, nearness
from faceveil.methods.styleid.targets import Person, pool
from faceveil.models.recognizers import RECOGNIZERS

RNG = np.random.default_rng
A = ("mobilenet.facelib",)


def person_like(target: int) -> Person:
    """Somebody of whom this target is the image."""
    those = pool()
    return Person(
        those.looks[target],
        those.age[target],
        those.female[target],
        those.skin[target],
        those.expression[target].astype(np.float32),
        those.shade[target],
        those.labels[target].astype(np.float32),
    )


@settings(max_examples=20, deadline=None)
@given(st.lists(st.lists(st.integers(0, 99), max_size=12, unique=True), max_size=6), st.integers(0, 2**32))
def test_everybody_gets_targets_that_suit_and_the_same_again_from_the_same_chance(suits, seed):
    given_ = [np.array(targets, np.int64) for targets in suits]
    hands = dealt(given_, A, RNG(seed))
    assert hands == dealt(given_, A, RNG(seed))
    for targets, hand in zip(suits, hands, strict=True):
        assert set(hand) <= set(targets) and len(set(hand)) == len(hand) == min(TRIED, len(targets))


@settings(max_examples=10, deadline=None)
@given(st.integers(2, 8), st.integers(0, 2**32))
def test_people_of_one_kind_share_no_target_while_there_are_enough(people, seed):
    hands = dealt([np.arange(200, 200 + TRIED * people)] * people, A, RNG(seed))
    assert sorted(target for hand in hands for target in hand) == list(range(200, 200 + TRIED * people))


def test_a_target_crowds_itself_most_and_its_like_more_than_others():
    row = 17
    near = nearness(pool(), row, A)
    far = pool().distances(A[0], pool().embeddings[A[0]][row])
    assert near.argmax() == row and abs(near[row] - 1) < 1e-3  # embeddings are stored in bytes
    assert (np.diff(near[np.argsort(far)]) <= 1e-6).all()


def test_recognisers_see_more_people_in_what_is_dealt_than_in_what_is_drawn():
    men = np.flatnonzero((pool().female < 0.1) & (pool().age > 30) & (pool().age < 50))
    everybody = [RNG([1, face]).choice(men, 60, replace=False) for face in range(60)]
    first = [hand[0] for hand in dealt(everybody, tuple(RECOGNIZERS), RNG(1))]
    drawn = [int(targets[0]) for targets in everybody]
    seen = {
        attacker.id: [identities(pool().embeddings[attacker.id][rows], attacker) for rows in (first, drawn)]
        for attacker in attackers()
    }
    assert all(of_dealt > 1.08 * of_drawn for of_dealt, of_drawn in seen.values()), seen


def test_what_was_dealt_is_tried_first_and_not_again():
    embeddings = {A[0]: -pool().embeddings[A[0]][5]}
    person = person_like(5)
    hand = suitable(person, embeddings)[:TRIED]
    lists = list(shortlists(person, embeddings, RNG(2), hand))
    assert lists[0] == hand
    assert not set(hand) & {target for few in lists[1:] for target in few}


def test_drawn_targets_are_those_that_suit():
    embeddings = {A[0]: -pool().embeddings[A[0]][5]}
    first = next(shortlists(person_like(5), embeddings, RNG(3)))
    assert set(first) <= set(suitable(person_like(5), embeddings))
