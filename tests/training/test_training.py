"""What training promises: the same draws after a restart, people kept apart, inputs left alone."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from training.augment import degrade, jitter, relight
from training.grow import unseen
from training.latents import mixed_wplus
from training.losses import DetailLoss, StyleLoss, any_window, face_weight
from training.pairs import open_pairs
from training.people import SPREAD, draws, sharpness
from training.pool import OF_ORIGIN, choose, more_along, of_pool, suitable
from training.real_faces import held_out
from training.step_to_people import shortest_step

from faceveil.methods.styleid.control import control
from faceveil.methods.styleid.targets import LABELS, Codes, pool
from faceveil.models.generator import Generator
from faceveil.models.torch.encoder import arcface_crop
from faceveil.models.torch.mobilestylegan import cut
from faceveil.models.wspace import w_space


def test_a_code_is_the_same_whichever_chunk_it_is_drawn_in() -> None:
    generator = Generator()
    whole = mixed_wplus(generator, 7, range(6))
    assert (mixed_wplus(generator, 7, range(3, 6)) == whole[3:]).all()
    assert (mixed_wplus(generator, 8, range(6)) != whole).any()


def test_codes_are_mixtures_of_at_most_three_people() -> None:
    for code in mixed_wplus(Generator(), 1, range(20)):
        assert 1 <= len(np.unique(code, axis=0)) <= 3


def test_pairs_that_exist_are_opened_and_not_made_anew(tmp_path: Path) -> None:
    images, _, done = open_pairs(tmp_path, 4)
    images[1], done[1] = 9, True
    images, latents, done = open_pairs(tmp_path, 4)
    assert done.tolist() == [False, True, False, False] and (images[1] == 9).all()
    assert latents.shape == (4, 23, 512)


@given(st.sets(st.text(min_size=1), min_size=4, max_size=30), st.integers(0, 3))
def test_who_is_held_out_depends_on_names_alone(people: set[str], count: int) -> None:
    apart = held_out(people, count)
    assert len(apart) == count and apart <= people
    others = people - apart
    last = max(others, key=lambda person: hashlib.sha256(person.encode()).hexdigest())
    assert held_out(people - {last}, count) == apart  # who else is in the set changes nothing


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_augmentation_repeats_with_its_seed_and_leaves_the_input_alone(seed: int) -> None:
    image = np.random.default_rng(0).integers(0, 256, (64, 64, 3), np.uint8)
    mask, before = np.full((64, 64), 255, np.uint8), image.copy()
    for work in (degrade, relight, lambda i, r: jitter(i, mask, r)[0]):
        one, two = (work(image, np.random.default_rng(seed)) for _ in range(2))
        assert one.shape == image.shape and one.dtype == np.uint8
        assert (one == two).all() and (image == before).all()


def test_the_pool_is_filled_up_with_the_kinds_that_are_missing() -> None:
    rng = np.random.default_rng(0)
    codes = rng.standard_normal((30_000, 12)).astype(np.float32)
    taken = np.arange(5000)
    measures = made_up(codes[taken])
    chosen = choose(codes, taken, measures, OF_ORIGIN, each=200)
    assert len(set(chosen)) == len(chosen) and not set(chosen) & set(taken)
    have, more = (
        (measures["labels"][:, 1] > 0.5).mean(),
        (made_up(codes[chosen])["labels"][:, 1] > 0.5).mean(),
    )
    assert more > 1.5 * have  # the second origin is rare


def test_who_looks_of_another_gender_to_a_second_network_is_no_target() -> None:
    faces = made_up(np.random.default_rng(1).standard_normal((2000, 12)).astype(np.float32))
    column = LABELS.index("female")
    before = suitable(faces)
    faces["labels"][:, column] = 1 - faces["labels"][:, column]
    assert before.mean() > 0.5 and not suitable(faces).any()


def test_more_faces_are_drawn_along_the_axes_of_the_pool_that_ships() -> None:
    more = more_along(pool().codes, 5)
    assert more[np.arange(5)].shape == (5, 23, 512) and more.axes is pool().codes.axes
    assert suitable(of_pool(pool())).mean() > 0.99  # what ships is what may stand for others


def made_up(codes: np.ndarray) -> dict[str, np.ndarray]:
    """Faces whose age, gender and origin follow from their codes."""
    rows = np.zeros((len(codes), len(LABELS)))
    odds = np.exp(np.column_stack([np.full(len(codes), 2.0), 3 * codes[:, 2:5] - 2]))
    rows[:, :4] = odds / odds.sum(axis=1, keepdims=True)
    female = 1 / (1 + np.exp(-9 * codes[:, 1]))
    rows[:, LABELS.index("female")] = female
    return {
        "coordinates": codes, "age": 35 + 15 * codes[:, 0], "female": female,
        "labels": rows, "looks": np.zeros((len(codes), 8)), "skin": np.zeros(len(codes)),
        "expression": np.zeros((len(codes), 7)),
    }  # fmt: skip


def test_the_mean_face_has_a_style_loss_of_one_and_the_truth_none() -> None:
    generator = Generator()
    w = generator.mapping(generator.sample_z(400, np.random.default_rng(2)))
    truth = torch.from_numpy(np.repeat(w[:, None], 23, axis=1))
    loss = StyleLoss()
    assert loss(truth, truth).item() == 0
    mean = torch.from_numpy(w_space().mean).expand_as(truth)
    assert loss(mean, truth).item() == pytest.approx(1, abs=0.1)


def test_the_recognisers_crop_puts_ffhq_eyes_where_arcface_wants_them() -> None:
    image = torch.zeros(1, 3, 256, 256)
    for x, y in ((0.380, 0.469), (0.619, 0.471)):
        image[:, :, int(y * 256) - 2 : int(y * 256) + 3, int(x * 256) - 2 : int(x * 256) + 3] = 1
    crop = arcface_crop(image)[0, 0]
    for half, x, y in ((crop[:, :56], 38.3, 51.7), (crop[:, 56:], 73.5 - 56, 51.5)):
        row, column = divmod(int(half.argmax()), 56)
        assert abs(row - y) < 4 and abs(column - x) < 4


def test_the_face_weighs_more_than_its_background() -> None:
    weight = face_weight(64)[0, 0]
    assert weight[32, 32] == 1 and weight[0, 0] == pytest.approx(0.3)


@given(st.integers(0, 1000))
def test_every_window_lies_in_the_picture(seed: int) -> None:
    part = any_window(np.random.default_rng(seed)).part(256)
    assert cut(torch.zeros(1, 3, 256, 256), part).shape == (1, 3, 128, 128)


def test_detail_costs_nothing_where_it_is_right_or_beyond_the_photo() -> None:
    loss, window = DetailLoss(), any_window(np.random.default_rng(1))
    code = torch.from_numpy(w_space().mean).expand(1, 23, 512)
    with torch.no_grad():
        right, wrong = loss.generator(code), torch.zeros(1, 3, 256, 256)
        inside, beyond = torch.ones(1, 1, 256, 256), torch.zeros(1, 1, 256, 256)
        assert loss(code, right, inside, window).item() == pytest.approx(0, abs=1e-6)
        assert loss(code, wrong, beyond, window).item() == pytest.approx(0, abs=1e-6)
        assert loss(code, wrong, inside, window).item() > 0.1


def test_a_team_takes_the_mean_step_and_stops_when_its_leader_says(tmp_path: Path) -> None:
    program = tmp_path / "team_of_two.py"
    program.write_text("""
