"""What a set's release rests on, number by number: people and not faces are counted, and numbers tell no order."""

from types import SimpleNamespace

import numpy as np
import pytest

from faceveil.errors import GroupingError
from faceveil.faces import Alignment
from faceveil.methods import Release
from faceveil.pipeline.decide import (
    check_release,
    people_in_groups,
    shuffled_numbers,
    takes_photos_away,
    withdrawn,
)
from faceveil.pipeline.exchange import exchanged
from faceveil.privacy import Guarantee
from faceveil.privacy.recount import recount
from faceveil.privacy.same_face import SIDE, Cut, cut_out, difference

K2 = Guarantee("k-anonymity", "", k=2)
CROPS = np.zeros((2, 8, 8, 3), np.uint8)


def release(groups: list[int], pictures: list[int] | None = None) -> Release:
    return Release(np.array(groups), np.array(groups if pictures is None else pictures), CROPS)


def test_k_people_pass_and_k_photos_of_fewer_do_not():
    check_release(release([0, 0, 1, 1]), np.arange(4), K2)
    check_release(release([0, 0, -1]), np.array([0, 1, 1]), K2)
    with pytest.raises(GroupingError, match="a group has 1 people"):
        check_release(release([0, 0]), np.array([7, 7]), K2)


def test_a_method_that_claims_no_k_may_give_everybody_a_face_of_their_own():
    check_release(release([0, 1]), np.arange(2), Guarantee("none", ""))
    with pytest.raises(GroupingError, match="not there"):
        check_release(release([0, 0], [0, -1]), np.arange(2), Guarantee("none", ""))


def test_people_of_a_group_are_counted_once():
    groups, subjects = np.array([3, 3, 3, 5]), np.array([1, 1, 2, 1])
    assert people_in_groups(groups, subjects) == {3: 2, 5: 1}
    assert withdrawn(groups, subjects, np.arange(4), set(), 2) == {3}


def test_numbers_of_groups_begin_with_1_and_tell_nothing_of_their_order():
    groups = np.array([4, -1, 0, 4, 9])
    seen = {tuple(shuffled_numbers(groups, np.random.default_rng(seed)).tolist()) for seed in range(60)}
    assert len(seen) == 6  # every order of three groups
    for numbers in seen:
        assert numbers[1] == -1 and numbers[0] == numbers[3] and {*numbers} == {-1, 1, 2, 3}


@pytest.mark.parametrize(
    ("kind", "leftover", "away"),
    [("photos", "quarantine", True), ("photos", "cover", False), ("crops", "quarantine", False)],
)
def test_only_a_photo_that_shows_a_face_without_a_group_is_stopped_by_it(kind, leftover, away):
    assert takes_photos_away(SimpleNamespace(release=kind, leftover=leftover)) is away


def test_profiles_are_exchanged_among_three_people_or_more():
    profiles, subjects = np.array([[30, 0.1, 0.2], [40, 0.9, 0.1]]), np.arange(2)
    with pytest.raises(GroupingError, match="at least 3 people; this set shows 2"):
        exchanged(profiles, subjects, np.random.default_rng(0))
    three = np.array([[30, 0.1, 0.2], [40, 0.9, 0.1], [np.nan] * 3])
    dealt = exchanged(three, np.arange(3), np.random.default_rng(0))
    assert sorted((one.age, one.female) for one in dealt) == [(30, 0.1), (35, 0.5), (40, 0.9)]


PLACES = {1: ["a/1.jpg", "a/2.jpg", "b/1.jpg"], 2: ["b/1.jpg", "b/1.jpg"]}


@pytest.mark.parametrize(
    ("subjects", "kind", "people", "exact"),
    [
        ("folder", "photos", {1: 2, 2: 1}, True),
        ("folder", "crops", {1: 3, 2: 2}, False),
        ("file", "photos", {1: 3, 2: 1}, False),
        ("file", "crops", {1: 3, 2: 2}, False),
        ("each", "photos", {1: 3, 2: 2}, True),
        ("each", "crops", {1: 3, 2: 2}, True),
        ("auto", "photos", {1: 3, 2: 2}, False),
    ],
)
def test_people_are_counted_again_as_far_as_files_tell(subjects, kind, people, exact):
    found = recount(subjects, kind, PLACES)
    assert dict(found.people) == people and found.exact is exact


def cut(pixels: np.ndarray, side: float = 200.0, visible: np.ndarray | None = None) -> Cut:
    return Cut(pixels, np.ones((SIDE, SIDE), bool) if visible is None else visible, side)


def test_the_cell_that_differs_most_decides_and_what_is_hidden_does_not_count():
    grey = np.full((SIDE, SIDE, 3), 100, np.uint8)
    other = grey.copy()
    other[16:24, 40:48] = 160  # one cell
    assert difference(cut(grey), cut(grey)) == 0
    assert difference(cut(grey), cut(grey + 7)) == pytest.approx(7, abs=0.01)
    assert 35 < difference(cut(grey), cut(other)) <= 60
    hidden = np.ones((SIDE, SIDE), bool)
    hidden[14:26, 38:50] = False
    assert difference(cut(grey), cut(other, visible=hidden)) == 0
    assert difference(cut(grey), cut(other, visible=np.zeros((SIDE, SIDE), bool))) == np.inf


def test_fine_detail_is_not_compared_where_a_photo_is_coarse():
    rng = np.random.default_rng(0)
    noise = rng.integers(60, 190, (SIDE, SIDE, 3)).astype(np.uint8)
    flat = np.full_like(noise, 125)
    fine, coarse = (difference(cut(noise, side), cut(flat)) for side in (200.0, 12.0))
    assert coarse < 0.5 * fine


def test_a_face_is_cut_out_of_its_photo_as_it_was_put_there():
    image = np.random.default_rng(1).integers(0, 255, (300, 400, 3), dtype=np.uint8)
    place = Alignment(np.array([[0.5, 0, -40.0], [0, 0.5, -20.0]]), SIDE)  # of 128 px, from (80, 40)
    found = cut_out(image, place, np.ones((SIDE, SIDE), bool))
    assert found.side == pytest.approx(128) and np.array_equal(found.pixels, place.crop(image))
