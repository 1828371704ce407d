"""Restoration on a real face: what it undoes, and what it leaves alone."""

import importlib.util
from pathlib import Path

import cv2
import numpy as np
import pytest

from faceveil.evaluation.restore import blur_of, changed_window, pixel_cells, restore

_spec = importlib.util.spec_from_file_location("evaluation_conftest", Path(__file__).with_name("conftest.py"))
photos = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(photos)

WINDOW = (slice(20, 147), slice(25, 136))


@pytest.fixture(scope="module")
def face():
    return np.asarray(cv2.resize(photos.orl(5, 1), None, fx=1.0, fy=1.0), np.uint8)


def with_part(image, change):
    out = image.copy()
    out[WINDOW] = change(np.ascontiguousarray(image[WINDOW]))
    return out


def blurred(size):
    return lambda part: cv2.blur(part, (size, size), borderType=cv2.BORDER_REFLECT)


def pixelated(cells):
    def change(part):
        small = cv2.resize(part, (cells, cells), interpolation=cv2.INTER_AREA)
        return cv2.resize(small, part.shape[1::-1], interpolation=cv2.INTER_NEAREST)

    return change


def error(one, other):
    return np.abs(one[WINDOW].astype(float) - other[WINDOW]).mean()


@pytest.mark.parametrize("size", [7, 15, 31])
def test_the_size_of_a_blur_is_recognised_and_the_blur_undone(face, size):
    hidden = with_part(face, blurred(size))
    assert blur_of(hidden[WINDOW]).size == size
    found = restore(hidden, WINDOW)
    assert (found.undone, found.strength) == ("blur", size)
    assert error(found.image, face) < 0.6 * error(hidden, face)


@pytest.mark.parametrize("cells", [6, 11, 16])
def test_the_grid_of_pixels_is_recognised_and_smoothed(face, cells):
    hidden = with_part(face, pixelated(cells))
    assert pixel_cells(hidden[WINDOW]) == (cells, cells)
    found = restore(hidden, WINDOW)
    assert found.undone == "pixelation" and error(found.image, face) < error(hidden, face)


def test_a_sharp_photo_and_a_solid_cover_are_left_alone(face):
    assert restore(face, WINDOW).undone == "nothing"
    assert restore(with_part(face, np.zeros_like), WINDOW).undone == "nothing"


def test_the_changed_window_is_found_and_outside_nothing_is_touched(face):
    hidden = with_part(face, lambda part: 255 - part // 2)
    rows, columns = changed_window(face, hidden)
    assert abs(rows.start - 20) < 3 and abs(rows.stop - 147) < 3
    assert abs(columns.start - 25) < 3 and abs(columns.stop - 136) < 3
    assert changed_window(face, face) is None
    restored = restore(with_part(face, blurred(9)), WINDOW).image
    outside = np.ones(face.shape[:2], bool)
    outside[WINDOW] = False
    assert (restored[outside] == face[outside]).all()
