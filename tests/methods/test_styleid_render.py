"""A new face rendered with its photo: what is seen of the photo, what is kept of it, and what is not."""

import cv2
import numpy as np
import pytest

from faceveil.faces import find_faces
from faceveil.faces.detail import matched
from faceveil.faces.joined import joined
from faceveil.faces.light import CELLS, light_of
from faceveil.methods.styleid.measure import measure
from faceveil.methods.styleid.move import FEATURES, with_features
from faceveil.methods.styleid.paste import face_share, glasses_kept, grown
from faceveil.methods.styleid.render import generator, in_photo
from faceveil.methods.styleid.targets import pool
from faceveil.models import parser, residual, segmenter
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


def test_a_new_face_is_told_the_light_of_the_old_one_alone(source, code):
    """Whatever stands where the face is, in the same light the same new face comes out, to the byte."""
    inside = source.share == 1
    other = source.small.copy()
    other[inside] = RNG(0).integers(0, 256, other[inside].shape)
    share = np.where(inside, 1, 0).astype(np.float32)
    one, two = (joined(code, photo, share, source.light, 256) for photo in (source.small, other))
    assert inside.mean() > 0.1 and np.array_equal(one, two)


def test_the_light_is_a_colour_for_each_of_a_few_cells(source):
    """Pixels that change places within a cell leave it as it is: no feature of a face is told."""
    cells = source.small.reshape(CELLS, -1, CELLS, SIZE // CELLS, 3).swapaxes(1, 2)
    mixed = RNG(0).permuted(cells.reshape(CELLS, CELLS, -1, 3), axis=2)
    shuffled = mixed.reshape(CELLS, CELLS, -1, SIZE // CELLS, 3).swapaxes(1, 2).reshape(SIZE, SIZE, 3)
    everywhere = np.ones((SIZE, SIZE), bool)
    assert (shuffled != source.small).mean() > 0.5
    assert np.allclose(light_of(source.small, everywhere), light_of(shuffled, everywhere), atol=1e-2)


def test_the_light_is_that_of_the_skin_and_grey_where_there_is_none(source):
    painted = np.where(source.skin[..., None], source.small, [0, 255, 0]).astype(np.uint8)
    assert np.allclose(light_of(source.small, source.skin), light_of(painted, source.skin), atol=1e-3)
    assert np.allclose(light_of(source.small, np.zeros((SIZE, SIZE), bool)), 127.5)


def test_a_face_is_rendered_in_the_light_it_is_told(source, code):
    inside = source.share == 1
    dark, bright = (
        joined(code, source.small, source.share, scale * source.light, 256) for scale in (0.6, 1.1)
    )
    assert bright[inside].mean() > 1.2 * dark[inside].mean()


@pytest.mark.parametrize("blur", [0, 2])
def test_a_render_is_as_sharp_as_its_photo(source, code, blur):
    photo = cv2.GaussianBlur(source.crop, (0, 0), blur) if blur else source.crop
    render = joined(code, source.small, source.share, source.light, source.alignment.size)
    place = cv2.erode(source.skin.astype(np.uint8), np.ones((9, 9))) > 0
    fine = [fineness(one)[place].mean() for one in (photo, render, matched(render, photo, source.skin))]
    assert abs(fine[2] / fine[0] - 1) < abs(fine[1] / fine[0] - 1)


def fineness(picture: np.ndarray) -> np.ndarray:
    light = cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY).astype(np.float32)
    return np.abs(light - cv2.GaussianBlur(light, (0, 0), 1.4))


def test_what_is_around_it_shows_in_the_same_rendering(source, code):
    """The photo's surroundings are nearer in the joined render than in the code's own."""
    around = source.share == 0
    alone = generator().render(code[None], 256)[0]
    with_it = joined(code, source.small, source.share, source.light, 256)
    far = [np.abs(one[around].astype(int) - source.small[around]).mean() for one in (alone, with_it)]
    assert far[1] < 0.8 * far[0]


def test_the_face_keeps_what_its_code_says(source, code):
    """Another target's features give another face in the same surroundings."""
    inside = source.share == 1
    one = joined(code, source.small, source.share, source.light, 256)
    two = joined(with_features(source, pool().codes[99]), source.small, source.share, source.light, 256)
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


def shown(what: int, where: tuple[slice, slice], skin: int = SKIN, classes: int = CLASSES) -> np.ndarray:
    """A face of skin with one thing before it."""
    labels = np.full((SIZE, SIZE), skin)
    labels[where] = what
    return np.eye(classes, dtype=np.float32)[labels].transpose(2, 0, 1)


def seen(what: int, where: tuple[slice, slice]) -> np.ndarray:
    """The same as the segmenter sees it."""
    return shown(what, where, segmenter.FACE, segmenter.OTHERS + 1)


FAR = np.full((468, 3), 128.0)  # a mesh that takes no place
NOTHING = np.zeros((SIZE, SIZE), bool)
UPPER = (slice(0, 90), slice(None))
ACROSS = (slice(100, 130), slice(60, 200))


@pytest.mark.parametrize("thing", [HAIR, HAT, BACKGROUND])
def test_hair_hats_and_background_are_not_grown_over(thing):
    share = face_share(shown(thing, UPPER), FAR, NOTHING)
    assert share[:86].max() < 0.01 and share[95:].min() > 0.99


@pytest.mark.parametrize(("light", "kept"), [(20, True), (170, False)])
def test_dark_glasses_stay_and_clear_ones_are_replaced(light, kept):
    crop = np.full((SIZE, SIZE, 3), 180, np.uint8)
    crop[ACROSS] = light
    shares = shown(GLASSES, ACROSS)
    share = face_share(shares, FAR, glasses_kept(crop, shares, seen(segmenter.OTHERS, ACROSS))[0])
    assert bool(share[112:118, 100:160].max() < 0.01) is kept


@pytest.mark.parametrize("lens", [segmenter.FACE, segmenter.OTHERS])
def test_the_frame_of_clear_glasses_stays_before_new_eyes(lens):
    """Also where a tinted lens is taken for a thing: it shows the eyes."""
    crop = np.full((SIZE, SIZE, 3), 180, np.uint8)
    parts = seen(segmenter.OTHERS, ACROSS)
    parts[:, 103:127, 63:197] = seen(lens, ACROSS)[:, 103:127, 63:197]
    shares = shown(GLASSES, ACROSS)
    share = face_share(shares, FAR, glasses_kept(crop, shares, parts)[0])
    assert share[112:118, 100:150].min() > 0.99
    assert share[101, 70:190].max() < 0.5 and share[128, 70:190].max() < 0.5


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
