"""The risk loop with made-up recognisers: a latent is recognised as whom it is near."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from faceveil.privacy.risk import LEAST, Assessed, lower_weights, mixed, push_away, start_weights

PICTURE = np.zeros((1, 1, 3), np.uint8)


def watch(people, threshold):
    """A recogniser that knows people by their latents and counts how often it is asked."""
    calls = []

    def assess(latent):
        calls.append(latent)
        return Assessed((np.linalg.norm(people - latent, axis=1) / threshold - 1).astype(np.float32), PICTURE)

    return assess, calls


@st.composite
def groups(draw):
    members = draw(st.integers(2, 8))
    seed = draw(st.integers(0, 2**32))
    latents = np.random.default_rng(seed).normal(size=(members, 4)).astype(np.float32)
    return latents, draw(st.floats(0.05, 3)), draw(st.floats(0.05, 0.9)), draw(st.integers(0, 12)), seed


@settings(deadline=None)
@given(groups())
def test_the_loop_keeps_its_budget_and_tells_the_truth(given_):
    latents, threshold, beta, budget, seed = given_
    weights = start_weights(len(latents), 0.5, np.random.default_rng(seed))
    assess, calls = watch(latents, threshold)
    mix = lower_weights(latents, weights.copy(), assess, beta, budget)
    assert 1 <= len(calls) <= budget + 1
    assert np.allclose(mix.latent, mixed(latents, mix.weights))
    distances = np.linalg.norm(latents - mix.latent, axis=1)
    assert mix.safe == bool((distances >= threshold * (1 - 1e-6)).all())
    assert (mix.weights >= min(LEAST, weights.min())).all() and (mix.weights <= weights + 1e-12).all()


@settings(deadline=None)
@given(groups())
def test_more_people_are_never_at_risk_after_the_loop_than_before(given_):
    latents, threshold, beta, budget, _ = given_
    assess, _ = watch(latents, threshold)
    mix = lower_weights(latents, np.ones(len(latents)), assess, beta, budget)
    assert mix.assessed.at_risk.sum() <= mix.first.sum()


@settings(deadline=None)
@given(st.integers(2, 20), st.floats(0, 0.99), st.integers(0, 2**32))
def test_start_weights_stay_in_their_range(members, delta, seed):
    weights = start_weights(members, delta, np.random.default_rng(seed))
    assert weights.shape == (members,) and (np.abs(weights - 1) <= delta).all()


def test_equal_weights_give_the_mean():
    latents = np.random.default_rng(0).normal(size=(5, 7)).astype(np.float32)
    assert np.allclose(mixed(latents, np.full(5, 0.2)), latents.mean(axis=0), atol=1e-6)


def test_only_the_member_at_risk_loses_weight():
    latents = np.array([[0, 0], [4, 0], [0, 4]], np.float32)
    assess, _ = watch(latents, 2.0)
    mix = lower_weights(latents, np.ones(3), assess, beta=0.25, budget=10)
    assert mix.first.tolist() == [True, False, False]
    assert mix.safe and mix.weights[0] < 1 and mix.weights[1:].tolist() == [1, 1]


def test_lowering_weights_is_given_up_where_the_budget_would_not_suffice():
    latents = np.array([[0, 0], [1, 0], [0, 40]], np.float32)
    assess, calls = watch(latents, 25.0)
    mix = lower_weights(latents, np.ones(3), assess, beta=0.01, budget=20)
    assert not mix.safe and len(calls) == 2


def test_a_mix_recognised_as_all_moves_towards_a_stranger_and_little_further_than_needed():
    latents = np.array([[0.1, 0], [-0.1, 0]], np.float32)
    assess, _ = watch(latents, 1.0)
    mix = lower_weights(latents, np.ones(2), assess, beta=0.25, budget=10)
    assert not mix.safe and mix.rounds == 0
    pushed = push_away(mix, [np.array([0, 4], np.float32)], assess)
    assert pushed.safe and pushed.stranger == 0.3  # 0.25 would be enough


def test_a_far_stranger_is_needed_where_thresholds_are_wide():
    latents = np.array([[0.1, 0], [-0.1, 0]], np.float32)
    assess, _ = watch(latents, 3.0)
    mix = lower_weights(latents, np.ones(2), assess, beta=0.25, budget=3)
    near, far = np.array([0, 2], np.float32), np.array([0, 4], np.float32)
    pushed = push_away(mix, [near, far], assess)
    assert pushed.safe and pushed.stranger == 0.85 and pushed.latent[1] == np.float32(3.4)


@settings(deadline=None)
@given(groups())
def test_pushing_never_makes_it_worse(given_):
    latents, threshold, beta, budget, seed = given_
    assess, calls = watch(latents, threshold)
    mix = lower_weights(latents, np.ones(len(latents)), assess, beta, budget)
    strangers = np.random.default_rng(seed + 1).normal(size=(3, 4)).astype(np.float32)
    calls.clear()
    pushed = push_away(mix, strangers, assess)
    assert mix.safe or pushed.assessed.at_risk.sum() <= mix.assessed.at_risk.sum()
    assert len(calls) <= 3 * 3
    assert pushed.safe == (not assess(pushed.latent).at_risk.any())


def test_a_mix_that_no_step_saves_is_not_called_safe():
    latents = np.array([[0.1, 0], [-0.1, 0]], np.float32)
    assess, _ = watch(latents, 100.0)
    mix = lower_weights(latents, np.ones(2), assess, beta=0.25, budget=3)
    assert not push_away(mix, [np.array([0, 4], np.float32)], assess).safe


def test_bystanders_are_checked_and_have_no_weight():
    latents = np.array([[-3, 0], [3, 0]], np.float32)
    assess, _ = watch(np.vstack([latents, [[0, 0]]]), 1.0)
    mix = lower_weights(latents, np.ones(2), assess, beta=0.25, budget=5)
    assert not mix.safe and mix.weights.tolist() == [1, 1] and not mix.first.any()
