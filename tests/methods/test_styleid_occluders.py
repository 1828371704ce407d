"""What stands before a face keeps its pixels, and what is face does not."""

import cv2
import numpy as np
import pytest

from faceveil.faces import align_ffhq, find_faces, with_mesh
from faceveil.faces.face import Face
from faceveil.faces.regions import LEFT_EYE, LIPS, NOSE, OVAL, RIGHT_EYE
from faceveil.methods.styleid.measure import measure
from faceveil.methods.styleid.occluders import INNER, outline, with_occluders
from faceveil.methods.styleid.paste import STAYS, face_share
from faceveil.models import parser, segmenter
from faceveil.models.parser import CLASSES, CLOTH, GLASSES, HAIR, NECK, SIZE, SKIN

SMALL = SIZE * 2
NOTHING = np.zeros((SIZE, SIZE), bool)


@pytest.fixture(scope="module")
def aligned(portrait):
    """A face that nothing stands before, as a photo of its own, and its mesh."""
    face = with_mesh(portrait, find_faces(portrait))[0]
    alignment = align_ffhq(face, SMALL)
    return alignment.crop(portrait), alignment.points_to_crop(face.mesh[:, :2])


def cup(photo, mesh):
    """A dark cup with a rim and a shade, before mouth and chin."""
    (x, y), width = mesh[LIPS].mean(axis=0), np.ptp(mesh[OVAL, 0])
    place, centre = np.zeros((SMALL, SMALL), np.uint8), (round(x), round(y + 0.15 * width))
    cv2.rectangle(
        place, (round(x - 0.27 * width), round(y - 0.02 * width)), (round(x + 0.27 * width), SMALL), 1, -1
    )
    shade = np.linspace(40, 110, SMALL)[None, :, None] * np.array([0.5, 0.6, 1.0])
    photo = np.where(place[..., None] > 0, np.broadcast_to(shade, photo.shape), photo).astype(np.uint8)
    cv2.circle(photo, centre, round(0.08 * width), (230, 230, 220), -1)
    return photo, place


def mask(photo, mesh):
    """A folded mask before the lower face."""
    place = outline_at(mesh).astype(np.uint8)
    place[: round(mesh[1, 1])] = 0
    folds = 200 + 25 * np.cos(np.arange(SMALL) / 9)[:, None, None] * np.array([0.9, 1.0, 1.0])
    return np.where(place[..., None] > 0, np.broadcast_to(folds, photo.shape), photo).astype(np.uint8), place


def share_of(photo):
    found = measure(photo, find_faces(photo)[0], ())
    assert found is not None
    mask = cv2.resize(found.share, (found.alignment.size,) * 2, interpolation=cv2.INTER_LINEAR)
    return cv2.warpAffine(mask, found.alignment.to_photo, photo.shape[1::-1])


@pytest.mark.parametrize("thing", [cup, mask])
def test_what_stands_before_a_face_keeps_its_pixels(aligned, thing):
    photo, place = thing(*aligned)
    within = cv2.erode(place, np.ones((7, 7))) > 0
    before = outline_at(aligned[1]) & within
    share = share_of(photo)
    assert before.sum() > 2000
    assert share[before].mean() < 0.05
    clear = outline_at(aligned[1], INNER) & (cv2.dilate(place, np.ones((25, 25))) == 0)
    assert (share[clear] < 0.5).mean() < 0.01


def outline_at(mesh, scale=1.0):
    return cv2.resize(outline(mesh / 2, scale).astype(np.uint8), (SMALL, SMALL)) > 0


def test_a_face_with_nothing_before_it_is_replaced_as_a_whole(aligned):
    photo, mesh = aligned
    share = share_of(photo)
    assert (share[outline_at(mesh, INNER)] < 0.5).mean() < 0.01
    for feature in (LEFT_EYE, RIGHT_EYE, NOSE, LIPS):
        place = cv2.fillConvexPoly(
            np.zeros((SMALL, SMALL), np.uint8), cv2.convexHull(np.rint(mesh[feature]).astype(np.int32)), 1
        )
        assert share[place > 0].min() > 0.9


def labelled(names: dict[str, int], count: int, everywhere: int) -> np.ndarray:
    """Shares of a made-up face: a square around the mesh, with bands of what is named."""
    labels = np.full((SIZE, SIZE), everywhere)
    for rows, what in names.items():
        first, last = (int(row) for row in rows.split("-"))
        labels[first:last, 60:196] = what
    return np.eye(count, dtype=np.float32)[labels].transpose(2, 0, 1)


MESH = np.full((468, 3), 128.0)
MESH[OVAL, :2] = 128 + 60 * np.stack(
    [np.cos(np.linspace(0, 6.2, len(OVAL))), np.sin(np.linspace(0, 6.2, len(OVAL)))], 1
)


def joined(seen: dict[str, int], shown: dict[str, int] | None = None) -> np.ndarray:
    parts = labelled(seen, 6, segmenter.FACE)
    return with_occluders(labelled(shown or {}, CLASSES, SKIN), parts, MESH).argmax(axis=0)


@pytest.mark.parametrize("thing", [segmenter.BODY, segmenter.CLOTHES, segmenter.OTHERS, segmenter.HAIR])
def test_what_the_segmenter_sees_before_skin_stays(thing):
    assert np.isin(joined({"120-150": thing})[120:150, 80:170], STAYS).all()


def test_a_mask_that_the_parser_takes_for_glasses_stays():
    assert (joined({"140-180": segmenter.OTHERS}, {"140-180": GLASSES})[140:180, 80:170] == CLOTH).all()


def test_the_neck_is_no_hand():
    assert (joined({"220-256": segmenter.BODY}, {"200-256": SKIN})[225:, 60:196] == NECK).all()


def test_brows_are_no_strands():
    assert (joined({"90-100": segmenter.HAIR}, {"90-100": parser.BROWS[0]})[90:100, 60:196] != HAIR).all()


def test_a_segmenter_that_sees_no_face_there_is_not_believed():
    shares = labelled({}, CLASSES, SKIN)
    parts = labelled({}, 6, segmenter.OTHERS)
    assert np.array_equal(with_occluders(shares, parts, MESH), shares)


def test_a_face_taken_for_background_by_the_parser_alone_is_replaced():
    named = joined({}, {"100-150": parser.BACKGROUND})
    share = face_share(np.eye(CLASSES, dtype=np.float32)[named].transpose(2, 0, 1), MESH, NOTHING)
    assert share[outline(MESH, 0.7)].min() > 0.99


def test_a_face_at_the_photo_s_edge_is_not_told_by_its_mirror_image(aligned):
    """A photo cut close around a face: beyond its edge there is another one in the crop that is rendered."""
    photo, mesh = aligned
    left, top = np.maximum(mesh[OVAL].min(axis=0).astype(int) - 8, 0)
    right, bottom = mesh[OVAL].max(axis=0).astype(int) + 8
    close = np.ascontiguousarray(photo[top:bottom, left:right])
    face = find_faces(photo)[0]
    shift = np.array([left, top])
    found = measure(
        close, Face(face.box_xyxy - np.tile(shift, 2), face.points - shift, face.score, face.detector), ()
    )
    assert found is not None
    middle = outline(found.mesh * (SIZE / found.alignment.size), INNER)
    assert (found.share[middle] < 0.5).mean() < 0.01
