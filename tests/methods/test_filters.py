"""The six filters: one contract for all, and the paper's definition of strength checked by independent code."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faceveil.errors import UsageError
from faceveil.faces import Face, find_faces, region
from faceveil.methods import method
from faceveil.methods.filters import FILTERS

RNG = np.random.default_rng
POINTS = np.array([[0.3, 0.4], [0.7, 0.4], [0.5, 0.6], [0.35, 0.8], [0.65, 0.8]])
PHOTO = RNG(1).integers(0, 255, (120, 160, 3), dtype=np.uint8)


def face_in(x0: float, y0: float, x1: float, y1: float) -> Face:
    box = np.array([x0, y0, x1, y1], float)
    return Face(box, box[:2] + POINTS * (box[2:] - box[:2]), 1.0, "test")


FACE = face_in(40, 30, 100, 110)
BOX = (slice(30, 110), slice(40, 100))


@pytest.mark.parametrize("name", sorted(FILTERS))
@settings(max_examples=25, deadline=None)
@given(x=st.floats(-80, 170), y=st.floats(-80, 130), width=st.floats(1, 300), height=st.floats(1, 300))
def test_only_the_region_changes_wherever_the_face_lies(name, x, y, width, height):
    before = PHOTO.copy()
    out, where = method(name).protect(PHOTO, face_in(x, y, x + width, y + height), RNG(0))
    assert np.array_equal(PHOTO, before)
    assert out.shape == PHOTO.shape and out.dtype == np.uint8
    outside = where.full((160, 120)) == 0
    assert np.array_equal(out[outside], PHOTO[outside])


@pytest.mark.parametrize("name", sorted(FILTERS))
def test_the_default_strength_changes_a_real_face_beyond_recognition_of_its_pixels(name, portrait):
    (face,) = find_faces(portrait)
    out, where = method(name).protect(portrait, face, RNG(0))
    inside = where.full((512, 512)) > 0
    assert np.abs(out[inside].astype(int) - portrait[inside]).mean() > 8


@pytest.mark.parametrize("name", sorted(FILTERS))
def test_a_seed_gives_the_same_bytes_again(name):
    one, _ = method(name).protect(PHOTO, FACE, RNG(7))
    other, _ = method(name).protect(PHOTO, FACE, RNG(7))
    assert np.array_equal(one, other)


@pytest.mark.parametrize("name", sorted(FILTERS))
def test_a_filter_claims_nothing(name):
    assert method(name).guarantee.kind == "none"


@pytest.mark.parametrize("k", [1, 2, 3, 8, 17, 50, 200])
def test_blur_is_the_mean_over_k_by_k_pixels(k):
    out, _ = method("blur", strength=k).protect(PHOTO, FACE, RNG(0))
    if k == 1:
        assert np.array_equal(out, PHOTO)
    face = PHOTO[BOX].astype(float)
    low, high = k // 2, (k - 1) // 2
    for row, column in ((40, 30), (39, 29)):  # far enough from the rim for small kernels
        rows, columns = slice(row - low, row + high + 1), slice(column - low, column + high + 1)
        if low <= 29 and face[rows, columns].shape[:2] == (k, k):
            assert np.abs(out[BOX][row, column] - face[rows, columns].mean(axis=(0, 1))).max() < 1


def test_blur_takes_nothing_from_outside_the_box():
    other = np.zeros_like(PHOTO)
    other[BOX] = PHOTO[BOX]
    one, _ = method("blur", strength=31).protect(PHOTO, FACE, RNG(0))
    two, _ = method("blur", strength=31).protect(other, FACE, RNG(0))
    assert np.array_equal(one[BOX], two[BOX])


@pytest.mark.parametrize("k", [1, 4, 5, 20])
def test_pixelate_shows_the_mean_colours_of_k_by_k_cells(k):
    out, _ = method("pixelate", strength=k).protect(PHOTO, FACE, RNG(0))
    assert len(np.unique(out[BOX].reshape(-1, 3), axis=0)) <= k * k
    if 80 % k == 0 and 60 % k == 0:
        cells = PHOTO[BOX].reshape(k, 80 // k, k, 60 // k, 3).mean(axis=(1, 3))
        assert np.abs(out[BOX][:: 80 // k, :: 60 // k] - cells).max() <= 0.51


@pytest.mark.parametrize("k", [1, 25, 50, 99, 100])
def test_noise_replaces_k_percent_of_the_pixels_in_each_channel(k):
    grey = np.full_like(PHOTO, 77)
    out, _ = method("noise", strength=k).protect(grey, FACE, RNG(3))
    wanted = 80 * 60 * k / 100
    for channel in range(3):
        changed = (out[BOX][..., channel] != 77).sum()
        assert abs(changed - wanted * 255 / 256) < 4 * np.sqrt(wanted / 256) + 1  # some draw 77 again
    assert (out[BOX] != 77).any(axis=2).sum() <= round(wanted)


def test_threshold_leaves_black_and_white_by_brightness():
    out, _ = method("threshold", strength=100).protect(PHOTO, FACE, RNG(0))
    luma = PHOTO[BOX] @ [0.299, 0.587, 0.114]
    clear = np.abs(luma - 100) > 1
    assert np.array_equal(out[BOX][..., 0][clear] == 255, luma[clear] > 100)
    assert set(np.unique(out[BOX])) == {0, 255}


@pytest.mark.parametrize("shape", ["face", "box"])
def test_blackout_leaves_no_pixel_of_the_face(shape, portrait):
    (face,) = find_faces(portrait)
    out, where = method("blackout", shape=shape).protect(portrait, face, RNG(0))
    assert not out[where.full((512, 512)) > 0].any()
    points = face.points.round().astype(int)
    assert not out[points[:, 1], points[:, 0]].any()


def test_the_eye_mask_covers_both_eyes_and_not_the_mouth(portrait):
    (face,) = find_faces(portrait)
    out, _ = method("eye-mask").protect(portrait, face, RNG(0))
    eyes, mouth = (
        region("eyes", face, portrait).full((512, 512)),
        region("mouth", face, portrait).full((512, 512)),
    )
    assert not out[eyes > 0].any()
    assert np.array_equal(out[mouth > 0], portrait[mouth > 0])


def test_overlapping_faces_are_both_covered():
    first, second = FACE, face_in(80, 50, 140, 119)
    out, one = method("blackout", shape="box").protect(PHOTO, first, RNG(0))
    out, two = method("blackout", shape="box").protect(out, second, RNG(0))
    assert not out[(one.full((160, 120)) > 0) | (two.full((160, 120)) > 0)].any()


@pytest.mark.parametrize(
    ("name", "options", "reason"),
    [
        ("magic", {}, "blackout, eye-mask"),
        ("blackout", {"strength": 3}, "no strength"),
        ("noise", {"strength": 101}, "from 1 to 100"),
        ("blur", {"strength": 0}, "from 1"),
        ("threshold", {"strength": -1}, "from 0 to 255"),
        ("eye-mask", {"shape": "box"}, "shape of its own"),
        ("blur", {"shape": "star"}, "box or the face"),
    ],
)
def test_what_a_filter_cannot_do_is_refused_with_the_rule(name, options, reason):
    with pytest.raises(UsageError, match=reason):
        method(name, **options)


def test_blackout_covers_the_shape_of_the_face():
    assert method("blackout").region_name == "face-shape"
