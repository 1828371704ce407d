"""The encoder: what users run is what is trained, and a wrong input is refused."""

from pathlib import Path

import numpy as np
import pytest
import torch

from faceveil.errors import UsageError
from faceveil.models.encoder import Encoder
from faceveil.models.mobilefacenet import mobilefacenet
from faceveil.models.runtime import Network
from faceveil.models.store import weights
from faceveil.models.torch.encoder import Encoder as TorchEncoder
from faceveil.models.torch.mobilenet import MobileFaceNet


@pytest.fixture(scope="module")
def pair(tmp_path_factory) -> tuple[Encoder, TorchEncoder]:
    """The same random weights in both programs; nothing is left at zero."""
    torch.manual_seed(0)
    trained = TorchEncoder.with_pretrained_backbone().eval().requires_grad_(False)
    for name, value in trained.named_parameters():
        if name.startswith(("narrow", "residual", "widen")):
            value.normal_(std=0.02)
    trained.feature_mean.normal_()
    trained.feature_scale.uniform_(0.5, 2)
    path = tmp_path_factory.mktemp("encoder") / "encoder.npz"
    np.savez(path, **{name: value.numpy() for name, value in trained.state_dict().items()})
    return Encoder(path), trained


def faces(size: int, count: int = 2) -> np.ndarray:
    return np.random.default_rng(1).integers(0, 256, (count, size, size, 3), np.uint8)


def test_torch_and_openvino_find_the_same_code(pair) -> None:
    users, trained = pair
    images = faces(128)
    expected = trained(torch.from_numpy(images.transpose(0, 3, 1, 2) / np.float32(255))).numpy()
    found = users.encode(images)
    assert found.shape == (2, 23, 512)
    assert np.abs(found - expected).max() < 1e-4


def test_a_larger_face_is_averaged_down(pair) -> None:
    users, _ = pair
    small = faces(128)
    large = small.repeat(2, axis=1).repeat(2, axis=2)
    assert np.abs(users.encode(large) - users.encode(small)).max() < 1e-5


def test_a_code_does_not_depend_on_the_batch(pair) -> None:
    users, _ = pair
    images = faces(128, count=3)
    assert (users.encode(images)[1:2] == users.encode(images[1:2])).all()


def test_no_faces_give_no_codes(pair) -> None:
    assert pair[0].encode(np.zeros((0, 128, 128, 3), np.uint8)).shape == (0, 23, 512)


@pytest.mark.parametrize(
    "wrong",
    [
        np.zeros((1, 128, 128, 3), np.float32),
        np.zeros((128, 128, 3), np.uint8),
        np.zeros((1, 128, 100, 3), np.uint8),
        np.zeros((1, 128, 128, 4), np.uint8),
        np.zeros((1, 64, 64, 3), np.uint8),
    ],
)
def test_what_is_not_an_aligned_face_is_refused(pair, wrong: np.ndarray) -> None:
    with pytest.raises(UsageError, match="the encoder"):
        pair[0].encode(wrong)


def test_the_recogniser_of_the_loss_is_the_one_users_have() -> None:
    images = faces(112).transpose(0, 3, 1, 2).astype(np.float32) / 255
    mean, std = (np.float32(v).reshape(1, 3, 1, 1) for v in ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]))
    expected = Network(mobilefacenet(Path(weights("mobilefacenet.facesdk"))))((images - mean) / std)[0]
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    with torch.no_grad():
        found = MobileFaceNet.pretrained()(torch.from_numpy(images)).numpy()
    assert np.abs(found - expected).max() < 1e-4
