"""Criteria judge on their own, and groups change until they hold."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pycanon import anonymity

from faceveil.errors import GroupingError, UsageError
from faceveil.grouping import Partition, group
from faceveil.privacy.criteria import KAnonymity, LDiversity, TCloseness


@st.composite
def tables(draw):
    n = draw(st.integers(4, 60))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    labels = np.unique(rng.integers(0, draw(st.integers(1, 6)), n), return_inverse=True)[1]
    names = rng.choice(list("abcdef")[: draw(st.integers(1, 6))], n)
    numbers = rng.integers(0, draw(st.integers(1, 12)), n)
    frame = pd.DataFrame({"group": labels, "same": 0, "name": names, "number": numbers})
    return labels, names, numbers, frame


QUASI = ["group", "same"]


@settings(max_examples=30, deadline=None)
@given(tables())
def test_k_and_l_and_t_are_those_of_pycanon(given):
    labels, names, numbers, frame = given
    assert KAnonymity(1).judge(labels).value == anonymity.k_anonymity(frame, QUASI)
    assert LDiversity(names, 1).judge(labels).value == anonymity.l_diversity(frame, QUASI, ["name"])
    entropy = LDiversity(names, 1, "entropy").judge(labels).value
    theirs = anonymity.entropy_l_diversity(frame, QUASI, ["name"])  # cut to a whole number
    assert theirs in (int(entropy - 1e-9), int(entropy + 1e-9))
    if len(set(names)) > 1:
        theirs = anonymity.t_closeness(frame, QUASI, ["name"])
        assert TCloseness(names, 1, "categorical").judge(labels).value == pytest.approx(theirs)
    if len(set(numbers)) > 1:
        theirs = anonymity.t_closeness(frame, QUASI, ["number"])
        assert TCloseness(numbers, 1, "ordered").judge(labels).value == pytest.approx(theirs)


@settings(max_examples=30, deadline=None)
@given(tables(), st.integers(1, 4), st.sampled_from([0.5, 1.0, 2.0, 3.0]))
def test_recursive_diversity_is_its_definition(given, l_, c):
    # pycanon sorts the counts upwards, so its c is another thing; the definition itself is the oracle here
    labels, names, _, _ = given
    holds = all(
        (counts := pd.Series(names[labels == g]).value_counts().to_numpy())[0] < c * counts[l_ - 1 :].sum()
        for g in np.unique(labels)
    )
    assert LDiversity(names, l_, "recursive", c=c).judge(labels).holds == holds


def test_a_verdict_names_the_group_and_the_reason():
    verdict = LDiversity(["flu", "flu", "flu", "cold"], 2, column="disease").judge([0, 0, 1, 1])
    assert not verdict.holds
    assert [failure.group for failure in verdict.failures] == [0]
    assert "'flu' is 2 of 2" in str(verdict)
    assert str(LDiversity(["flu", "cold"], 2).judge([0, 0])).startswith("distinct 2-diversity of value holds")


def test_k_is_counted_over_people():
    assert not KAnonymity(2, ["anna", "anna", "bo", "cy"]).judge([0, 0, 1, 1]).holds
    assert KAnonymity(2, ["anna", "bo", "bo", "cy"]).judge([0, 0, 1, 1]).holds


def test_suppressed_rows_are_not_judged():
    assert LDiversity(["a", "b", "a"], 2).judge(Partition([0, 0, -1], 2, suppressed=[2])).holds


def test_a_column_of_another_length_is_refused():
    with pytest.raises(UsageError, match="3 values; the partition has 2 rows"):
        LDiversity(["a", "b", "c"], 2).judge([0, 0])


@pytest.mark.parametrize("bad", [{"l": 0}, {"l": 2.5}, {"l": 2, "kind": "other"}, {"l": 2, "c": 0}])
def test_impossible_parameters_are_refused(bad):
    with pytest.raises(UsageError):
        LDiversity(["a"], **bad)


@pytest.fixture
def people(rng):
    X = rng.normal(size=(240, 6))
    near = np.where(X[:, 0] > 0, "flu", "cold")  # who is alike has the same: groups fail at first
    near[rng.choice(240, 20, replace=False)] = "cancer"
    return X, near, np.clip(40 + 20 * X[:, 1], 18, 90).astype(int)


@pytest.fixture
def rng():
    return np.random.default_rng(8)


@pytest.mark.parametrize("stay", ["together", "apart"])
@pytest.mark.parametrize("which", ["distinct", "entropy", "recursive", "closeness", "both"])
def test_groups_change_until_the_criteria_hold_and_the_price_is_told(people, which, stay):
    X, disease, age = people
    rules = {
        "distinct": [LDiversity(disease, 3)],
        "entropy": [LDiversity(disease, 1.9, "entropy")],
        "recursive": [LDiversity(disease, 2, "recursive", c=3)],
        "closeness": [TCloseness(age, 0.2)],
        "both": [LDiversity(disease, 2), TCloseness(age, 0.25)],
    }[which]
    who = np.arange(240) // 2 if stay == "apart" else np.arange(240) // 3
    before = group(X, 5, subjects=who, stay=stay, seed=1, effort=0.1)
    assert not all(rule.judge(before).holds for rule in rules)
    after = group(X, 5, subjects=who, stay=stay, seed=1, effort=0.1, criteria=rules)
    assert all(rule.judge(after).holds for rule in rules)
    assert KAnonymity(5, who).judge(after).holds
    for person in np.unique(who):
        homes = after.labels[who == person]
        assert len(set(homes)) == (1 if stay == "together" else len(homes))
    assert after.outcome.loss_before == pytest.approx(before.information_loss(X))
    assert after.outcome.loss_after == pytest.approx(after.information_loss(X))
    assert "information loss" in str(after.outcome)


def test_criteria_cost_little_where_little_must_change(people):
    X, disease, _ = people
    after = group(X, 10, seed=1, effort=0.1, criteria=[LDiversity(disease, 2)])
    assert after.outcome.loss_after < 1.1 * after.outcome.loss_before


def test_what_no_grouping_can_keep_is_said_with_the_people_in_the_way(people):
    X, disease, _ = people
    with pytest.raises(GroupingError, match=r"3 different values.*No suppression helps"):
        group(X, 5, seed=1, effort=0.1, criteria=[LDiversity(disease, 4)])
    mostly = np.array(["a"] * 200 + ["b"] * 40)
    with pytest.raises(GroupingError, match=r"'a' is 200 of 240.*Suppressing \d+ people.*budget is 0"):
        group(X, 5, seed=1, effort=0.1, criteria=[LDiversity(mostly, 1.9, "entropy")])


def test_a_budget_lets_people_go_and_no_more_than_it_says(people):
    X, _, _ = people
    X = X[:120]
    mostly = np.array(["a"] * 75 + ["b"] * 45)
    rule = LDiversity(mostly, 1.95, "entropy")
    after = group(X, 5, seed=1, effort=0.1, criteria=[rule], suppress=30)
    assert rule.judge(after).holds
    assert 0 < len(after.suppressed) <= 30
    assert after.outcome.suppressed == len(after.suppressed)
    assert set(mostly[after.suppressed]) == {"a"}
    with pytest.raises(GroupingError, match="budget is 1"):
        group(X, 5, seed=1, effort=0.1, criteria=[rule], suppress=0.01)
