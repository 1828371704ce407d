"""A group's face joined with a photo: what enters it, what stays, and that nothing else of the old face does."""

import cv2
import numpy as np
import pytest

from faceveil.faces import align_ffhq, find_faces
from faceveil.faces.put_in import Member, put_in, replaced
from faceveil.methods.joined import codes_of_pictures, seen_of
from faceveil.models.parser import FACE, HAIR, SIZE, parse
from faceveil.photos import read_photo

RNG = np.random.default_rng


@pytest.fixture(scope="module")
def small(portrait):
    return portrait[::2, ::2].copy()


@pytest.fixture(scope="module")
def codes(examples):
    """Of two people who do not exist."""
    crops = []
    for number in (3, 5):
        image = read_photo(examples / f"portrait-{number}.jpg").pixels
        crops.append(align_ffhq(find_faces(image)[0], SIZE).crop(image))
    return codes_of_pictures(np.array(crops)).astype(np.float32)


def member(image, code, number=0):
    places = [align_ffhq(face, SIZE) for face in faces_of(image)]
    others = [place for place in places if place is not places[number]]
    return Member(places[number], code, seen_of(image, faces_of(image)[number], places[number], others))


def faces_of(image):
    return sorted(find_faces(image), key=lambda face: face.centre[0])


def wholly(image, one):
    """Where the new face alone is seen."""
    return replaced(image, [one])[..., 0] == 255


def test_nothing_of_the_old_face_enters_but_what_was_seen_of_it(small, codes):
    """Whatever stands in its place, the same bytes come out."""
    one = member(small, codes[0])
    within = wholly(small, one)
    noise = small.copy()
    noise[within] = RNG(0).integers(0, 256, noise[within].shape)
    out, other = (put_in(photo, [one])[0] for photo in (small, noise))
    assert within.mean() > 0.1 and not np.array_equal(out[within], small[within])
    deep = cv2.erode(within.astype(np.uint8), np.ones((5, 5))) > 0  # at the rim both are mixed
    assert np.array_equal(out[deep], other[deep])


def test_a_new_face_is_drawn_with_what_is_around_it(small, codes):
    """Where nothing were joined, it would be the same in another light and beside other hair."""
    one = member(small, codes[0])
    beside = replaced(small, [one])[..., 0] == 0
    dyed = small.copy()
    dyed[beside] = dyed[beside][:, ::-1]  # red and blue change places
    dark = (small * 0.45).astype(np.uint8)
    shown = wholly(small, one)
    plain = put_in(small, [one])[0][shown].astype(float)
    in_the_dark = put_in(dark, [member(dark, codes[0])])[0]
    assert np.abs(put_in(dyed, [one])[0][shown] - plain).mean() > 0.5
    assert in_the_dark[wholly(dark, member(dark, codes[0]))].mean() < 0.6 * plain.mean()
    assert np.abs(plain.mean(axis=0) - small[shown].mean(axis=0)).max() < 25  # the member's own tone


def test_the_group_s_face_is_what_is_drawn(small, codes):
    one, other = (member(small, code) for code in codes)
    shown = wholly(small, one)
    assert np.abs(put_in(small, [one])[0][shown] - put_in(small, [other])[0][shown].astype(float)).mean() > 6


def test_hair_and_all_beside_the_outline_keep_their_pixels(small, codes):
    one = member(small, codes[0])
    out, (where,) = put_in(small, [one])
    outside = where.full(small.shape[:2]) == 0
    assert np.array_equal(out[outside], small[outside])
    labels = parse(one.place.crop(small)).argmax(axis=0)
    assert one.seen.outline[np.isin(labels, FACE)].mean() > 0.98
    assert one.seen.outline[labels == HAIR].mean() < 0.1


def test_no_face_is_drawn_with_another_original_in_view(small, codes):
    both = np.hstack([small, small[:, ::-1]])
    one, other = (member(both, code, number) for number, code in enumerate(codes))
    noise = both.copy()
    within = wholly(both, other)
    noise[within] = RNG(1).integers(0, 256, noise[within].shape)
    shown = wholly(both, one)
    out, again = (put_in(photo, [one, other])[0][shown] for photo in (both, noise))
    assert np.array_equal(out, again)


def test_a_face_without_any_that_the_parser_sees_is_replaced_all_the_same(small, codes, monkeypatch):
    nothing = np.zeros((19, SIZE, SIZE), np.float32)
    nothing[0] = 1
    monkeypatch.setattr("faceveil.methods.joined.parse", lambda _: nothing)
    one = member(small, codes[0])
    x, y = one.place.points_to_crop(faces_of(small)[0].points).astype(int).T
    assert one.seen.outline[y, x].all()
