"""Sharpness: what is sharper than the limit is blurred, and no further than needed."""

import cv2
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from faceveil.faces.sharpness import SIGMAS, detail, no_sharper

WHERE = np.ones((64, 64), bool)


@given(st.integers(0, 2**32 - 1), st.floats(0.5, 40))
def test_the_result_has_no_more_detail_than_allowed_and_no_less_than_needed(seed, limit):
    crop = np.random.default_rng(seed).integers(0, 256, (64, 64, 3), dtype=np.uint8)
    out = no_sharper(crop, limit, WHERE)
    heaviest = cv2.GaussianBlur(crop, (0, 0), SIGMAS[-1])
    assert detail(out, WHERE) <= limit + 0.5 or np.array_equal(out, heaviest)
    if detail(crop, WHERE) <= limit:
        assert np.array_equal(out, crop)


def test_a_blurred_photo_asks_for_about_its_own_blur():
    rng = np.random.default_rng(0)
    sharp, other = (
        cv2.GaussianBlur(rng.integers(0, 256, (64, 64, 3), dtype=np.uint8), (0, 0), 0.6) for _ in "ab"
    )
    soft = cv2.GaussianBlur(sharp, (0, 0), 1.6)
    out = no_sharper(other, detail(soft, WHERE), WHERE)
    assert 0.6 * detail(soft, WHERE) < detail(out, WHERE) <= detail(soft, WHERE) + 0.5


def test_an_empty_region_blurs_nothing():
    crop = np.zeros((8, 8, 3), np.uint8)
    assert np.array_equal(no_sharper(crop, 0.0, np.zeros((8, 8), bool)), crop)
