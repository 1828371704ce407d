"""Blockwise matching against brute force on all pairs."""

import resource
import time

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from faceveil.evaluation import matching
from faceveil.evaluation.intervals import interval, weights_by_person
from faceveil.evaluation.matching import Templates, match


def unit(rows: np.ndarray) -> np.ndarray:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def people(seed: int, count: int = 30, each: int = 4, spread: float = 1.0, size: int = 16) -> Templates:
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(count), each)
    centres = np.random.default_rng(99).normal(size=(count, size))
    rows = unit(centres[person] + spread * rng.normal(size=(count * each, size)))
    return Templates(rows, person, np.arange(count * each))


def brute(probes: Templates, gallery: Templates, skip: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    distances = 1 - probes.embeddings @ gallery.embeddings.T
    same = probes.person[:, None] == gallery.person[None]
    kept = probes.photo[:, None] != gallery.photo[None] if skip else np.ones_like(same)
    return distances, same, kept


@pytest.mark.parametrize("skip", [False, True])
@pytest.mark.parametrize("block", [300, 10_000_000])
def test_ranks_and_areas_agree_with_brute_force_whatever_the_block(skip, block, monkeypatch):
    monkeypatch.setattr(matching, "BLOCK", block)
    probes, gallery = people(1), people(2)
    found = match(probes, gallery, skip_same_photo=skip)
    distances, same, kept = brute(probes, gallery, skip)
    expected = roc_auc_score(same[kept], -distances[kept])
    assert found.curve.auc == pytest.approx(expected, abs=1e-4)
    for row in range(0, len(probes), 7):
        nearest = {
            person: distances[row][(gallery.person == person) & kept[row]].min() for person in range(30)
        }
        own = nearest.pop(int(probes.person[row]))
        assert found.better[row] == sum(value < own for value in nearest.values())
    assert found.genuine.total == (same & kept).sum() and found.impostor.total == (~same & kept).sum()


def test_euclidean_distances_agree_with_brute_force():
    probes, gallery = people(1), people(2)
    found = match(probes, gallery, euclidean=True)
    expected = np.linalg.norm(probes.embeddings[:, None] - gallery.embeddings[None], axis=2)
    own = np.where(probes.person[:, None] == gallery.person[None], expected, np.inf).min(1)
    assert found.nearest_own == pytest.approx(own, abs=1e-6)


def test_photos_that_were_not_acquired_are_counted_and_never_found():
    probes, gallery = people(1, spread=0.1), people(2, spread=0.1)
    rows = probes.embeddings.copy()
    rows[::2] = np.nan
    found = match(Templates(rows, probes.person, probes.photo), gallery)
    assert found.hits(1).mean() == 0.5 and found.hits(30)[0] == 0
    assert found.ranks()[0] == 15.5, "without a face the attacker guesses"
    assert found.genuine.total == 30 * 4 * 4
    assert found.genuine.counts[-1] == 30 * 4 * 2 and np.isinf(found.genuine.values[-1])
    assert found.curve_acquired.auc > found.curve.auc


def test_people_who_could_not_be_enrolled_are_counted_too():
    probes, gallery = people(1, spread=0.1), people(2, spread=0.1)
    rows = gallery.embeddings.copy()
    rows[gallery.person < 15] = np.nan
    found = match(probes, Templates(rows, gallery.person, gallery.photo))
    assert found.hits(1).mean() == 0.5 and found.possible.all()
    assert found.impostor.total == 120 * 116


def test_identical_templates_of_k_people_are_found_one_time_in_k():
    gallery = people(2, count=40, each=1)
    shared = gallery.embeddings[gallery.person // 4 * 4]
    found = match(
        Templates(gallery.embeddings, gallery.person, gallery.photo),
        Templates(shared, gallery.person, gallery.photo),
    )
    assert found.tied.min() == 4
    assert found.hits(1).max() == 0.25


def test_unrelated_vectors_give_an_area_of_one_half():
    rng = np.random.default_rng(5)
    probes = Templates(unit(rng.normal(size=(200, 32))), np.arange(200), np.arange(200))
    gallery = Templates(unit(rng.normal(size=(200, 32))), np.arange(200), np.arange(200))
    found = match(probes, gallery)
    estimate = interval(found.curve.auc, found.samples(weights_by_person(found.people))[1])
    assert estimate.low < 0.5 < estimate.high


def test_bootstrap_s_point_estimate_is_the_curve_s():
    found = match(people(1), people(2))
    (eer,), (auc,) = found.samples(np.ones((1, found.people), np.float32))
    assert eer == pytest.approx(found.curve.eer, abs=2e-3) and auc == pytest.approx(found.curve.auc, abs=1e-3)


def test_thirteen_thousand_by_thirteen_thousand_in_a_minute_and_bounded_memory():
    rng = np.random.default_rng(0)
    person = np.sort(rng.integers(0, 5700, 13_000))
    rows = unit(rng.normal(size=(13_000, 128)))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    found = match(Templates(rows, person, np.arange(13_000)), Templates(rows, person, np.arange(13_000)))
    assert time.process_time() - start < 60
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1_000_000, "kB"
    assert found.genuine.total + found.impostor.total == 13_000**2
