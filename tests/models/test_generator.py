"""The generator that users run: parity with the shipped graph, sizes, bytes that do not vary."""

import os
from pathlib import Path

import numpy as np
import pytest

from faceveil.errors import UsageError
from faceveil.models import runtime
from faceveil.models.generator import CARD, Generator, as_wplus, synthesis
from faceveil.models.mobilestylegan import SIZES, SLOTS, early_exit
from faceveil.models.runtime import Network
from faceveil.models.synthesis import build_graph
from faceveil.models.wspace import w_space

# What these four faces reach, less half a decibel; 512 px is exact.
LEAST_PSNR = {64: 31.0, 128: 32.9, 256: 36.5, 512: 100.0}


STATM = Path("/proc/self/statm")


@pytest.fixture(scope="module")
def generator() -> Generator:
    return Generator()


@pytest.fixture(scope="module")
def w(generator: Generator) -> np.ndarray:
    z = generator.sample_z(4, np.random.default_rng(5))
    return generator.truncate(generator.mapping(z), 0.8)


@pytest.fixture(scope="module")
def full_graph() -> Network:
    return Network(build_graph(synthesis()))


@pytest.fixture(scope="module")
def full_render(full_graph: Network, w: np.ndarray) -> np.ndarray:
    return np.concatenate([full_graph(code[None])[0] for code in as_wplus(w)])


def psnr(image: np.ndarray, truth: np.ndarray) -> float:
    error = np.mean((np.clip(image, -1, 1) - np.clip(truth, -1, 1)) ** 2)
    return float(10 * np.log10(4 / max(error, 1e-20)))


def mean_pool(images: np.ndarray, size: int) -> np.ndarray:
    step = images.shape[-1] // size
    return images.reshape(*images.shape[:2], size, step, size, step).mean(axis=(3, 5))


def test_one_w_in_every_slot_gives_the_image_of_the_shipped_graph(w, full_render) -> None:
    shipped = runtime.load(CARD, member="SynthesisNetwork.xml")
    for code, render in zip(w[:2], full_render[:2], strict=True):
        assert np.abs(shipped(code[None])[0][0] - render).max() < 1e-4


@pytest.mark.parametrize("size", [64, 128, 256, 512])
def test_an_early_exit_is_the_full_image_made_smaller(size: int, w, full_render) -> None:
    exit_ = Network(build_graph(synthesis(size)))(as_wplus(w))[0]
    values = [psnr(*pair) for pair in zip(exit_, mean_pool(full_render, size), strict=True)]
    assert np.mean(values) > LEAST_PSNR[size]


@pytest.mark.parametrize("size", [64, 128, 256])
def test_the_fit_of_an_exit_is_better_than_what_is_derived(size: int, w, full_render) -> None:
    derived = Network(build_graph(early_exit(synthesis(), size)))(as_wplus(w))[0]
    fitted = Network(build_graph(synthesis(size)))(as_wplus(w))[0]
    truth = mean_pool(full_render, size)
    assert psnr(fitted, truth) > psnr(derived, truth) + 1


def test_pixels_are_the_graph_rounded(generator, full_render, w) -> None:
    pixels = generator.render(w[:1])[0]
    expected = np.clip(np.round(full_render[0] * 127.5 + 127.5), 0, 255).transpose(1, 2, 0)
    assert pixels.shape == (1024, 1024, 3) and pixels.dtype == np.uint8
    assert np.abs(pixels - expected).max() <= 1
    assert np.mean(pixels != expected) < 1e-4  # only ties of rounding


def test_every_slot_of_wplus_reaches_the_smallest_image(generator, w) -> None:
    wplus = np.repeat(as_wplus(w[:1]), SLOTS, axis=0)
    wplus[np.arange(SLOTS), np.arange(SLOTS)] = w[1]
    plain = generator.render(w[:1], 64)[0]
    for changed in generator.render_each(wplus, 64):
        assert (changed != plain).any()


