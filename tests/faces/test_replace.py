"""Replacing a face: nothing of it stays, the same picture is the same for all, and what was put in is known again."""

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faceveil.faces import Alignment, Face, align_ffhq, find_faces, region
from faceveil.faces.crops import aligned_face
from faceveil.faces.fill import filled
from faceveil.faces.inner import inner_mask, inner_outline
from faceveil.faces.person_only import person_only
from faceveil.faces.regions import face_outline, polygon
from faceveil.faces.replace import (
    checked_mask,
    cover_face,
    is_checkable,
    is_replaced,
    replace_face,
    visible_inner,
)
from faceveil.models.segmenter import person_mask


@pytest.fixture(scope="module")
def face(portrait) -> Face:
    return find_faces(portrait)[0]


@pytest.fixture(scope="module")
def picture(examples) -> np.ndarray:
    """Another person, aligned."""
    from faceveil.photos import read_photo

    other = read_photo(examples / "portrait-5.jpg").pixels
    return align_ffhq(find_faces(other)[0], 256).crop(other)


def test_nothing_of_the_face_remains(portrait, face, picture):
    """Whatever the face's own pixels were, the result is the same there."""
    covered = region("whole-face", face, portrait).full((512, 512)) > 0
    noise = np.random.default_rng(0).integers(0, 256, portrait.shape, dtype=np.uint8)
    without = np.where(covered[..., None], noise, portrait)
    cut = align_ffhq(face, 256)
    one, where = replace_face(portrait, face, picture, cut)
    two, _ = replace_face(without, face, picture, cut)
    assert np.array_equal(one[covered], two[covered])
    assert (where.full((512, 512))[covered] == 255).all()
    assert not np.array_equal(one[covered], portrait[covered])


def test_pixels_outside_the_region_keep_their_values(portrait, face, picture):
    out, where = replace_face(portrait, face, picture, align_ffhq(face, 256))
    untouched = where.full((512, 512)) == 0
    assert np.array_equal(out[untouched], portrait[untouched]) and untouched.mean() > 0.2


def test_the_inner_face_is_the_picture_itself(portrait, face, picture):
    """At the picture's own scale and upright, every inner pixel is its person's, whatever photo it is put in."""
    cut = Alignment(np.array([[1.0, 0, -100], [0, 1, -120]]), 256)
    out, _ = replace_face(portrait, face, picture, cut)
    inner = inner_mask(256) > 0
    assert np.array_equal(out[120:376, 100:356][inner], alone(picture)[inner])


def test_what_was_behind_the_picture_s_person_is_not_put_in(portrait, face, picture):
    """A screaming green behind a face that is much narrower than the head it is put on."""
    narrow, green = _on_green(picture, width=0.7)
    cut = align_ffhq(face, 256)
    out, where = replace_face(portrait, face, narrow, cut)
    changed = where.full((512, 512)) > 0
    assert (_greenness(narrow)[green & (inner_mask(256) > 0)] > 150).sum() > 500  # it would have been
    assert (_greenness(out)[changed] > 40).mean() < 0.002


def test_the_face_itself_stays_as_it_was_drawn(picture):
    """Eyes, nose and mouth are the picture's; also where the segmenter sees nobody."""
    kept = np.s_[100:200, 96:160]
    assert np.array_equal(alone(picture)[kept], picture[kept])
    flat = np.full_like(picture, 90)
    assert np.array_equal(alone(flat), flat)


def alone(picture: np.ndarray) -> np.ndarray:
    """The picture's person, as it is put in."""
    return person_only(picture, aligned_face(picture))


def test_an_earring_is_not_put_in(picture):
    """A dark spot beside the jaw, outside the inner face, becomes the skin next to it."""
    hung = picture.copy()
    cv2.ellipse(hung, (60, 175), (5, 14), 0, 0, 360, (15, 10, 10), cv2.FILLED)
    spot = np.zeros((256, 256), np.uint8)
    cv2.ellipse(spot, (60, 175), (5, 14), 0, 0, 360, 1, cv2.FILLED)
    dark = alone(hung)[(spot > 0) & (inner_mask(256) == 0)].max(axis=1) < 60
    assert dark.mean() < 0.05


