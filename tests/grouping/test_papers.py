"""Groupers that draw at random against their papers, read word by word: no outcome but those the paper allows."""

import re

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage
from tests.grouping.literal import groups_of

from faceveil.errors import GroupingError, UsageError
from faceveil.grouping import group
from faceveil.grouping.dendrogram import dendrogram, good_k
from faceveil.grouping.grouper import even_sizes
from faceveil.grouping.mondrian import Mondrian

Rows = list[int]


def points(n: int, d: int = 3) -> np.ndarray:
    return np.random.default_rng(n).normal(size=(n, d))


def nearest(X: np.ndarray, left: Rows, to: np.ndarray, k: int) -> frozenset[int]:
    return frozenset(sorted(left, key=lambda row: (((X[row] - to) ** 2).sum(), row))[:k])


def farthest(X: np.ndarray, left: Rows, to: np.ndarray) -> int:
    return max(left, key=lambda row: (((X[row] - to) ** 2).sum(), -row))


def peeled(X: np.ndarray, groups: set[frozenset[int]], k: int) -> set[frozenset[int]]:
    """What is left when every group that is one of its rows and the k − 1 nearest of those left has been taken."""
    left = set(groups)
    while True:
        rows = sorted(row for one in left for row in one)
        balls = [
            one for one in left if len(rows) >= 2 * k and any(nearest(X, rows, X[r], k) == one for r in one)
        ]
        if not balls:
            return left
        left.remove(balls[0])


@pytest.mark.parametrize(("n", "k"), [(20, 2), (31, 3), (44, 5)])
def test_ksame_takes_a_row_and_its_nearest_again_and_again(n, k):
    X = points(n)
    found = [groups_of(group(X, k, "ksame", seed=seed).labels) for seed in range(6)]
    for groups in found:
        (last,) = peeled(X, groups, k)  # the rest
        assert k <= len(last) < 2 * k and all(len(one) == k for one in groups - {last})
    assert len(set(map(frozenset, found))) > 1  # the start is drawn


@pytest.mark.parametrize(("n", "k"), [(21, 2), (40, 4), (43, 4)])
def test_max_dist_starts_anew_at_the_row_farthest_from_the_last_start(n, k):
    X, allowed = points(n), set()
    for start in range(n):
        left, groups = list(range(n)), set()
        while len(left) >= 2 * k:
            taken = nearest(X, left, X[start], k)
            groups.add(taken)
            left = [row for row in left if row not in taken]
            start = farthest(X, left, X[start])
        allowed.add(frozenset(groups | {frozenset(left)}))
    found = {frozenset(groups_of(group(X, k, "max-dist", seed=seed).labels)) for seed in range(8)}
    assert found <= allowed and len(found) > 1


@pytest.mark.parametrize(("n", "k"), [(20, 2), (40, 4)])
def test_kmember_grows_each_group_by_the_row_that_costs_least(n, k):
    X, allowed = points(n), set()
    for last in range(n):
        left, groups = list(range(n)), set()
        while len(left) >= k:
            last = farthest(X, left, X[last])
            grown = [last]
            left.remove(last)
            while len(grown) < k:
                last = next(iter(nearest(X, left, X[grown].mean(axis=0), 1)))
                grown.append(last)
                left.remove(last)
            groups.add(frozenset(grown))
        allowed.add(frozenset(groups))
    assert {frozenset(groups_of(group(X, k, "kmember", seed=seed).labels)) for seed in range(6)} <= allowed


@pytest.mark.parametrize("gamma", [0.0, 0.2, 1.1])
@pytest.mark.parametrize(("n", "k"), [(24, 3), (41, 4)])
def test_v_mdav_extends_a_group_while_a_row_is_much_nearer_to_it(n, k, gamma):
    X = points(n) + 8 * np.random.default_rng(k).integers(0, 4, (n, 1))  # clusters
    left, groups = list(range(n)), []
    centre = X.mean(axis=0)

    def gap(a: int, b: int) -> float:
        return float(np.linalg.norm(X[a] - X[b]))

    while len(left) >= k:
        taken = list(nearest(X, left, X[farthest(X, left, centre)], k))
        left = [row for row in left if row not in taken]
        while gamma and len(taken) < 2 * k - 1 and len(left) > 1:
            inside, row = min((min(gap(row, own) for own in taken), row) for row in left)
            if not inside < gamma * min(gap(row, other) for other in left if other != row):
                break
            taken.append(row)
            left.remove(row)
        groups.append(taken)
    means = [X[one].mean(axis=0) for one in groups]
    for row in left:
        groups[int(np.argmin([((X[row] - mean) ** 2).sum() for mean in means]))].append(row)
    assert groups_of(group(X, k, "v-mdav", gamma=gamma).labels) == {frozenset(one) for one in groups}


