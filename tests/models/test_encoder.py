"""The encoder: what users run is what is trained, and a wrong input is refused."""

import os
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch
from training.evaluate import embed
from training.real_faces import held_out

from faceveil.errors import UsageError
from faceveil.models.encoder import Encoder
from faceveil.models.generator import Generator
from faceveil.models.recognizers import recognizer
from faceveil.models.torch.encoder import Encoder as TorchEncoder
from faceveil.models.torch.lpips import Lpips
from faceveil.models.torch.mobilenet import face_recognizer
from faceveil.models.wspace import w_space
from faceveil.photos import read_photo

STATM = Path("/proc/self/statm")


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


@pytest.fixture(scope="module")
def shipped() -> Encoder:
    return Encoder()


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


@pytest.mark.skipif(not STATM.exists(), reason="the process's memory is read from /proc")
def test_a_thousand_faces_take_no_more_memory_than_a_hundred(shipped: Encoder) -> None:
    def resident_mb() -> float:
        return int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6

    def encode(times: int) -> None:
        for seed in range(times):
            shipped.encode(np.random.default_rng(seed).integers(0, 256, (50, 128, 128, 3), np.uint8))

    encode(2)
    before = resident_mb()
    encode(18)
    assert resident_mb() - before < 10  # the codes of 900 faces would be 42, their crops 44


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
    crops = faces(112)
    with torch.no_grad():
        found = face_recognizer()(torch.from_numpy(crops.transpose(0, 3, 1, 2) / np.float32(255))).numpy()
    assert np.abs(found - recognizer("mobilefacenet.facesdk").embed(crops)).max() < 1e-4


def test_generated_faces_are_found_again(shipped: Encoder) -> None:
    """Nearer to the truth than the mean face by far, and each to its own face rather than to another's."""
    generator = Generator()
    w = generator.truncate(generator.mapping(generator.sample_z(8, np.random.default_rng(31))), 0.8)
    found = shipped.encode(generator.render(w, 128)).mean(axis=1)
    error, spread = np.square(found - w).sum(1), np.square(w_space().mean - w).sum(1)
    assert (error / spread).mean() < 0.6
    distances = np.linalg.norm(found[:, None] - w[None], axis=2)
    assert (distances.argmin(axis=1) == np.arange(8)).all()


def test_real_faces_are_found_better_than_by_the_mean_face(shipped: Encoder) -> None:
    folder = Path(os.environ.get("FACEVEIL_DATA", Path(__file__).parents[3] / "shared" / "data")) / "ffhq"
    if not folder.is_dir():
        pytest.skip(f"no real faces here: {folder} does not exist (FACEVEIL_DATA may point elsewhere)")
    paths = sorted(folder.glob("*.jpg"))
    apart = held_out({path.stem for path in paths}, 60)  # the ones that training never saw
    photos = [read_photo(path).pixels for path in paths if path.stem in apart][:8]
    faces = np.stack([cv2.resize(p, (256, 256), interpolation=cv2.INTER_AREA) for p in photos])
    generator, lpips = Generator(), Lpips("alexnet")

    def distance(renders: np.ndarray) -> float:
        pair = (torch.from_numpy(i.transpose(0, 3, 1, 2) / np.float32(127.5) - 1) for i in (faces, renders))
        with torch.no_grad():
            return lpips(*pair).mean().item()

    mean_face = generator.render(w_space().mean[None], 256).repeat(len(faces), axis=0)
    renders = generator.render(shipped.encode(faces), 256)
    assert distance(renders) < 0.40
    assert distance(renders) < distance(mean_face) - 0.1
    # dlib's recogniser took no part in training; two people are 0.8 apart on average.
    people = [np.linalg.norm(embed(a) - embed(b)) for a, b in zip(faces, renders, strict=True)]
    assert np.mean(people) < 0.46
