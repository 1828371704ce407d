"""The projector: it comes nearer to a face, keeps the background out, and refuses what is no aligned face."""

import sys
from itertools import groupby

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from faceveil.errors import MissingExtra, UsageError
from faceveil.models.generator import Generator, as_wplus
from faceveil.models.lpips import lpips
from faceveil.models.torch import facelib, mobilenet
from faceveil.models.torch import lpips as torch_lpips
from faceveil.models.torch.mobilestylegan import WHOLE
from faceveil.models.torch.projector import (
    FACE,
    MIKU,
    QUARTERS,
    REFINE,
    Recipe,
    _exits,
    _look,
    _views,
    project,
)
from faceveil.models.torch.vgg import VggMaps
from faceveil.models.wspace import w_space
from faceveil.spaces.latent import LatentSpace

QUICK = Recipe(close=0)


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


@pytest.mark.parametrize("recipe", [QUICK, Recipe("vgg", 0.1, 0.0, close=0)], ids=["refine", "miku"])
def test_a_generated_face_is_approached_from_the_mean(generator, face, recipe: Recipe) -> None:
    found = project(face, None, 12, recipe)
    mean = generator.render(w_space().mean[None], 256)
    before, after = (lpips(face[0], other[0]) for other in (mean, generator.render(found, 256)))
    assert found.shape == (1, 23, 512) and found.dtype == np.float32
    assert after < 0.42 * before


def test_what_the_projector_reads_is_among_the_space_s_weights(monkeypatch) -> None:
    """They are fetched before a run, stand in run.json, and a recogniser among them is no outsider to tune."""
    read = []
    for module in (facelib, mobilenet, torch_lpips):
        fetch = module.weights
        monkeypatch.setattr(module, "weights", lambda card, fetch=fetch: read.append(card) or fetch(card))
    facelib.second_recognizer.__wrapped__()  # not the ones that are kept
    mobilenet.face_recognizer.__wrapped__()
    _look.__wrapped__(REFINE.look)
    assert len(read) == 3 and {*read} <= {*LatentSpace(refine=1).cards}
    assert {*read} - {*LatentSpace().cards} == {"mobilenet.facelib", "lpips.alexnet"}


def test_no_steps_leave_the_start_as_it_is(face: np.ndarray, code: np.ndarray) -> None:
    assert np.abs(project(face, code, 0) - as_wplus(code)).max() < 1e-4


def test_a_face_does_not_depend_on_its_company(face: np.ndarray, code: np.ndarray) -> None:
    two = np.concatenate([face[:, ::-1], face])
    together, alone = project(two, None, 2, QUICK)[1:], project(face, None, 2, QUICK)
    assert np.array_equal(together, alone)


def test_the_bytes_do_not_depend_on_torchs_threads(face: np.ndarray) -> None:
    before, found = torch.get_num_threads(), []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        found.append(project(face, None, 2, QUICK))
        assert torch.get_num_threads() == threads
    torch.set_num_threads(before)
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


def test_equal_pictures_have_equal_maps_and_others_do_not() -> None:
    pictures = torch.from_numpy(np.random.default_rng(0).uniform(-1, 1, (2, 3, 64, 64)).astype(np.float32))
    maps = VggMaps()
    assert maps(pictures, pictures).tolist() == [0, 0]
    assert (maps(pictures, pictures.flip(0)) > 0).all()
    shapes = [tuple(tap.shape[1:]) for tap in maps.taps(pictures)]
    assert shapes == [(64, 64, 64), (64, 64, 64), (256, 16, 16), (512, 8, 8)]  # conv1_1, 1_2, 3_2, 4_2


def test_without_torch_the_error_is_the_install_command(monkeypatch) -> None:
    for name in [name for name in sys.modules if name.startswith("faceveil.models.torch")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtra, match=r"pip install 'faceveil\[torch\]'"):
        import faceveil.models.torch.projector  # noqa: F401
