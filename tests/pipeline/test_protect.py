"""Faces that overlap: nearer ones end on top, and what lies within a replaced face is replaced with it."""

from dataclasses import replace

import numpy as np
import pytest

from faceveil import Settings, method
from faceveil.faces import Face, Region, detect
from faceveil.photos import Photo
from faceveil.pipeline import survey
from faceveil.pipeline.protect import Protected, protect_faces

BOXES = Settings(method=method("blackout", shape="box"))
GROUND = np.full((300, 400, 3), 90, np.uint8)


def face(*box: float) -> Face:
    corner, size = np.array(box[:2], float), np.array(box[2:], float) - box[:2]
    points = corner + size * [[0.3, 0.4], [0.7, 0.4], [0.5, 0.6], [0.3, 0.8], [0.7, 0.8]]
    return Face(np.array(box, float), points, 0.99, "test")


LARGE, WITHIN = face(100, 100, 200, 220), face(155, 140, 175, 165)


@pytest.fixture
def second(monkeypatch):
    """What the second detector sees, look by look."""
    looks: list[list[Face]] = []
    monkeypatch.setitem(detect.FOR_BOXES, "blazeface", lambda image, thorough: looks.pop(0) if looks else [])
    return looks


def painted(faces: list[Face], part: slice = slice(None)) -> tuple[Protected, list[float]]:
    """Each face painted in the number of pixels that it is wide, and in which order; `part` are rows of its box."""
    order = []

    def protect(image, one):
        left, top, right, bottom = one.box_xyxy.astype(int)
        rows = range(top, bottom)[part]
        mask = np.full((len(rows), right - left), 255, np.uint8)
        out = image.copy()
        out[rows.start : rows.stop, left:right] = right - left
        order.append(right - left)
        return out, Region(mask, left, rows.start)

    return protect_faces(Photo(GROUND), faces, BOXES, protect), order


@pytest.mark.parametrize("right_to_left", [False, True])
def test_a_nearer_face_ends_on_top_of_its_neighbours(second, right_to_left):
    neighbours = [face(60, 110, 110, 170), face(190, 110, 220, 150)]
    result, order = painted([LARGE, *neighbours][:: -1 if right_to_left else 1])
    assert order == [30, 50, 100]
    assert (result.photo.pixels[100:220, 100:200] == 100).all()
    assert (result.photo.pixels[115:145, 205:215] == 30).all()


def test_a_nearer_face_ends_on_top_of_one_that_only_the_second_detector_sees(second):
    second += [[face(190, 110, 220, 150)]]
    result, order = painted([LARGE])
    assert order == [100, 30, 100] and result.found_late == 1
    assert (result.photo.pixels[100:220, 100:200] == 100).all()


def test_a_face_within_another_is_replaced_with_it(second):
    """A reflection in sunglasses leaves no mark of its own on the new face."""
    second += [[WITHIN]]  # nor does what the second detector takes for one there
    result, order = painted([WITHIN, LARGE])
    assert order == [100] and result.found_late == 0
    assert (result.photo.pixels[100:220, 100:200] == 100).all()


def test_a_face_within_another_is_replaced_by_itself_where_the_method_leaves_it(second):
    """A bar over the eyes does not cover a face that is printed on a mask."""
    result, order = painted([LARGE, WITHIN], part=slice(0, 20))
    assert order == [100, 20, 100] and result.faces == 2
    assert (result.photo.pixels[140:160, 155:175] == 20).all()


def test_the_second_detector_s_face_within_another_counts_where_the_method_leaves_it(second):
    second += [[WITHIN]]
    result, order = painted([LARGE], part=slice(0, 20))
    assert order == [100, 20, 100] and result.found_late == 1


def test_a_face_around_a_known_one_is_not_taken_for_it(second):
    second += [[LARGE]]
    result, order = painted([WITHIN])
    assert order == [20, 100] and result.found_late == 1


def test_a_set_replaces_a_face_within_another_with_it(monkeypatch):
    """Put in as one of a group, it would be hidden under the larger one and stop the photo."""
    away = face(300, 20, 340, 70)
    found = {"yunet": [LARGE, WITHIN, away], "blazeface": []}
    monkeypatch.setattr(survey, "find_in_photo", lambda photo, name, **options: list(found[name]))
    everything = Settings(method=method("k-same-pixel", k=2))
    assert survey.faces_of(Photo(GROUND), everything) == ([away, LARGE], 0)
    one_by_one = replace(BOXES, method=method("styleid"))
    assert survey.faces_of(Photo(GROUND), one_by_one) == ([WITHIN, away, LARGE], 0)
