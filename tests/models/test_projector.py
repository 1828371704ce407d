"""The projector: it comes nearer to a face, keeps the background out, and refuses what is no aligned face."""

import subprocess
import sys
from itertools import groupby

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F

from faceveil.errors import UsageError
from faceveil.models import embedding_graphs, mobilefacenet, projector
from faceveil.models import lpips as lpips_module
from faceveil.models.generator import Generator, as_wplus
from faceveil.models.lpips import lpips
from faceveil.models.projector import (
    FACE,
    MIKU,
    QUARTERS,
    QUICK,
    REFINE,
    Recipe,
    View,
    _exits,
    _seen,
    _views,
    look_network,
    looks,
    project,
)
from faceveil.models.runtime import once, openvino, read_model
from faceveil.models.torch.lpips import Lpips
from faceveil.models.vgg import vgg_maps
from faceveil.models.windows import WHOLE
from faceveil.models.wspace import w_space
from faceveil.spaces.latent import LatentSpace

WHOLE_ONLY = Recipe(close=0)


@pytest.fixture(scope="module")
def generator() -> Generator:
    return Generator()


@pytest.fixture(scope="module")
def code(generator: Generator) -> np.ndarray:
    z = generator.sample_z(1, np.random.default_rng(12))
    return generator.truncate(generator.mapping(z), 0.6)


@pytest.fixture(scope="module")
def face(generator: Generator, code: np.ndarray) -> np.ndarray:
    return generator.render(code, 256)


@pytest.mark.parametrize("recipe", [WHOLE_ONLY, Recipe("vgg", 0.1, 0.0, close=0)], ids=["refine", "miku"])
def test_a_generated_face_is_approached_from_the_mean(generator, face, recipe: Recipe) -> None:
    found = project(face, None, 12, recipe)
    mean = generator.render(w_space().mean[None], 256)
    before, after = (lpips(face[0], other[0]) for other in (mean, generator.render(found, 256)))
    assert found.shape == (1, 23, 512) and found.dtype == np.float32
    assert after < 0.42 * before


def test_what_the_projector_reads_is_among_the_space_s_weights(monkeypatch) -> None:
    """They are fetched before a run, stand in run.json, and a recogniser among them is no outsider to tune."""
    read = []
    for module in (lpips_module, mobilefacenet):
        name = "weights" if module is lpips_module else "stored_weights"
        fetch = getattr(module, name)
        monkeypatch.setattr(module, name, lambda card, fetch=fetch: read.append(card) or fetch(card))
    monkeypatch.setattr(embedding_graphs, "read_model", lambda card: read.append(card) or read_model(card))
    monkeypatch.setattr(lpips_module, "_weights", lpips_module._weights.__wrapped__)  # not what is kept
    look_network.__wrapped__(FACE, REFINE)
    assert {*read} == {"mobilenet.facelib", "lpips.alexnet", "mobilefacenet.facesdk"}
    assert {*read} <= {*LatentSpace(refine=1).cards}
    assert {*read} - {*LatentSpace().cards} == {"mobilenet.facelib", "lpips.alexnet"}


def test_no_steps_leave_the_start_as_it_is(face: np.ndarray, code: np.ndarray) -> None:
    assert np.abs(project(face, code, 0) - as_wplus(code)).max() < 1e-4


def test_a_face_does_not_depend_on_its_company(face: np.ndarray, code: np.ndarray) -> None:
    two = np.concatenate([face[:, ::-1], face])
    together, alone = project(two, None, 2, QUICK)[1:], project(face, None, 2, QUICK)
    assert np.array_equal(together, alone)


def test_the_bytes_do_not_depend_on_how_many_faces_are_worked_on_at_a_time(face, monkeypatch) -> None:
    faces = np.concatenate([face, face[:, ::-1], face[:, :, ::-1]])
    found = []
    for count in (1, 3):
        monkeypatch.setattr(projector, "cores", lambda count=count: count)
        monkeypatch.setattr(projector, "_slope", once(projector._slope.__wrapped__))
        found.append(project(faces, None, 2, QUICK))
    assert np.array_equal(*found)


def test_a_masked_background_does_not_matter(face: np.ndarray) -> None:
    """Two photos that differ only where the mask is 0 lead to one code; without the mask to two."""
    other, mask = face.copy(), np.ones((1, 256, 256), np.float32)
    other[:, :, :32], mask[:, :, :32] = 255 - other[:, :, :32], 0
    pixels = Recipe(look_weight=0, identity=0, close=0, background=0)
    one, two = (project(photo, None, 2, pixels, mask) for photo in (face, other))
    assert np.abs(one - two).max() < 1e-3
    assert np.abs(one - project(other, None, 2, pixels)).max() > 1e-2


