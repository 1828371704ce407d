"""The same network in torch, and what happens where torch is not installed."""

import subprocess
import sys

import numpy as np
import pytest
import torch

from faceveil.models.generator import Generator, as_wplus, synthesis
from faceveil.models.runtime import Network
from faceveil.models.synthesis import build_graph
from faceveil.models.torch.lpips import Lpips
from faceveil.models.torch.mobilestylegan import Synthesis
from faceveil.models.windows import Window


@pytest.fixture(scope="module")
def wplus() -> np.ndarray:
    """Three people mixed in one code, so that slots differ."""
    generator = Generator()
    w = generator.mapping(generator.sample_z(3, np.random.default_rng(9)))
    return w[np.repeat([0, 1, 2], [6, 8, 9])][None]


@pytest.mark.parametrize("size", [64, 128, 256, 512, 1024])
def test_torch_and_openvino_agree_at_every_size(size: int, wplus) -> None:
    network = synthesis(size)
    expected = Network(build_graph(network))(wplus)[0]
    with torch.no_grad():
        image = Synthesis(network)(torch.from_numpy(wplus)).numpy()
    assert image.shape == (1, 3, size, size)
    assert np.abs(image - expected).max() < 1e-4


def test_the_gradient_reaches_every_slot_and_is_right(wplus) -> None:
    network = Synthesis(synthesis(64)).double()
    two = np.concatenate([wplus, wplus[:, ::-1]])
    code = torch.from_numpy(two).double().requires_grad_()
    network(code).square().mean().backward()
    assert code.grad is not None and (code.grad.abs().amax(dim=2) > 0).all()
    step = 1e-4 * torch.from_numpy(np.random.default_rng(1).standard_normal(two.shape))
    with torch.no_grad():
        ahead, behind = (network(code + sign * step).square().mean() for sign in (1, -1))
    assert float((ahead - behind) / 2) == pytest.approx(float((code.grad * step).sum()), rel=1e-3)


@pytest.mark.parametrize("window", [Window(0, 0, 32), Window(11, 29, 21), Window(32, 32, 32)], ids=str)
def test_a_window_shows_that_part_of_the_picture(window: Window, wplus) -> None:
    network, code = Synthesis(synthesis(128)), torch.from_numpy(wplus)
    with torch.no_grad():
        part, whole = network(code, window), network(code)
    assert part.shape == (1, 3, 2 * window.side, 2 * window.side)
    top, left = 2 * window.top, 2 * window.left
    assert (part - whole[..., top : top + part.shape[2], left : left + part.shape[3]]).abs().max() < 1e-5


def test_lpips_is_zero_for_the_same_image_and_grows_with_blur() -> None:
    generator = Generator()
    z = generator.sample_z(1, np.random.default_rng(3))
    face = generator.render(as_wplus(generator.mapping(z)), 128).transpose(0, 3, 1, 2)
    image = torch.from_numpy(face.astype(np.float32) / 127.5 - 1)
    blurred = [torch.nn.functional.avg_pool2d(image, k, 1, k // 2, count_include_pad=False) for k in (3, 9)]
    for backbone in ("alexnet", "vgg16"):
        lpips = Lpips(backbone)
        near, far = (lpips(image, other).item() for other in blurred)
        assert lpips(image, image).item() == 0
        assert 0 < near < far < 1


def test_without_torch_users_render_and_gradients_name_the_extra() -> None:
    program = """
import sys
sys.modules["torch"] = None
import numpy as np
from faceveil.models.generator import Generator
assert Generator().render(np.zeros((1, 23, 512), np.float32), 64).shape == (1, 64, 64, 3)
from faceveil.errors import MissingExtra
try:
    import faceveil.models.torch.mobilestylegan
except MissingExtra as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "pip install 'faceveil[torch]'" in done.stdout