import torch
from training.team import run_team

def work(team, out):
    weight = torch.nn.Parameter(torch.zeros(3))
    steps = 0
    while not team.agree(team.leads and steps == 2):
        weight.grad = torch.full((3,), float(team.rank + 1))
        team.average_gradients([weight])
        weight.data -= weight.grad
        steps += 1
    (out / str(team.rank)).write_text(f"{steps} {weight.tolist()}")

if __name__ == "__main__":
    from pathlib import Path
    run_team(work, 2, Path(__file__).parent)
""")
    root = Path(__file__).parents[2]
    subprocess.run([sys.executable, str(program)], check=True, env={**os.environ, "PYTHONPATH": str(root)})
    assert [(tmp_path / rank).read_text() for rank in "01"] == ["2 [-3.0, -3.0, -3.0]"] * 2


def test_draws_differ_as_people_do_and_are_stored_without_loss_that_counts() -> None:
    rng = np.random.default_rng(0)
    people = (rng.standard_normal((500, 40)) @ rng.standard_normal((40, 23 * 300))).reshape(500, 23, 300) + 5
    codes = draws(people.astype(np.float32), 400, seed=1)
    white = w_space().whiten(codes[:], 300)
    assert np.abs(white.mean()) < 0.2  # around W's mean, not around theirs
    assert np.allclose(white.std(axis=(0, 2)), SPREAD * people.std(axis=(0, 2)), rtol=0.1)
    again = Codes.unpacked(codes.packed())
    assert (w_space().whiten(again[:], 300) - white).std() < 0.02 * white.std()
    assert np.allclose(codes.stepped(3, np.zeros(codes.axes.shape[:2])), codes[3], atol=1e-3)


def test_a_blurred_photo_is_less_sharp(portrait: np.ndarray) -> None:
    assert sharpness(cv2.GaussianBlur(portrait, (0, 0), 2)) < 0.5 * sharpness(portrait)


def test_new_units_of_the_bottleneck_tell_what_the_old_ones_do_not() -> None:
    rng = np.random.default_rng(0)
    features = (rng.standard_normal((900, 30)) @ rng.standard_normal((30, 60)) + 3).astype(np.float32)
    narrow = rng.standard_normal((8, 60)).astype(np.float32)
    rows, bias = unseen(features, narrow, 5)
    new, old = features @ rows.T + bias, features @ narrow.T
    assert np.allclose(new.mean(0), 0, atol=1e-2) and np.allclose(new.std(0), 1, atol=1e-2)
    together = np.corrcoef(np.hstack([old, new]).T)[:8, 8:]
    assert np.abs(together).max() < 0.01


def test_the_step_to_people_leads_towards_them() -> None:
    identity = control().identity
    rng = np.random.default_rng(2)
    people = {
        name: mean + 0.1 * slopes.T @ rng.standard_normal(len(slopes))
        for name, (slopes, mean) in identity.items()
    }
    step = shortest_step(people)
    for name, (slopes, mean) in identity.items():
        gap = people[name] - mean
        assert np.linalg.norm(gap - slopes.T @ step) < 0.9 * np.linalg.norm(gap)