def test_the_inputs_are_not_changed(face: np.ndarray, code: np.ndarray) -> None:
    photo, start = face.copy(), as_wplus(code).copy()
    project(photo, start, 1, QUICK)
    assert (photo == face).all() and (start == as_wplus(code)).all()


@given(st.integers(0, 300), st.sampled_from([REFINE, MIKU]))
def test_every_step_has_an_exit_and_exits_only_grow(steps: int, recipe: Recipe) -> None:
    exits = list(_exits(steps, recipe))
    assert len(exits) == steps
    sizes = [size for size, _ in groupby(exits)]
    assert sizes == sorted(set(sizes)) and set(sizes) <= {size for size, _ in recipe.stages}


@given(st.integers(0, 300), st.floats(0, 1))
def test_the_last_steps_look_at_the_face_and_go_round_the_picture(steps: int, share: float) -> None:
    steps_seen = list(_views(steps, Recipe(close=share)))
    close = [views for views in steps_seen if views[0].window != WHOLE]
    assert len(steps_seen) == steps and abs(len(close) - share * steps) < 1
    assert steps_seen[steps - len(close) :] == close
    assert close[::2] == [(FACE,)] * len(close[::2])
    for quarter in QUARTERS:
        assert abs(sum(quarter in views for views in close) - len(close) / 4) < 1


@pytest.mark.parametrize(
    ("crops", "options", "message"),
    [
        (np.zeros((1, 64, 60, 3), np.uint8), {}, "aligned faces"),
        (np.zeros((1, 64, 64, 3), np.float32), {}, "aligned faces"),
        (np.zeros((1, 64, 64, 3), np.uint8), {"steps": -1}, "0 steps or more"),
        (np.zeros((1, 64, 64, 3), np.uint8), {"start": np.zeros((2, 512), np.float32)}, "as many codes"),
        (np.zeros((1, 64, 64, 3), np.uint8), {"masks": np.ones((1, 32, 32), np.float32)}, "faces' shape"),
    ],
)
def test_a_wrong_call_is_refused(crops: np.ndarray, options: dict, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        project(crops, **options)


def test_a_look_that_does_not_exist_is_refused() -> None:
    with pytest.raises(UsageError, match="lpips, vgg"):
        Recipe("inception")


@pytest.mark.parametrize("recipe", [REFINE, MIKU], ids=["refine", "miku"])
@pytest.mark.parametrize("view", [View(64), FACE, QUARTERS[1]], ids=["whole", "face", "quarter"])
def test_the_loss_is_the_sum_of_squares_of_what_is_compared(face, recipe: Recipe, view: View) -> None:
    """Against an independent LPIPS, and recognisers that run by themselves."""
    one, other = (_seen(photo, view) / np.float32(127.5) - 1 for photo in (face[0], face[0, ::-1]))
    network = look_network(view, recipe)
    parts = [float(((a - b) ** 2).sum()) for a, b in zip(network(one), network(other), strict=True)]
    assert parts[0] == pytest.approx(float(((one - other) ** 2).mean()), rel=1e-4)
    if recipe is MIKU:
        assert len(parts) == 5
        return
    wide = [F.interpolate(torch.from_numpy(x), size=(128, 128), mode="bilinear") for x in (one, other)]
    seen = [torch.from_numpy(x) for x in (one, other)] if view.side >= 128 else wide
    assert sum(parts[1:6]) == pytest.approx(recipe.look_weight * Lpips()(*seen).item(), rel=1e-3)
    assert len(parts) == (6 if view in QUARTERS else 8)  # a quarter of a face is nobody
    assert all(0 < part < 1 for part in parts[6:])


def test_vgg_s_maps_are_those_that_miku_names() -> None:
    op = openvino().opset13
    image = op.parameter([1, 3, 64, 64], np.float32)
    shapes = [tuple(one.get_output_shape(0)[1:]) for one in vgg_maps(image)]
    assert shapes == [(64, 64, 64), (64, 64, 64), (256, 16, 16), (512, 8, 8)]  # conv1_1, 1_2, 3_2, 4_2
    assert len(looks(image, View(64), Recipe("vgg", identity=0))) == 5


def test_few_steps_see_the_whole_and_many_look_closely(face: np.ndarray) -> None:
    assert all(views == (View(64),) for views in _views(2, QUICK))
    assert {view.size for views in _views(20, REFINE) for view in views} == {64, 256}


def test_refining_needs_no_torch() -> None:
    program = """
import sys
sys.modules["torch"] = None
import numpy as np
from faceveil.models.generator import Generator
from faceveil.spaces.inversion import codes_of
generator = Generator()
face = generator.render(generator.mapping(generator.sample_z(1, np.random.default_rng(5))), 128)
assert not np.array_equal(codes_of(face, 1), codes_of(face, 0))
"""
    subprocess.run([sys.executable, "-c", program], check=True)
