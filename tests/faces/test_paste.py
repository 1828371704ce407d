"""Paste: what is outside the mask is untouched, to the bit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faceveil.errors import UsageError
from faceveil.faces import Alignment, align_ffhq, find_faces, paste, region

rng = np.random.default_rng(3)
CANVAS = rng.integers(0, 255, (90, 120, 3), dtype=np.uint8)
CROP = rng.integers(0, 255, (64, 64, 3), dtype=np.uint8)
DISC = (np.hypot(*(np.mgrid[:64, :64] - 31.5)) < 24).astype(np.uint8) * 255


def alignment(degrees: float, scale: float, x: float, y: float) -> Alignment:
    """The crop's middle at x, y of the photo, one photo pixel being `scale` crop pixels."""
    c, s = scale * np.cos(np.radians(degrees)), scale * np.sin(np.radians(degrees))
    turn = np.array([[c, s], [-s, c]])
    return Alignment(np.hstack([turn, (32 - turn @ [x, y])[:, None]]), 64)


@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from(["feather", "gradient"]),
    st.floats(-180, 180), st.floats(0.4, 6), st.floats(-60, 180), st.floats(-60, 150),
)  # fmt: skip
def test_pixels_outside_the_mask_are_bit_identical(blend, degrees, scale, x, y):
    where = alignment(degrees, scale, x, y)
    out = paste(CANVAS, CROP, where, DISC, blend)
    rows, columns = np.mgrid[:90, :120]
    distance = np.hypot(columns + 0.5 - x, rows + 0.5 - y)
    untouched = (
        distance > 24 / scale + 2 / scale + 2
    )  # bilinear placing reaches one crop or photo pixel further
    assert out.shape == CANVAS.shape
    assert np.array_equal(out[untouched], CANVAS[untouched])


def test_the_input_is_not_changed():
    before = CANVAS.copy()
    paste(CANVAS, CROP, alignment(10, 1, 60, 45), DISC)
    assert np.array_equal(CANVAS, before)


def test_inside_the_mask_stands_the_crop():
    out = paste(CANVAS, CROP, alignment(0, 1, 60, 45), DISC, feather=0)
    assert np.array_equal(out[45 - 10 : 45 + 10, 60 - 10 : 60 + 10], CROP[22:42, 22:42])


@pytest.mark.parametrize("blend", ["feather", "gradient"])
def test_a_face_pasted_onto_itself_shows_no_seam(portrait, blend):
    (face,) = find_faces(portrait)
    where = align_ffhq(face, 512)
    mask = where.crop(region("face-shape", face, portrait).full((512, 512)))
    out = paste(portrait, where.crop(portrait), where, mask, blend)
    assert np.abs(out.astype(int) - portrait).mean() < 2


def test_gradient_blending_takes_the_colour_of_its_surroundings():
    bright = np.full((200, 200, 3), 200, np.uint8)
    crop = np.full((64, 64, 3), 40, np.uint8)
    where = Alignment(np.array([[1.0, 0, -68], [0, 1.0, -68]]), 64)
    assert paste(bright, crop, where, DISC, "gradient")[100, 100].min() > 190
    assert paste(bright, crop, where, DISC, "feather")[100, 100].max() == 40


def test_a_mask_without_pixels_changes_nothing():
    out = paste(CANVAS, CROP, alignment(0, 1, 60, 45), np.zeros((64, 64), np.uint8))
    assert np.array_equal(out, CANVAS)


def test_an_unknown_blend_is_refused():
    with pytest.raises(UsageError, match="feather and gradient"):
        paste(CANVAS, CROP, alignment(0, 1, 60, 45), DISC, "magic")
