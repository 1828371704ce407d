"""Targets dealt out to the faces of a set: of those that suit, and unlike those of the others."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.methods.people import like

from faceveil.evaluation.attackers import attackers
from faceveil.evaluation.clusters import identities
from faceveil.methods.styleid.choice import SKETCHED, TRIED, shortlists, suitable
from faceveil.methods.styleid.deal import dealt, nearness
from faceveil.methods.styleid.targets import pool
from faceveil.models.recognizers import WATCHING, recognizer

RNG = np.random.default_rng
A = ("mobilenet.facelib",)


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 99), max_size=12, unique=True), max_size=6),
    st.lists(st.integers(0, 3), min_size=6, max_size=6),
    st.integers(0, 2**32),
)
def test_everybody_gets_targets_that_suit_and_the_same_again_from_the_same_chance(suits, people, seed):
    given_, people = [np.array(targets, np.int64) for targets in suits], people[: len(suits)]
    hands = dealt(given_, people, A, RNG(seed))
    assert hands == dealt(given_, people, A, RNG(seed))
    for targets, hand, person in zip(suits, hands, people, strict=True):
        assert set(hand) <= set(targets) and len(set(hand)) == len(hand)
        assert len(hand) == min(SKETCHED if people.count(person) == 1 else TRIED, len(targets))


@settings(max_examples=10, deadline=None)
@given(st.integers(2, 8), st.integers(0, 2**32))
def test_people_of_one_kind_share_no_target_while_there_are_enough(people, seed):
    hands = dealt([np.arange(200, 200 + SKETCHED * people)] * people, range(people), A, RNG(seed))
    assert sorted(target for hand in hands for target in hand) == list(range(200, 200 + SKETCHED * people))


def test_a_target_crowds_itself_most_and_its_like_more_than_others():
    row = 17
    near = nearness(pool(), row, A)
    far = pool().distances(A[0], pool().embeddings[A[0]][row])
    assert near.argmax() == row and abs(near[row] - 1) < 1e-3  # embeddings are stored in bytes
    assert (np.diff(near[np.argsort(far)]) <= 1e-6).all()


def test_recognisers_see_more_people_in_what_is_dealt_than_in_what_is_drawn():
    men = np.flatnonzero((pool().female < 0.1) & (pool().age > 30) & (pool().age < 50))
    everybody = [RNG([1, face]).choice(men, 60, replace=False) for face in range(60)]
    first = [hand[0] for hand in dealt(everybody, range(60), tuple(WATCHING), RNG(1))]
    drawn = [int(targets[0]) for targets in everybody]
    seen = {
        attacker.id: [identities(pool().embeddings[attacker.id][rows], attacker) for rows in (first, drawn)]
        for attacker in attackers()
    }
    assert all(of_dealt > 1.08 * of_drawn for of_dealt, of_drawn in seen.values()), seen


@pytest.mark.parametrize("photos", [2, 4])
def test_one_persons_photos_are_dealt_targets_less_alike_than_strangers_are_even_to_who_did_not_deal(photos):
    women = np.flatnonzero((pool().female > 0.9) & (pool().age > 20) & (pool().age < 40))
    suits = [RNG([2, face]).choice(women, 120, replace=False) for face in range(10 * photos)]
    people = [face // photos for face in range(len(suits))]
    hands = dealt(suits, people, [name for name in WATCHING if name not in A], RNG(4))
    vectors = pool().embeddings[A[0]][np.array(hands)]  # faces × TRIED × 128
    far = recognizer(A[0]).distance(vectors[:, None, :, None], vectors[None, :, None]).mean(axis=(2, 3))
    same = np.equal.outer(people, people) & ~np.eye(len(people), dtype=bool)
    strangers = far[~same & ~np.eye(len(people), dtype=bool)]
    assert far[same].mean() > strangers.mean() + strangers.std() / 3


def test_what_was_dealt_is_tried_first_and_not_again():
    embeddings = {A[0]: -pool().embeddings[A[0]][5]}
    person = like(5)
    hand = suitable(person, embeddings)[:TRIED]
    lists = list(shortlists(person, embeddings, RNG(2), hand))
    assert lists[0] == hand
    assert not set(hand) & {target for few in lists[1:] for target in few}


def test_drawn_targets_are_those_that_suit():
    embeddings = {A[0]: -pool().embeddings[A[0]][5]}
    first = next(shortlists(like(5), embeddings, RNG(3)))
    assert set(first) <= set(suitable(like(5), embeddings))
