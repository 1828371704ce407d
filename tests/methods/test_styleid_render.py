"""A new face rendered with its photo: what is seen of the photo, what is kept of it, and what is not."""

import numpy as np
import pytest

from faceveil.faces import find_faces
from faceveil.methods.styleid.measure import measure
from faceveil.methods.styleid.move import FEATURES, with_features
from faceveil.methods.styleid.paste import face_share, grown
from faceveil.methods.styleid.render import generator, in_photo, joined
from faceveil.methods.styleid.targets import pool
from faceveil.models import parser, residual
from faceveil.models.parser import BACKGROUND, CLASSES, FACE, GLASSES, HAIR, HAT, SIZE, SKIN

RNG = np.random.default_rng


@pytest.fixture(scope="module")
def source(portrait):
    small = portrait[::2, ::2].copy()
    found = measure(small, find_faces(small)[0], ())
    assert found is not None
    return found


@pytest.fixture(scope="module")
def code(source):
    return with_features(source, pool().codes[7])


def test_a_new_face_is_told_nothing_of_the_old_one(source, code):
    """Whatever stands where the face is, the same new face comes out, to the byte."""
    inside = source.share == 1
    other = source.small.copy()
    other[inside] = RNG(0).integers(0, 256, other[inside].shape)
    share = np.where(inside, 1, 0).astype(np.float32)
    one, two = (joined(code, photo, share, 256) for photo in (source.small, other))
    assert inside.mean() > 0.1 and np.array_equal(one, two)


def test_what_is_around_it_shows_in_the_same_rendering(source, code):
    """The photo's surroundings are nearer in the joined render than in the code's own."""
    around = source.share == 0
    alone = generator().render(code[None], 256)[0]
    with_it = joined(code, source.small, source.share, 256)
    far = [np.abs(one[around].astype(int) - source.small[around]).mean() for one in (alone, with_it)]
    assert far[1] < 0.8 * far[0]


def test_the_face_keeps_what_its_code_says(source, code):
    """Another target's features give another face in the same surroundings."""
    inside = source.share == 1
    one = joined(code, source.small, source.share, 256)
    two = joined(with_features(source, pool().codes[99]), source.small, source.share, 256)
    changed = np.abs(one.astype(int) - two).mean(axis=2)
    assert changed[inside].mean() > 2 * changed[source.share == 0].mean()


def test_features_are_the_targets_and_the_rest_is_the_sources(source, code):
    rest = np.setdiff1d(np.arange(23), np.arange(23)[FEATURES])
    assert np.array_equal(code[FEATURES], pool().codes[7][FEATURES])
    assert np.array_equal(code[rest], source.code[rest])


def test_what_is_no_face_keeps_its_pixels(source, code):
    stays = np.zeros(source.crop.shape[:2], bool)
    labels = source.shares.argmax(axis=0)
    for thing in (HAIR, BACKGROUND):
        stays |= labels == thing
    before = source.alignment.place(source.crop, source.image.shape[1::-1])
    after = in_photo(source, code)
    there = source.alignment.place(np.where(stays, 255, 0).astype(np.uint8), source.image.shape[1::-1]) == 255
    changed = (after != source.image).any(axis=2)
    assert there.mean() > 0.2 and before.shape == after.shape
    assert changed[there].mean() < 0.08  # the soft edge alone


def shown(what: int, where: tuple[slice, slice]) -> np.ndarray:
    """A face of skin with one thing before it."""
    labels = np.full((SIZE, SIZE), SKIN)
    labels[where] = what
    return np.eye(CLASSES, dtype=np.float32)[labels].transpose(2, 0, 1)


FAR = np.full((468, 3), 128.0)  # a mesh that takes no place
UPPER = (slice(0, 90), slice(None))
ACROSS = (slice(100, 130), slice(60, 200))


@pytest.mark.parametrize("thing", [HAIR, HAT, BACKGROUND])
def test_hair_hats_and_background_are_not_grown_over(thing):
    crop = np.full((SIZE, SIZE, 3), 180, np.uint8)
    share = face_share(crop, shown(thing, UPPER), FAR)
    assert share[:86].max() < 0.01 and share[95:].min() > 0.99


@pytest.mark.parametrize(("light", "kept"), [(20, True), (170, False)])
def test_dark_glasses_stay_and_clear_ones_are_replaced(light, kept):
    crop = np.full((SIZE, SIZE, 3), 180, np.uint8)
    crop[ACROSS] = light
    share = face_share(crop, shown(GLASSES, ACROSS), FAR)
    assert bool(share[112:118, 100:160].max() < 0.01) is kept


def test_the_face_grows_where_nothing_stays():
    face = np.zeros((SIZE, SIZE), bool)
    face[100:150, 100:150] = True
    stays = np.zeros_like(face)
    stays[:, :100] = True
    share = grown(face, stays, by=6, soft=0)
    assert share[120, 153] == 1 and share[120, 158] == 0 and share[120, 98] == 0


def test_the_parser_names_every_pixel(portrait):
    shares = parser.parse(portrait)
    assert shares.shape == (CLASSES, SIZE, SIZE)
    assert np.allclose(shares.sum(axis=0), 1, atol=1e-4)
    labels = shares.argmax(axis=0)
    assert np.isin(labels[120:180, 100:156], FACE).mean() > 0.9
    assert (labels == HAIR).mean() > 0.05


def test_the_graph_gives_the_numbers_of_torch():
    torch = pytest.importorskip("torch")
    from training.residual import Generator

    from faceveil.models.runtime import Network
    from faceveil.models.torch.residual import Residual

    torch.manual_seed(0)
    net = Residual()
    net.scale.uniform_(0.1, 2.0)
    net.centre.normal_(0, 0.3)
    for parameter in net.parameters():
        torch.nn.init.normal_(parameter, std=0.03)
    weights = {name: value.detach().numpy() for name, value in net.packed().items()}
    code = torch.from_numpy(pool().codes[3][None])
    photo, keep = torch.rand(1, 3, 256, 256) * 2 - 1, torch.rand(1, 1, 256, 256)
    generator = Generator(128)
    with torch.no_grad():
        map_ = generator.start(code)
        expected = generator.finish(map_ + net(photo, keep, map_), code)[0].permute(1, 2, 0).numpy()
    network = Network(residual.build_graph(128, weights))
    (pixels,) = network([code.numpy(), photo.numpy(), keep.numpy()])
    assert np.abs(pixels[0].astype(float) - np.clip(127.5 * expected + 127.5, 0, 255)).max() <= 1.1
