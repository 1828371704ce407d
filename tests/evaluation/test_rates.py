"""The statistics against independent code: scikit-learn's curves, brute force, published rules."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm
from sklearn.metrics import det_curve, roc_auc_score, roc_curve

from faceveil.evaluation.intervals import (
    doddington,
    mean_by_person,
    rate_by_person,
    rule_of_three,
    weights_by_person,
)
from faceveil.evaluation.rates import Distances, curve, equal_error, probit

distances = st.lists(st.integers(0, 30).map(lambda n: n / 10), min_size=2, max_size=60)


def scores(seed: int, genuine: int = 300, impostor: int = 2000) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(0.5, 0.2, genuine), rng.normal(1.0, 0.2, impostor)


@settings(max_examples=60, deadline=None)
@given(distances, distances)
def test_area_and_curve_agree_with_scikit_learn_also_with_ties(genuine, impostor):
    ours = curve(Distances.of(np.array(genuine)), Distances.of(np.array(impostor)))
    labels = np.r_[np.ones(len(genuine)), np.zeros(len(impostor))]
    similarity = -np.r_[genuine, impostor]
    assert ours.auc == pytest.approx(roc_auc_score(labels, similarity), abs=1e-12)
    fpr, tpr, _ = roc_curve(labels, similarity, drop_intermediate=False)
    assert np.allclose(ours.fmr, fpr) and np.allclose(1 - ours.fnmr, tpr)


def test_det_points_lie_on_scikit_learn_s():
    genuine, impostor = scores(1)
    ours = curve(Distances.of(genuine), Distances.of(impostor))
    labels = np.r_[np.ones(len(genuine)), np.zeros(len(impostor))]
    fpr, fnr, _ = det_curve(labels, -np.r_[genuine, impostor])
    ours_points = {(round(a, 9), round(b, 9)) for a, b in zip(ours.fmr, ours.fnmr, strict=True)}
    theirs = {(round(a, 9), round(b, 9)) for a, b in zip(fpr, fnr, strict=True)}
    assert theirs <= ours_points


def test_equal_error_rate_of_two_normal_distributions_is_the_known_one():
    genuine, impostor = scores(2, 40_000, 40_000)
    ours = curve(Distances.of(genuine), Distances.of(impostor))
    assert ours.eer == pytest.approx(norm.cdf(-(1.0 - 0.5) / 2 / 0.2), abs=0.004)


def test_equal_error_rate_agrees_with_brute_force_over_thresholds():
    genuine, impostor = scores(3)
    ours = curve(Distances.of(genuine), Distances.of(impostor))
    grid = np.linspace(0, 2, 20_001)
    fmr = (impostor[None] < grid[:, None]).mean(1)
    fnmr = (genuine[None] >= grid[:, None]).mean(1)
    nearest = np.argmin(np.abs(fmr - fnmr))
    assert ours.eer == pytest.approx((fmr[nearest] + fnmr[nearest]) / 2, abs=0.004)


def test_equal_error_works_on_many_curves_at_once():
    genuine, impostor = scores(4)
    one = curve(Distances.of(genuine), Distances.of(impostor))
    both = equal_error(np.stack([one.fmr, one.fmr]), np.stack([one.fnmr, one.fnmr]))
    assert both == pytest.approx([one.eer, one.eer])


def test_nothing_acquired_is_a_coin_toss_and_not_a_success():
    failed = Distances.of(np.full(10, np.inf))
    ours = curve(failed, Distances.of(np.full(90, np.inf)))
    assert ours.auc == 0.5 and ours.eer == 0.5
    assert failed.below(1e9) == 0, "a failed comparison never matches"


def test_failed_comparisons_lower_the_area_and_are_not_dropped():
    genuine, impostor = scores(5)
    lost = genuine.copy()
    lost[::2] = np.inf
    whole = curve(Distances.of(genuine), Distances.of(impostor)).auc
    halved = curve(Distances.of(lost), Distances.of(impostor)).auc
    assert halved == pytest.approx(np.mean([whole, 0.0]), abs=0.03)


def test_a_thinned_curve_keeps_its_area_and_ends():
    genuine, impostor = scores(6, 3000, 30_000)
    whole = curve(Distances.of(genuine), Distances.of(impostor))
    thin = whole.thinned(400)
    assert len(thin.fmr) < 1000 and thin.auc == pytest.approx(whole.auc, abs=1e-3)
    assert (thin.fmr[0], thin.fnmr[0], thin.fmr[-1], thin.fnmr[-1]) == (0, 1, 1, 0)


def test_fnmr_at_a_false_match_rate_never_exceeds_that_rate():
    genuine, impostor = scores(7)
    ours = curve(Distances.of(genuine), Distances.of(impostor))
    threshold = np.quantile(impostor, 0.01)
    assert ours.fnmr_at_fmr(0.01) == pytest.approx(np.mean(genuine >= threshold), abs=0.01)


def test_distances_that_are_not_numbers_are_refused():
    with pytest.raises(ValueError, match="not a number"):
        Distances.of(np.array([0.1, np.nan]))


def test_probit_is_the_normal_quantile():
    assert probit(np.array([0.5, 0.975])) == pytest.approx([0, 1.959964], abs=1e-6)


def test_interval_by_person_is_wider_than_by_photo_when_a_person_s_photos_err_together():
    rng = np.random.default_rng(0)
    each, people = 20, 60
    errs = rng.random(people) < 0.3
    by_person = rate_by_person(errs * float(each), np.full(people, float(each)))
    by_photo = rate_by_person(np.repeat(errs, each).astype(float), np.ones(people * each))
    assert by_person.value == by_photo.value
    assert by_person.high - by_person.low > 3 * (by_photo.high - by_photo.low)


def test_interval_covers_the_truth_about_as_often_as_it_says():
    rng = np.random.default_rng(1)
    covered = 0
    for _ in range(200):
        found = rate_by_person((rng.random(150) < 0.2).astype(float), np.ones(150))
        covered += found.low <= 0.2 <= found.high
    assert 0.89 <= covered / 200 <= 0.995


def test_bootstrap_agrees_with_the_binomial_interval():
    found = rate_by_person(np.r_[np.ones(100), np.zeros(300)], np.ones(400))
    half = 1.96 * np.sqrt(0.25 * 0.75 / 400)
    assert found.low == pytest.approx(0.25 - half, abs=0.008)
    assert found.high == pytest.approx(0.25 + half, abs=0.008)


def test_zero_hits_give_the_rule_of_three_over_people():
    found = rate_by_person(np.zeros(500), np.full(500, 4.0))
    assert (found.value, found.low, found.high) == (0, 0, 3 / 500)
    assert rule_of_three(2) == 1
    # Hanley & Lippman-Hand: 1 - 0.05^(1/n).
    assert rule_of_three(500) == pytest.approx(1 - 0.05 ** (1 / 500), rel=0.01)


def test_fewer_than_thirty_errors_bring_doddington_s_warning():
    assert doddington(30) is None and "29" in doddington(29)
    assert rate_by_person(np.r_[np.ones(5), np.zeros(95)], np.ones(100)).warning


def test_weights_draw_as_many_people_as_there_are():
    drawn = weights_by_person(37, draws=50)
    assert (drawn.sum(1) == 37).all() and (drawn == weights_by_person(37, draws=50)).all()


def test_mean_by_person_leaves_out_what_is_not_known():
    found = mean_by_person(np.array([1.0, np.nan, 3.0]), np.array([0, 0, 1]))
    assert found.value == 2 and found.low <= 2 <= found.high
