"""The push: codes are led away from the source, to recognisers that are asked and to others."""

import numpy as np
import pytest

from faceveil.faces import find_faces
from faceveil.faces.attributes import attributes
from faceveil.methods import method
from faceveil.methods.styleid import method as flow
from faceveil.methods.styleid import push
from faceveil.methods.styleid.check import embeddings
from faceveil.methods.styleid.choice import TRIED
from faceveil.methods.styleid.control import control
from faceveil.methods.styleid.looks import face_in_crop, looks, traits
from faceveil.methods.styleid.measure import Source, measure
from faceveil.methods.styleid.push import IDENTITY, MOST, SHARE, own_vector, pushed
from faceveil.methods.styleid.render import in_photo, small
from faceveil.methods.styleid.targets import by_two, kind_of, labels, pool
from faceveil.models.mobilestylegan import SLOTS
from faceveil.models.recognizers import WATCHING, recognizer
from faceveil.models.wspace import w_space

A, B, C = WATCHING
TARGET = 40
STEPS = 4


@pytest.fixture(scope="module")
def source(portrait) -> Source:
    small = portrait[::2, ::2].copy()
    found = measure(small, find_faces(small)[0], tuple(WATCHING))
    assert found is not None
    return found


@pytest.fixture(scope="module")
def near(source) -> np.ndarray:
    """The source's own code: nobody is nearer."""
    return source.code


def distances(source: Source, wplus: np.ndarray) -> dict[str, float]:
    """From the source to a code's face in its photo, in thresholds."""
    photo = in_photo(source, wplus)
    seen = embeddings(photo, source.face, list(WATCHING))
    return {
        name: float(
            recognizer(name).distance(seen[name], source.embeddings[name]) / recognizer(name).threshold
        )
        for name in WATCHING
    }


def led(source: Source, wplus: np.ndarray, *names: str) -> np.ndarray:
    vectors = {name: source.embeddings[name] for name in names}
    return pushed(source.small, source.share, vectors, TARGET, wplus, STEPS)


def test_the_source_s_own_code_becomes_somebody_else_to_all(source, near):
    before, after = distances(source, near), distances(source, led(source, near, A, B, C))
    assert all(after[name] > before[name] + 0.1 for name in WATCHING), (before, after)


@pytest.mark.parametrize("held_out", WATCHING)
def test_a_recogniser_that_was_not_asked_sees_it_too(source, near, held_out):
    asked = [name for name in WATCHING if name != held_out]
    assert distances(source, led(source, near, *asked))[held_out] > distances(source, near)[held_out] + 0.08


def test_without_recognisers_nothing_moves(source, near):
    assert led(source, near) is near


def test_only_the_identity_s_slots_move_and_no_further_than_may_be(source, near):
    kept = near.copy()
    moved = led(source, near, A, B, C) - near
    assert np.array_equal(near, kept), "what is given stays as it is"
    others = np.ones(len(moved), bool)
    others[IDENTITY] = False
    assert not moved[others].any() and moved[IDENTITY].any()
    white = w_space().whiten(near + moved, 300) - w_space().whiten(near, 300)
    axes = pool().codes.axes[IDENTITY]
    flat = axes.transpose(1, 0, 2).reshape(axes.shape[1], -1)
    steps = np.linalg.lstsq(flat.T, white[IDENTITY].reshape(-1), rcond=None)[0]
    assert np.linalg.norm(steps) <= STEPS * SHARE * MOST * 1.01


def test_a_stranger_who_is_the_target_stays(source, monkeypatch):
    monkeypatch.setattr(push, "ENOUGH", 1e9)  # as if nothing were left to wish for
    code = pool().codes[TARGET]
    assert np.array_equal(led(source, code, A, C), code)


def test_own_vectors_have_nothing_in_common_where_lengths_allow():
    rows = range(0, len(pool()), 40)
    for name in (A, C):
        own = np.array([own_vector(name, row) for row in rows])
        assert np.allclose(np.linalg.norm(own, axis=1), 1, atol=1e-5)
        plain = pool().embeddings[name][list(rows)]
        assert np.linalg.norm(own.mean(axis=0)) < 0.5 * np.linalg.norm(plain.mean(axis=0))
    assert np.array_equal(own_vector(B, TARGET), pool().embeddings[B][TARGET])


@pytest.mark.parametrize("name", WATCHING)
def test_strangers_are_about_as_far_apart_as_is_said(name):
    """Those of the pool are a little nearer to each other than the people of LFW, on whom it was measured."""
    vectors = pool().embeddings[name][:: len(pool()) // 200].astype(np.float64)
    assert 0.8 < 2 * vectors.var(axis=0).sum() / recognizer(name).operating.strangers < 1.1


@pytest.mark.parametrize("name", ["styleid-layers", "styleid-channels", "styleid-swapper"])
def test_a_mixed_code_is_led_on_only_where_the_mix_alone_did_not_hide_anybody(name, source, monkeypatch):
    asked = []
    monkeypatch.setattr(flow, "led_away", lambda _, target, wplus, force: asked.append(target) or wplus)
    for number in range(2 * TRIED):
        method(name).code(source, number, number)
    assert asked == list(range(TRIED, 2 * TRIED))


def test_a_neutral_step_changes_traits_much_less_than_what_it_leaves_out():
    codes, kept = pool().codes, control().kept
    assert np.allclose(kept.T @ kept, np.eye(kept.shape[1]), atol=5e-3)
    any_way = np.random.default_rng(0).standard_normal(len(kept)).astype(np.float32)
    neutral = control().neutral(any_way)
    assert np.abs(kept.T @ neutral).max() < 0.05

    def off(step: np.ndarray) -> float:
        """By how much the traits of some targets change, in deviations, six such steps long."""
        along = np.zeros((SLOTS, len(step)), np.float32)
        along[IDENTITY] = 6 * step / np.linalg.norm(step)
        return float(
            np.mean([np.abs(_traits(codes.stepped(row, along)) - _traits(codes[row])) for row in ROWS])
        )

    assert off(neutral) < 0.6 * off(any_way - neutral)


ROWS = (7, 700, 1234, 2345, 4567, 7000)


def _traits(wplus: np.ndarray) -> np.ndarray:
    crop = small(wplus)
    face = face_in_crop(crop)
    shown = labels(crop)
    seen = by_two(attributes(crop, face), shown)
    found = traits(looks(crop, face), seen.age, kind_of(shown, seen.female), seen.expression)
    return found / control().deviation
