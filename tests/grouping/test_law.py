"""The law that every grouper keeps, whatever comes in: disjoint groups, each of at least k people."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from faceveil.errors import GroupingError, UsageError
from faceveil.grouping import GROUPERS, Neighbourhoods, Partition, group, require_partition
from faceveil.privacy.criteria import KAnonymity

EVERY = pytest.mark.parametrize("grouper", GROUPERS)
CALM = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def quick(grouper: str) -> dict[str, float]:
    return {"effort": 0.02} if grouper == "best" else {}


@st.composite
def data(draw: st.DrawFn) -> tuple[NDArray[np.float64], int]:
    """Points in one to five dimensions: scattered, on a grid with duplicates, or all alike; k up to n."""
    n = draw(st.integers(1, 70))
    d = draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    kind = draw(st.sampled_from(["scattered", "grid", "alike", "huge", "tiny"]))
    X = rng.normal(size=(n, d))
    X = {"grid": np.round(X), "alike": np.ones((n, d)), "huge": X * 1e150, "tiny": X * 1e-150}.get(kind, X)
    return X, draw(st.integers(1, n))


@EVERY
@CALM
@given(given=data())
def test_every_group_has_at_least_k_rows_and_every_row_one_group(grouper, given):
    X, k = given
    before = X.copy()
    partition = group(X, k, grouper, seed=1, **quick(grouper))
    assert KAnonymity(k).judge(partition.labels).holds
    assert partition.sizes.sum() == len(X)
    assert np.array_equal(X, before)


@EVERY
@CALM
@given(given=data(), people=st.integers(1, 40), seed=st.integers(0, 99))
def test_photos_of_one_person_stay_together_and_count_once(grouper, given, people, seed):
    X, k = given
    who = np.random.default_rng(seed).integers(0, people, len(X))
    if len(np.unique(who)) < k:
        with pytest.raises(GroupingError, match=r"people"):
            group(X, k, grouper, who, seed=1, **quick(grouper))
        return
    partition = group(X, k, grouper, who, seed=1, **quick(grouper))
    assert KAnonymity(k, who).judge(partition.labels).holds
    assert all(len(set(partition.labels[who == person])) == 1 for person in np.unique(who))


@EVERY
@CALM
@given(given=data(), people=st.integers(1, 60), seed=st.integers(0, 99))
def test_photos_of_one_person_stay_apart_or_the_reason_is_given(grouper, given, people, seed):
    X, k = given
    who = np.random.default_rng(seed).integers(0, people, len(X))
    if np.bincount(who).max() > len(X) // k or len(np.unique(who)) < k:
        with pytest.raises(GroupingError):
            group(X, k, grouper, who, seed=1, stay="apart", **quick(grouper))
        return
    partition = group(X, k, grouper, who, seed=1, stay="apart", **quick(grouper))
    assert KAnonymity(k, who).judge(partition.labels).holds
    for rows in partition.groups:
        assert len(set(who[rows])) == len(rows)


@EVERY
def test_the_same_seed_gives_the_same_groups(grouper, rng):
    X = rng.normal(size=(120, 6))
    assert group(X, 4, grouper, seed=5) == group(X, 4, grouper, seed=5)


@EVERY
def test_subject_names_may_be_anything_that_can_be_compared(grouper, rng):
    X = rng.normal(size=(30, 3))
    names = [f"person {i // 2}" for i in range(30)]
    assert group(X, 3, grouper, names, seed=1).people.min() >= 3


@EVERY
def test_fewer_people_than_k_are_refused_with_the_largest_k_that_would_do(grouper):
    with pytest.raises(
        GroupingError, match=r"k=10 needs at least 10 people; these vectors show 7\. Lower k to 7"
    ):
        group(np.eye(7), 10, grouper)


@EVERY
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_row_that_is_not_finite_is_named(grouper, bad):
    X = np.zeros((20, 2))
    X[13, 1] = bad
    with pytest.raises(UsageError, match="row 13"):
        group(X, 2, grouper)


@EVERY
def test_groupers_do_not_depend_on_where_the_data_lies(grouper, rng):
    X = rng.integers(-50, 50, size=(60, 4)).astype(float)
    partition = group(X + 2.0**20, 3, grouper, seed=1)
    assert partition.information_loss(X) == pytest.approx(partition.information_loss(X + 2.0**20), rel=1e-6)


@pytest.mark.parametrize("k", [0, -1, 2.5, True])
def test_a_k_that_is_no_count_is_refused(k):
    with pytest.raises(UsageError, match="k must be"):
        group(np.eye(4), k)


def test_an_unknown_grouper_is_answered_with_the_known_ones():
    with pytest.raises(UsageError, match="best, hierarchical, mondrian"):
        group(np.eye(4), 2, "nosuch")


def test_an_unknown_parameter_is_answered_by_name():
    with pytest.raises(UsageError, match="gamma"):
        group(np.eye(4), 2, "mdav", gamma=1)


def test_no_vectors_at_all_are_refused():
    with pytest.raises(GroupingError, match="show 0"):
        group(np.zeros((0, 4)), 2)


def test_a_photo_is_one_row_however_many_axes_its_vector_has(rng):
    X = rng.normal(size=(40, 3, 5))
    assert len(group(X, 4, seed=1).labels) == 40


def test_a_group_smaller_than_k_is_refused():
    with pytest.raises(GroupingError, match="group 1 holds 1"):
        Partition([0, 0, 1], 2)


def test_a_group_of_many_photos_of_one_person_is_refused():
    with pytest.raises(GroupingError, match="group 0 holds 1"):
        Partition([0, 0, 0], 2, ["anna", "anna", "anna"])


def test_a_row_without_a_group_must_be_named_as_suppressed():
    with pytest.raises(UsageError, match="suppressed"):
        Partition([0, 0, -1], 2)
    assert list(Partition([0, 0, -1], 2, suppressed=[2]).suppressed) == [2]


def test_group_numbers_have_no_gaps():
    with pytest.raises(UsageError, match="Group 1 is empty"):
        Partition([0, 0, 2, 2], 2)


def test_a_partition_cannot_be_changed_afterwards():
    with pytest.raises(ValueError, match="read-only"):
        Partition([0, 0, 1, 1], 2).labels[0] = 1


def test_no_claim_of_k_accepts_overlapping_neighbourhoods():
    around = Neighbourhoods(np.array([[0, 1], [1, 0], [2, 1]]))
    with pytest.raises(GroupingError, match="disjoint"):
        require_partition(around)
    with pytest.raises(GroupingError, match="disjoint"):
        KAnonymity(2).judge(around)