def test_coarse_slots_change_more_than_fine_ones(generator, w) -> None:
    coarse, fine = as_wplus(w[:1]), as_wplus(w[:1])
    coarse[:, :4] = w[1]
    fine[:, 13:] = w[1]
    plain, coarse_image, fine_image = generator.render(np.concatenate([as_wplus(w[:1]), coarse, fine]), 64)
    grey = [image.mean(axis=2) for image in (plain, coarse_image, fine_image)]
    edges = [np.diff(image, axis=1) for image in grey]
    assert np.abs(edges[1] - edges[0]).mean() > np.abs(edges[2] - edges[0]).mean()


def test_the_same_seed_gives_the_same_faces_and_another_seed_others(generator) -> None:
    def faces(seed: int) -> np.ndarray:
        z = generator.sample_z(2, np.random.default_rng(seed))
        return generator.render(generator.mapping(z), 64)

    assert (faces(1) == faces(1)).all()
    assert (faces(1) != faces(2)).any()


@pytest.mark.parametrize("size", [64, 256])
def test_bytes_depend_on_neither_batch_nor_threads(size: int, generator, w) -> None:
    alone = np.concatenate([generator.render(code[None], size) for code in w])
    assert (generator.render(w, size) == alone).all()
    assert (Generator(threads=3).render(w, size) == alone).all()


@pytest.mark.parametrize("size", [64, 256])
def test_bf16_is_the_same_to_the_eye(size: int, generator, w) -> None:
    exact, short = (one.render(w[:2], size).astype(float) for one in (generator, Generator(precision="bf16")))
    assert np.mean((exact - short) ** 2) < 255**2 / 10**4.5  # 45 dB


def test_a_render_left_halfway_leaves_the_generator_usable(w) -> None:
    generator = Generator(threads=2)
    first = next(generator.render_each(w, 64))
    assert (generator.render(w[:1], 64)[0] == first).all()


def test_truncation_leads_from_the_face_itself_to_the_mean(generator, w) -> None:
    assert np.allclose(generator.truncate(w, 1), w, atol=1e-6)
    assert np.allclose(generator.truncate(w, 0), w_space().mean)
    half = np.linalg.norm(generator.truncate(w, 0.5) - w_space().mean, axis=1)
    assert np.allclose(half, 0.5 * np.linalg.norm(w - w_space().mean, axis=1), rtol=1e-5)


def test_whitened_coordinates_have_unit_variance_and_lead_back(generator) -> None:
    drawn = generator.mapping(generator.sample_z(600, np.random.default_rng(8)))
    coordinates = w_space().whiten(drawn)
    assert np.abs(coordinates.mean(0)).max() < 0.25
    assert 0.85 < coordinates[:, :100].std(0).mean() < 1.15
    assert np.abs(w_space().unwhiten(coordinates) - drawn).max() < 1e-3


@pytest.mark.parametrize("size", [0, 63, 100, 2048])
def test_a_size_without_an_exit_is_refused_with_the_sizes_there_are(size: int, generator, w) -> None:
    with pytest.raises(UsageError, match=str(SIZES[0])):
        generator.render(w, size)


@pytest.mark.parametrize("shape", [(512,), (1, 511), (1, 18, 512), (1, 1, 23, 512)])
def test_latents_of_another_shape_are_refused(shape: tuple[int, ...], generator) -> None:
    with pytest.raises(UsageError, match=r"\(N, 23, 512\)"):
        generator.render(np.zeros(shape, np.float32), 64)


def test_z_of_another_shape_is_refused(generator) -> None:
    with pytest.raises(UsageError, match="512"):
        generator.mapping(np.zeros((1, 100), np.float32))


def test_no_latents_give_no_images(generator) -> None:
    assert generator.render(np.zeros((0, 512), np.float32), 128).shape == (0, 128, 128, 3)


@pytest.mark.skipif(not STATM.exists(), reason="the process's memory is read from /proc")
def test_memory_does_not_grow_with_the_number_of_faces(generator, w) -> None:
    def resident_mb() -> float:
        return int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6

    def render(times: int) -> None:
        for _ in generator.render_each(np.tile(w, (times, 1)), 256):
            pass

    render(2)
    before = resident_mb()
    render(10)
    assert resident_mb() - before < 4  # forty images would be 8
