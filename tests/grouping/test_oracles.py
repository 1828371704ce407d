"""Fast groupers against slow, literal or independent ones."""

import time

import numpy as np
import pandas as pd
import pytest
import rustworkx
from anonypyx.microaggregation import MDAVGeneric
from anonypyx.models import kAnonymity
from anonypyx.mondrian import Mondrian as MondrianOfAnonypyx
from k_means_constrained import KMeansConstrained
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import cdist
from tests.grouping.literal import groups_of, optimum
from tests.grouping.literal import hierarchical as literal_hierarchical
from tests.grouping.literal import mdav as literal_mdav
from tests.grouping.literal import mondrian as literal_mondrian

from faceveil.grouping import group
from faceveil.grouping.measures import sum_of_squares


@pytest.mark.parametrize("link", ["single", "complete", "average", "ward"])
@pytest.mark.parametrize(("n", "k"), [(20, 2), (23, 3), (60, 7), (61, 5), (50, 24), (59, 20)])
def test_hierarchical_is_the_literal_algorithm(n, k, link):
    X = np.random.default_rng(n * k).normal(size=(n, 4))
    assert groups_of(group(X, k, "hierarchical", linkage=link).labels) == literal_hierarchical(X, k, link)


def test_hierarchical_is_the_literal_algorithm_on_faces(celeba):
    X = celeba[:150].astype(np.float64)
    for k in (2, 5, 20):
        assert groups_of(group(X, k, "hierarchical").labels) == literal_hierarchical(X, k, "ward")


@pytest.mark.parametrize(("n", "k"), [(12, 2), (29, 3), (30, 3), (31, 3), (64, 5), (90, 10)])
def test_mdav_is_the_literal_algorithm_and_that_of_anonypyx(n, k):
    X = np.random.default_rng(n).normal(size=(n, 3))
    X = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)  # anonypyx does this to its columns
    found = groups_of(group(X, k, "mdav").labels)
    assert found == literal_mdav(X, k)
    frame = pd.DataFrame(X, columns=list("abc"))
    frame["same"] = pd.Categorical([0] * n)  # without a category anonypyx divides by their number, 0
    theirs = MDAVGeneric(frame, ["a", "b", "c", "same"]).partition(k)
    assert found == {frozenset(map(int, rows)) for rows in theirs}


@pytest.mark.parametrize(("n", "k"), [(10, 2), (33, 4), (64, 4), (101, 7)])
def test_mondrian_is_the_literal_algorithm(n, k):
    X = np.random.default_rng(n).normal(size=(n, 5))
    assert groups_of(group(X, k, "mondrian").labels) == literal_mondrian(X, k)


def test_mondrian_is_that_of_anonypyx_where_both_halve_evenly(rng):
    X = rng.permuted(np.linspace(0, 1, 64)[:, None].repeat(3, axis=1), axis=0)  # every column spans 0…1
    frame = pd.DataFrame(X, columns=list("abc"))
    theirs = MondrianOfAnonypyx(frame, list("abc")).partition([kAnonymity(4)])
    assert groups_of(group(X, 4, "mondrian").labels) == {frozenset(map(int, rows)) for rows in theirs}


def test_mondrian_looks_at_as_few_dimensions_as_it_is_told(rng):
    X = rng.normal(size=(400, 20_000)).astype(np.float32)
    begin = time.process_time()
    group(X, 5, "mondrian", seed=1, dimensions=16)
    few = time.process_time() - begin
    begin = time.process_time()
    group(X, 5, "mondrian", seed=1, dimensions=20_000)
    assert few < 0.5 * (time.process_time() - begin)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("n", "k"), [(8, 2), (9, 2), (11, 3), (10, 4), (11, 4), (12, 5)])
def test_best_is_the_optimum_for_a_dozen_rows(n, k, seed):
    X = np.random.default_rng(seed).normal(size=(n, 3))
    X[:4] += 6 * (seed % 2)  # every other time in two clusters
    assert group(X, k, seed=1).information_loss(X) == pytest.approx(optimum(X, k))


@pytest.mark.parametrize("seed", range(4))
def test_the_search_itself_comes_within_two_percent_of_the_optimum_of_ten_rows(seed, monkeypatch):
    monkeypatch.setattr("faceveil.grouping.exact.MOST_ROWS", 0)
    X = np.random.default_rng(seed).normal(size=(10, 3))
    assert group(X, 3, seed=1).information_loss(X) <= 1.02 * optimum(X, 3)


@pytest.mark.parametrize("k", [2, 3, 4])
def test_best_is_the_optimum_of_runs_on_a_line(k):
    X = np.random.default_rng(k).exponential(size=(8, 1))
    wide = np.concatenate(
        [X, X * 0.5 + 40]
    )  # two far parts, so that brute force on each is the whole optimum
    best = group(wide, k, seed=1).information_loss(wide)
    assert best <= 1.02 * (optimum(X, k) + optimum(X * 0.5, k)) / 2


@pytest.mark.parametrize("n", [200, 1000])
def test_pairs_are_within_one_percent_of_minimum_weight_perfect_matching(n, celeba):
    X = celeba[:n] if n <= len(celeba) else np.vstack([celeba, celeba[: n - len(celeba)] + 0.01])
    X = X[: len(X) // 2 * 2].astype(np.float64)
    squares = cdist(X, X, "sqeuclidean")
    near = np.argsort(squares, axis=1)[:, 1:21]
    graph = rustworkx.PyGraph()
    graph.add_nodes_from(range(len(X)))
    edges = {(min(i, int(j)), max(i, int(j))) for i in range(len(X)) for j in near[i]}
    graph.add_edges_from([(i, j, round(1e6 * (10 - squares[i, j]))) for i, j in edges])
    pairs = rustworkx.max_weight_matching(graph, max_cardinality=True, weight_fn=int)
    assert len(pairs) == len(X) // 2
    least = sum(squares[i, j] / 2 for i, j in pairs)
    assert sum_of_squares(X, group(X, 2, seed=1).labels) <= 1.01 * least


def test_best_loses_less_than_constrained_k_means_on_a_thousand(celeba):
    rival = KMeansConstrained(97, size_min=10, size_max=19, n_init=1, max_iter=10, random_state=1)
    labels = rival.fit_predict(celeba.astype(np.float64))
    assert group(celeba, 10, seed=1, effort=0.3).information_loss(celeba) < _loss(celeba, labels)


def _loss(X, labels):
    means = np.array([X[labels == g].mean(axis=0) for g in range(labels.max() + 1)])
    return float(np.linalg.norm(X - means[labels], axis=1).mean())


def test_hierarchical_is_much_faster_than_building_the_tree_for_every_group(rng):
    X = rng.normal(size=(1500, 32))
    group(X[:100], 5, "hierarchical")  # compile first
    begin = time.process_time()
    group(X, 5, "hierarchical")
    ours = time.process_time() - begin
    begin = time.process_time()
    for left in range(1500, 1400, -10):  # ten of the three hundred trees that re-linking would build
        linkage(X[:left], "ward")
    assert time.process_time() - begin > 5 * ours
