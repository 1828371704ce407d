"""The pairs protocol on made-up pairs whose answer is known."""

import numpy as np
import pytest

from faceveil.errors import UsageError
from faceveil.evaluation.protocol import best_threshold, cross_validated, read_pairs


def test_pairs_are_read_with_their_folds(tmp_path):
    file = tmp_path / "pairs.txt"
    file.write_text("2\t1\nAnn\t1\t4\nAnn\t1\tBob\t2\nCid\t2\t3\nCid\t1\tDan\t1\n")
    pairs = read_pairs(file)
    assert [(p.first, p.second, p.same, p.fold) for p in pairs] == [
        ("Ann_0001", "Ann_0004", True, 0),
        ("Ann_0001", "Bob_0002", False, 0),
        ("Cid_0002", "Cid_0003", True, 1),
        ("Cid_0001", "Dan_0001", False, 1),
    ]


def test_a_file_that_is_no_list_of_pairs_is_refused(tmp_path):
    (tmp_path / "pairs.txt").write_text("hello\nworld\n")
    with pytest.raises(UsageError, match="pairs"):
        read_pairs(tmp_path / "pairs.txt")


def test_best_threshold_agrees_with_brute_force():
    rng = np.random.default_rng(0)
    same = rng.random(200) < 0.5
    distances = np.where(same, rng.normal(0.5, 0.2, 200), rng.normal(0.9, 0.2, 200))
    chosen = best_threshold(distances, same)
    best = max(np.mean((distances < t) == same) for t in np.r_[distances, distances + 1e-9])
    assert np.mean((distances < chosen) == same) == best


def test_a_fold_is_judged_without_its_own_pairs():
    # Fold 1 alone would be perfect at another threshold; the protocol must not use it.
    distances = np.array([0.1, 0.9, 0.1, 0.9, 1.1, 1.9])
    same = np.array([True, False, True, False, True, False])
    fold = np.array([0, 0, 1, 1, 2, 2])
    assert cross_validated(distances, same, fold).value == pytest.approx((1 + 1 + 0.5) / 3, abs=0.17)


def test_pairs_that_failed_count_as_two_people():
    distances = np.array([np.inf, 0.9, 0.1, 0.9])
    same = np.array([True, False, True, False])
    found = cross_validated(distances, same, np.array([0, 0, 1, 1]))
    assert found.failed == 1 and found.value < 1
