"""best: ahead of the others, whatever the data, and the same on any number of cores."""

import os
import subprocess
import sys
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faceveil.grouping import GROUPERS, group
from faceveil.grouping.anneal import anneal
from faceveil.grouping.loss import losses
from faceveil.grouping.near import near_graph, nearest_in_gram
from faceveil.grouping.region import exchange, survey
from faceveil.grouping.roam import price_of_visit
from faceveil.grouping.state import cheapest_swap, make_move, make_swap, price_of_move, set_up, total_cost

OTHERS = [name for name in GROUPERS if name != "best"]


@pytest.fixture(scope="module")
def best_of_faces(celeba):
    """The faces in groups of k, by `best`: found once for each k, since that takes seconds."""
    return cache(lambda k: group(celeba, k, seed=1))


def mixtures(kind: str) -> np.ndarray:
    rng = np.random.default_rng(3)
    sizes = {"even": [15] * 20, "uneven": [3, 8, 21, 40, 77] * 2, "one": [300]}[kind]
    return np.concatenate([rng.normal(size=8) * 6 + rng.normal(size=(m, 8)) for m in sizes])


@pytest.mark.parametrize("k", [2, 5, 10, 20])
def test_best_loses_least_on_faces(celeba, best_of_faces, k):
    best = best_of_faces(k)
    for other in OTHERS:
        theirs = group(celeba, k, other, seed=1)
        assert best.information_loss(celeba) < theirs.information_loss(celeba), other
        assert best.pairwise(celeba).mean < theirs.pairwise(celeba).mean, other


@pytest.mark.parametrize(("k", "share"), [(5, 0.02), (10, 0.025), (20, 0.03)])
def test_best_is_well_below_ward_and_below_what_the_authors_code_reached(celeba, best_of_faces, k, share):
    loss = best_of_faces(k).information_loss(celeba)
    ward = group(celeba, k, "hierarchical").information_loss(celeba)
    authors = {5: 0.4172, 10: 0.4651, 20: 0.4983}[k]
    assert loss < (1 - share) * min(ward, authors)


def test_pairs_of_twenty_faces_are_near_each_other(celeba, best_of_faces):
    partition = best_of_faces(20)
    assert partition.pairwise(celeba).mean <= 0.702
    assert partition.sizes.min() >= 20


@pytest.mark.parametrize("kind", ["even", "uneven", "one"])
@pytest.mark.parametrize("k", [3, 10])
def test_best_loses_least_on_clusters(kind, k):
    X = mixtures(kind)
    best = group(X, k, seed=1, effort=0.5).information_loss(X)
    for other in OTHERS:
        assert best <= group(X, k, other, seed=1).information_loss(X) * (1 + 1e-6), other


def test_clusters_that_are_no_multiple_of_k_stay_whole():
    X = mixtures("even")  # 20 clusters of 15, k = 10: any group across two clusters is a waste
    clusters = np.repeat(np.arange(20), 15)
    labels = group(X, 10, seed=1).labels
    assert all(len(set(clusters[labels == g])) == 1 for g in range(labels.max() + 1))


def test_duplicates_share_a_group_where_k_allows_it(rng):
    X = np.repeat(rng.normal(size=(30, 6)), 4, axis=0)
    assert group(X, 4, seed=1).information_loss(X) == pytest.approx(0, abs=1e-12)


def test_long_vectors_lose_as_little_as_their_rotation_into_few_dimensions(rng):
    short = rng.normal(size=(2100, 12))
    turn = np.linalg.qr(rng.normal(size=(600, 12)))[0]
    long = short @ turn.T
    reduced = group(long, 10, seed=1).information_loss(short)
    assert reduced == pytest.approx(group(short, 10, seed=1).information_loss(short), rel=0.01)


def test_more_effort_does_not_lose_more(celeba, best_of_faces):
    little = group(celeba, 10, seed=1, effort=0.02)
    assert best_of_faces(10).information_loss(celeba) < little.information_loss(celeba)


def test_photos_count_in_the_loss_and_people_in_k(rng):
    X = rng.normal(size=(60, 3))
    who = np.concatenate([np.arange(40), np.repeat(0, 20)])  # person 0 has 21 photos
    ours = group(X, 4, subjects=who, seed=1).information_loss(X)
    assert ours <= group(X, 4, "mdav", subjects=who, seed=1).information_loss(X)


SCRIPT = """
import hashlib, numpy as np
from faceveil.grouping import group
rng = np.random.default_rng(1)
for n in (500, 3000):
    print(hashlib.sha256(group(rng.normal(size=(n, 40)), 7, seed=9, effort=0.2).labels.tobytes()).hexdigest())
"""