def test_v_mdav_s_gamma_is_the_authors_for_scattered_data_unless_told():
    X = points(60, 2)
    assert group(X, 3, "v-mdav") == group(X, 3, "v-mdav", gamma=0.2) != group(X, 3, "v-mdav", gamma=1.1)


def test_oka_leaves_groups_of_k_and_one_more_where_the_rest_goes():
    sizes = group(points(43), 4, "oka", seed=2).sizes
    assert len(sizes) == 43 // 4 and sizes.min() >= 4 and sizes.sum() == 43


def test_mondrian_s_default_is_the_paper_s_number_of_dimensions():
    assert Mondrian(2).dimensions == 18 * 512
    with pytest.raises(UsageError, match="N_s"):
        Mondrian(2, dimensions=0)


def test_mondrian_cuts_at_the_widest_of_those_it_drew_and_of_no_other():
    """A dimension that is wider than all others together decides the first cut whenever it is among the drawn."""
    X = points(200, 10)
    X[:, 4] *= 1000
    by_the_widest = frozenset(np.argsort(X[:, 4])[:100].tolist())

    def halved(seed: int, dimensions: int) -> bool:
        return by_the_widest in groups_of(group(X, 100, "mondrian", seed=seed, dimensions=dimensions).labels)

    assert all(halved(seed, 10) for seed in range(5))
    drawn = np.mean([halved(seed, 3) for seed in range(300)])
    assert 0.2 < drawn < 0.4  # 3 of 10


@pytest.mark.parametrize(("n", "k"), [(10, 3), (12, 3), (7, 7), (23, 4)])
def test_even_sizes_are_as_many_and_as_even_as_k_allows(n, k):
    sizes = even_sizes(n, k).tolist()
    assert len(sizes) == n // k and sum(sizes) == n and min(sizes) >= k
    assert max(sizes) - min(sizes) <= 1 and sizes == sorted(sizes, reverse=True)


@pytest.mark.parametrize("seed", range(4))
def test_good_k_is_read_off_the_tree_where_half_and_nine_in_ten_have_company(seed):
    """AnonFACES section 4.4 by scipy's flat clusters: the first height at which enough leaves have met somebody."""
    rng = np.random.default_rng(seed)
    X = np.repeat(rng.normal(size=(8, 3)) * 9, rng.integers(1, 9, 8), axis=0)
    X += rng.normal(size=X.shape)
    tree, wanted = linkage(X, "ward"), []
    for share in (0.5, 0.9):
        for height in tree[:, 2]:
            sizes = np.bincount(fcluster(tree, height, "distance"))
            if sizes[sizes > 1].sum() >= share * len(X):
                wanted.append((height, sizes[sizes > 1].min()))
                break
    (low, k_min), (high, k_max) = wanted
    cuts = good_k(X)
    assert (cuts.low, cuts.high) == pytest.approx((low, high))
    assert (cuts.k_min, cuts.k_max) == (k_min, max(k_min, k_max))


def test_the_cuts_are_drawn_at_their_heights():
    """By the axis of the picture itself, whose numbers have three digits."""
    X = points(30)
    cuts, svg = good_k(X), dendrogram(X, group(X, 3, "mdav"))
    axis = np.array(re.findall(r'y="([\d.]+)" text-anchor="end">([\d.e+-]+)</text>', svg), float)
    drawn = np.array(re.findall(r'class="cut" d="M[\d.]+ ([\d.]+)H', svg), float)
    heights = np.interp(drawn + 4, axis[::-1, 0], axis[::-1, 1])  # numbers stand 4 px below their lines
    assert heights == pytest.approx([cuts.low, cuts.high], rel=0.03)


@pytest.mark.parametrize(
    ("people", "remedy"), [(0, r"show 0\. Add photos"), (1, r"show 1\. Lower k to 1 or less")]
)
def test_too_few_people_are_told_what_would_help(people, remedy):
    with pytest.raises(GroupingError, match=remedy):
        group(np.zeros((people, 4)), 2)
