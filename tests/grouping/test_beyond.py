"""Tables, people who come and go, the dendrogram and the page."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faceveil.errors import GroupingError, UsageError
from faceveil.grouping import group
from faceveil.grouping.dendrogram import dendrogram
from faceveil.grouping.incremental import _Groups, add, remove
from faceveil.grouping.page import page
from faceveil.grouping.partition import Partition
from faceveil.grouping.summary import summarize
from faceveil.grouping.tables import anonymize_table, kind_of

TABLE_1 = {
    "ID": ["t1", "t2", "t3", "t4", "t5"],
    "ZIP-CODE": ["0123", "0124", "0125", "1220", "1221"],
    "AGE": ["22", "24", "26", "31", "39"],
    "GENDER": ["FEMALE", "MALE", "MALE", "MALE", "MALE"],
    "DISEASE": ["CANCER", "FLU", "AIDS", "COLD", "FLU"],
}
TABLE_2 = {
    **TABLE_1,
    "ZIP-CODE": ["012*", "012*", "012*", "122*", "122*"],
    "AGE": ["24", "24", "24", "35", "35"],
    "GENDER": ["*", "*", "*", "MALE", "MALE"],
}


@pytest.mark.parametrize("grouper", ["best", "hierarchical"])
def test_table_1_of_miku_becomes_its_table_2(grouper):
    assert anonymize_table(TABLE_1, 2, ["ZIP-CODE", "AGE", "GENDER"], grouper).table == TABLE_2


def test_kinds_of_columns_are_guessed():
    assert kind_of(["0123", "1220"]) == "code"
    assert kind_of(["22", "0.5", "-3e2"]) == "number"
    assert kind_of(["22", "unknown"]) == "category"


def test_numbers_that_are_not_whole_are_unified_to_their_mean():
    table = {"weight": ["60.5", "61", "80", "81.5"]}
    assert anonymize_table(table, 2, {"weight": "number"}).table["weight"] == [
        "60.75",
        "60.75",
        "80.75",
        "80.75",
    ]


def test_a_column_that_is_not_there_is_answered_with_those_that_are():
    with pytest.raises(UsageError, match="ID, ZIP-CODE, AGE, GENDER, DISEASE"):
        anonymize_table(TABLE_1, 2, {"SEX": "category"})
    with pytest.raises(UsageError, match="holds 'FEMALE'"):
        anonymize_table(TABLE_1, 2, {"GENDER": "number"})


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32), st.integers(2, 6), st.integers(0, 30))
def test_newcomers_never_change_a_group_they_need_not_change(seed, k, count):
    rng = np.random.default_rng(seed)
    X, new = rng.normal(size=(60, 4)), rng.normal(size=(count, 4))
    before = group(X, k, "mdav", seed=1)
    update = add(before, X, new, seed=1)
    after = update.partition
    old = {frozenset(rows.tolist()) for rows in before.groups}
    kept = {frozenset(rows.tolist()) for g, rows in enumerate(after.groups) if g not in update.changed}
    assert kept <= old
    assert len(after.labels) == 60 + count
    assert len(old - {frozenset(rows.tolist()) for rows in after.groups}) <= (count if count < k else 0)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32), st.integers(2, 6), st.integers(0, 60))
def test_leavers_change_only_their_groups_and_those_that_help(seed, k, count):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 4))
    before = group(X, k, "mdav", seed=1)
    gone = rng.choice(60, count, replace=False)
    if 0 < 60 - count < k:
        with pytest.raises(GroupingError, match="would be left"):
            remove(before, X, gone)
        return
    update = remove(before, X, gone)
    stay = np.setdiff1d(np.arange(60), gone)
    assert len(update.partition.labels) == len(stay)
    for g, rows in enumerate(update.partition.groups):
        if g not in update.changed:
            assert {int(stay[r]) for r in rows} in [set(map(int, old)) for old in before.groups]


def test_one_leaver_from_a_group_with_somebody_to_spare_changes_that_group_alone():
    X = np.array([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
    before = group(X, 2, seed=1)
    assert remove(before, X, [1]).changed == (int(before.labels[0]),)


def test_a_new_photo_of_somebody_known_joins_their_group(rng):
    X = rng.normal(size=(30, 3))
    names = [f"p{i}" for i in range(30)]
    before = group(X, 3, subjects=names, seed=1)
    update = add(before, X, rng.normal(size=(1, 3)) + 50, ["p7"], names, seed=1)
    assert update.partition.labels[30] == update.partition.labels[7]
    with pytest.raises(UsageError, match="or of neither"):
        add(before, X, X[:1], ["p7"])


def test_the_dendrogram_is_a_picture_of_every_person(rng):
    X = rng.normal(size=(40, 3))
    svg = dendrogram(X, group(X, 4, seed=1))
    assert svg.startswith("<svg") and svg.endswith("</svg>")
    drawn = re.findall(r'class="(?:strong|faint)" d="([^"]*)"', svg)
    assert sum(path.count("M") for path in drawn) == 39  # one bracket for each merge
    assert "k min" in svg


def test_large_data_shows_the_tree_of_its_groups(rng):
    X = rng.normal(size=(900, 3))
    partition = group(X, 10, "mdav")
    assert f"{len(partition)} group means" in dendrogram(X, partition)


class Seen(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.urls, self.tags = [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.urls += [value for name, value in attrs if name in ("src", "href", "action")]


def test_the_page_loads_nothing_and_reads_in_the_dark_and_on_paper(rng):
    X = rng.normal(size=(120, 4))
    partition = group(X, 5, seed=1)
    text = page(X, partition, summarize(X, partition, "<best>", 0.1, ["2-diversity & more"]))
    seen = Seen()
    seen.feed(text)
    assert seen.urls == []
    assert not re.search(r"@import|url\(", text)
    assert {"h1", "table", "svg"} <= set(seen.tags)
    assert "prefers-color-scheme: dark" in text and "@media print" in text
    assert "<best>" not in text and "2-diversity &amp; more" in text
    assert f"{partition.information_loss(X):.4f}" in text


def test_the_price_of_a_move_is_what_the_squares_around_the_means_grow_by():
    X = np.random.default_rng(5).normal(size=(9, 3))
    before = Partition(np.repeat([0, 1], [5, 4]), 2)
    groups = _Groups(X, before, before.subjects)
    moved = np.where(np.arange(9) == 2, 1, before.labels)

    def squares(labels):
        return sum(((X[labels == g] - X[labels == g].mean(axis=0)) ** 2).sum() for g in (0, 1))

    price = groups._price(int(before.subjects[2]), 0, 1)
    assert price == pytest.approx(squares(moved) - squares(before.labels))