def test_the_result_does_not_depend_on_the_number_of_cores():
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    if len(cores) < 2:
        pytest.skip("this machine has one core")

    def run(allowed: list[int], threads: str) -> str:
        pin = f"import os; os.sched_setaffinity(0, {allowed})\n"
        environment = {**os.environ, "OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads}
        done = subprocess.run(
            [sys.executable, "-c", pin + SCRIPT], env=environment, capture_output=True, text=True, check=True
        )
        return done.stdout

    assert run(cores[:1], "1") == run(cores, "2")


@st.composite
def states(draw):
    n = draw(st.integers(6, 30))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    X = rng.normal(size=(n, 4)).astype(np.float32)
    weights = rng.integers(1, 4, n).astype(np.float32)
    labels = rng.permutation(np.arange(n) % 3).astype(np.int64)
    return X, weights, labels, rng


def direct_cost(X, weights, labels):
    total = 0.0
    for g in np.unique(labels):
        w, x = weights[labels == g].astype(float), X[labels == g].astype(float)
        mean = (w[:, None] * x).sum(axis=0) / w.sum()
        total += float((w * ((x - mean) ** 2).sum(axis=1)).sum())
    return total


@settings(max_examples=60, deadline=None)
@given(states())
def test_prices_are_the_exact_change_of_the_weighted_cost(given):
    X, weights, labels, rng = given
    state = set_up(X @ X.T, weights, labels.copy(), 3, len(X))
    assert total_cost(state) == pytest.approx(direct_cost(X, weights, labels), rel=1e-4, abs=1e-4)
    for _ in range(5):
        x = int(rng.integers(len(X)))
        A = int(state.labels[x])
        B = (A + 1) % 3
        before = direct_cost(X, weights, state.labels)
        if rng.random() < 0.5 and state.size[A] > 1:
            price = price_of_move(state, x, A, B)
            make_move(state, x, B)
        else:
            price, partner = cheapest_swap(state, x, A, B)
            make_swap(state, x, partner)
        assert direct_cost(X, weights, state.labels) - before == pytest.approx(price, rel=1e-3, abs=1e-3)
        assert total_cost(state) == pytest.approx(direct_cost(X, weights, state.labels), rel=1e-3, abs=1e-3)


@settings(max_examples=40, deadline=None)
@given(states())
def test_the_loss_of_each_group_is_the_sum_of_distances_to_its_weighted_mean(given):
    X, weights, labels, _ = given
    state = set_up(X @ X.T, weights, labels.copy(), 3, len(X))
    for g, loss in enumerate(losses(state)):
        w, x = weights[labels == g].astype(float), X[labels == g].astype(float)
        mean = (w[:, None] * x).sum(axis=0) / w.sum()
        assert loss == pytest.approx((w * np.linalg.norm(x - mean, axis=1)).sum(), rel=1e-2, abs=1e-2)


def test_a_cold_search_never_makes_it_worse(rng):
    X = rng.normal(size=(200, 5)).astype(np.float32)
    gram = X @ X.T
    labels = rng.permutation(np.arange(200) % 40)
    before = direct_cost(X, np.ones(200), labels)
    state = set_up(gram, np.ones(200, dtype=np.float32), labels, 40, 9)
    anneal(state, np.zeros(0, dtype=np.int64), 5, 9, nearest_in_gram(gram, 10), 0.0, 0.0, 20_000, 1, False)
    assert direct_cost(X, np.ones(200), state.labels) < 0.9 * before
    assert np.bincount(state.labels).min() >= 5


@settings(max_examples=40, deadline=None)
@given(states())
def test_the_price_of_a_visit_is_the_exact_change_of_the_weighted_cost(given):
    X, weights, labels, rng = given
    near = np.zeros((len(X), 1), dtype=np.int32)
    region = survey(X, weights, near, np.zeros((3, 0), dtype=np.int32), labels.copy(), len(X))
    for _ in range(5):
        x = int(rng.integers(len(X)))
        B = int(region.labels[x] + 1) % 3
        before = direct_cost(X, weights, region.labels)
        room = np.empty((1, X.shape[1]), dtype=np.float32)
        price, partner = price_of_visit(region, room, x, B, 2, len(X), 1e20)
        exchange(region, x, partner, B)
        assert direct_cost(X, weights, region.labels) - before == pytest.approx(price, rel=1e-3, abs=1e-3)


@pytest.mark.parametrize(("piece", "found"), [(6000, 1.0), (200, 0.9)])
def test_near_rows_are_found_in_one_piece_and_in_many(celeba, monkeypatch, piece, found):
    monkeypatch.setattr("faceveil.grouping.near.PIECE", piece)
    X = celeba.astype(np.float32)
    distances = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    nearest = distances.argsort(axis=1)[:, 1:17]
    near = near_graph(X, 16, np.random.default_rng(1))
    assert np.mean([np.isin(a, b).mean() for a, b in zip(nearest, near, strict=True)]) >= found - 1e-3


def test_photos_of_one_person_stay_apart_in_large_data_too(rng):
    X = rng.normal(size=(2400, 6))
    who = np.arange(2400) % 800
    partition = group(X, 5, subjects=who, stay="apart", seed=1, effort=0.1)
    assert all(len(set(who[rows])) == len(rows) >= 5 for rows in partition.groups)