def test_beyond_the_face_s_end_nothing_of_the_picture_is_seen(portrait, face, picture):
    """The rim that is covered for safety is filled from around it, and does not make the head wider."""
    cut = align_ffhq(face, 256)
    inner = cut.points_to_photo(inner_outline() * 256)
    end = polygon([face_outline(face), inner], portrait).full((512, 512))
    far = cv2.dilate(end, cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (27, 27))) == 0
    rim = far & (region("whole-face", face, portrait).full((512, 512)) > 0)
    one, two = (replace_face(portrait, face, some, cut)[0] for some in (picture, 255 - picture))
    assert rim.sum() > 300 and np.array_equal(one[rim], two[rim])


def test_a_hole_takes_the_colours_next_to_it():
    """A red frame around the hole, and blue beyond: near its rim the hole is red, and not a mean of all around."""
    framed = np.full((64, 64, 3), (0, 0, 200), np.uint8)
    framed[9:54, 7:58] = (200, 0, 0)
    hole = np.zeros((64, 64), bool)
    hole[13:50, 11:54] = True
    full = filled(framed, hole, framed)
    assert full[32, 14, 0] > 150 and full[32, 51, 0] > 150
    assert np.array_equal(full[~hole], framed[~hole])


def _on_green(picture: np.ndarray, width: float) -> tuple[np.ndarray, np.ndarray]:
    """The person made narrower, before green; and where the green is."""
    person = (person_mask(picture) > 0.5).astype(np.uint8)
    squeeze = np.array([[width, 0, 128 * (1 - width)], [0, 1, 0]])
    narrow, person = (cv2.warpAffine(part, squeeze, (256, 256)) for part in (picture, person))
    green = cv2.erode(person, np.ones((5, 5), np.uint8)) == 0
    return np.where(green[..., None], np.array([0, 255, 0], np.uint8), narrow), green


def _greenness(image: np.ndarray) -> np.ndarray:
    parts = image.astype(int)
    return parts[..., 1] - parts[..., [0, 2]].max(axis=-1)


def test_a_replaced_face_is_known_again_and_another_is_not(portrait, face, picture):
    cut = align_ffhq(face, 256)
    wide = np.hstack([portrait, portrait])
    out, _ = replace_face(wide, face, picture, cut)
    known = [is_replaced(found, [cut]) for found in find_faces(out)]
    assert sorted(known) == [False, True]
    assert not is_replaced(Face(np.array([0.0, 0, 2000, 2000]), face.points, 1, "x"), [cut])


@settings(max_examples=30, deadline=None)
@given(
    x=st.floats(-400, 900), y=st.floats(-400, 900), side=st.floats(3, 900), turn=st.floats(-180, 180)
)  # fmt: skip
def test_any_place_in_or_out_of_the_photo_is_possible(portrait, face, picture, x, y, side, turn):
    angle, zoom = np.radians(turn), 256 / side
    rotation = zoom * np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    cut = Alignment(np.hstack([rotation, (128 - rotation @ [x, y])[:, None]]), 256)
    out, where = replace_face(portrait, face, picture, cut)
    assert out.shape == portrait.shape and where.full((512, 512)).any()


def test_what_lies_under_a_later_face_or_out_of_the_frame_is_not_seen(face):
    cut = align_ffhq(face, 256)
    away = Alignment(cut.to_crop + np.array([[0, 0, 300], [0, 0, 0]]), 256)
    first, last = visible_inner([cut, cut], (512, 512), 64)
    assert not first.any() and not is_checkable(first) and is_checkable(last)
    assert visible_inner([cut, away], (512, 512), 64)[0].sum() == last.sum()
    assert not is_checkable(visible_inner([away], (100, 100), 64)[0])


def test_a_covered_face_is_black_wherever_it_or_a_replacement_would_be(portrait, face):
    cut = align_ffhq(face, 256)
    out, where = cover_face(portrait, face, cut)
    black = where.full((512, 512)) > 0
    assert (out[black] == 0).all() and np.array_equal(out[~black], portrait[~black])
    assert black[region("whole-face", face, portrait).full((512, 512)) > 0].all()
    assert (cut.crop(out)[checked_mask(256)] == 0).all()


def test_the_picture_fits_the_head_it_is_put_on(portrait, face, picture):
    """Its own outline, wider or narrower, comes to lie on the outline of the face that was there."""
    from faceveil.faces.regions import whole_outline

    out, _ = replace_face(portrait, face, picture, align_ffhq(face, 256))
    (put_in,) = find_faces(out)
    gap = np.abs(np.ptp(whole_outline(put_in), axis=0) - np.ptp(whole_outline(face), axis=0))
    assert (gap < 0.1 * np.array(face.size_wh)).all()
