"""Faces in photos that are turned, cut, pale, dark, grainy, striped or negative; clear photos are let be."""

import numpy as np
import pytest

from faceveil.faces import detect, find_faces
from faceveil.faces.boxes import iou
from faceveil.faces.clearer import clearer
from faceveil.methods import method
from faceveil.photos import Photo
from faceveil.pipeline.protect import protect_photo
from faceveil.pipeline.settings import Settings


@pytest.fixture(scope="module")
def small(portrait):
    return np.ascontiguousarray(portrait[::2, ::2])


@pytest.fixture(scope="module")
def box(small):
    return find_faces(small)[0].box_xyxy


def grainy(image):
    grain = np.random.default_rng(3).normal(0, 75, image.shape)
    return np.clip(image + grain, 0, 255).astype(np.uint8)


HARD = {
    "pale": lambda image: (120 + image * (10 / 255)).astype(np.uint8),
    "dark": lambda image: (image * (8 / 255)).astype(np.uint8),
    "grainy": grainy,
    "negative": lambda image: 255 - image,
    "striped": lambda image: np.where((np.arange(len(image)) % 5 < 2)[:, None, None], image // 8, image),
}


@pytest.mark.parametrize("mesh", [True, False])
@pytest.mark.parametrize("how", sorted(HARD))
def test_a_face_in_a_hard_photo_is_found_where_it_is(small, box, how, mesh):
    found = find_faces(HARD[how](small), mesh=mesh)
    assert len(found) == 1 and iou(found[0].box_xyxy[None], box[None])[0, 0] > 0.6


@pytest.mark.parametrize("quarters", [1, 2, 3])
def test_a_face_on_its_side_or_head_is_found_with_its_tilt_and_in_a_box_as_it_lies(portrait, quarters):
    turned = np.ascontiguousarray(np.rot90(portrait, -quarters))
    (face,) = find_faces(turned)
    assert abs((face.roll - 90 * quarters + 180) % 360 - 180) < 8
    width, height = face.size_wh
    assert (width > height) == (quarters != 2)


@pytest.mark.parametrize("quarters", [1, 2, 3])
def test_a_photo_searched_turned_gives_faces_in_its_own_coordinates(portrait, quarters):
    upright = find_faces(portrait, "blazeface")[0]
    turned = np.ascontiguousarray(np.rot90(portrait, -quarters))
    known = [face.box_xyxy for face in find_faces(turned, "blazeface")]
    assert find_faces(turned, "blazeface", besides=known, quarters=[quarters]) == []
    view = detect.quarter_turned(turned, quarters)
    assert np.array_equal(view.pixels, portrait)
    assert np.allclose(
        view.to_photo(upright.points) @ view.to_view[:, :2].T + view.to_view[:, 2], upright.points
    )


@pytest.mark.parametrize("mesh", [True, False])
def test_two_fifths_of_a_face_at_the_frame_are_found(small, box, mesh):
    left = round(box[2] - 0.4 * (box[2] - box[0]))
    found = find_faces(np.ascontiguousarray(small[:, left:]), mesh=mesh)
    assert len(found) == 1 and found[0].box_xyxy[0] < 1


def test_clear_photos_are_searched_once(portrait, wall):
    assert clearer(portrait) is None and clearer(wall) is None


@pytest.mark.parametrize("size", [(1, 1), (2, 400), (40, 2)])
def test_what_is_too_small_to_measure_is_no_fault(size):
    find_faces(np.full((*size, 3), 9, np.uint8), mesh=False)


def test_a_thorough_scan_asks_a_third_detector(small, monkeypatch):
    seen = find_faces(small)
    monkeypatch.setitem(detect.DETECTORS, "yunet", lambda image, thorough: [])
    monkeypatch.setitem(detect.DETECTORS, "centerface", lambda image, thorough: seen)
    assert find_faces(small) == [] and find_faces(small, thorough=True) == seen


@pytest.mark.parametrize("name", ["blackout", "blur", "styleid"])
def test_a_portrait_on_its_side_is_protected(portrait, name):
    turned = np.ascontiguousarray(np.rot90(portrait, -1))
    (face,) = find_faces(turned)
    done = protect_photo(Photo(turned), Settings(method=method(name)), np.random.default_rng(1))
    x0, y0, x1, y1 = np.rint(face.box_xyxy).astype(int)
    changed = (done.photo.pixels != turned).any(axis=2)[y0:y1, x0:x1]
    assert done.faces == 1 and changed[changed.shape[0] // 4 : -changed.shape[0] // 4].mean() > 0.8


def test_where_one_face_lies_the_second_detector_looks_at_the_turned_result(portrait, monkeypatch):
    asked = []
    blaze = detect.DETECTORS["blazeface"]
    monkeypatch.setitem(
        detect.DETECTORS, "blazeface", lambda image, thorough: asked.append(image) or blaze(image, thorough)
    )
    turned = np.ascontiguousarray(np.rot90(portrait, -1))
    done = protect_photo(Photo(turned), Settings(method=method("blackout")), np.random.default_rng(1))
    assert any(np.array_equal(image, np.rot90(done.photo.pixels)) for image in asked)
