"""What networks read in a face of a photo; tests/spaces has the same for aligned crops."""

from dataclasses import replace

import numpy as np
import pytest

from faceveil.errors import UsageError
from faceveil.faces import align_ffhq, find_faces, with_mesh
from faceveil.faces.attributes import (
    FFHQ_BOX,
    FFHQ_POINTS,
    attribute_names,
    attribute_vector,
    attributes,
    face_at,
)
from faceveil.methods.styleid.looks import face_in_crop
from faceveil.models.attributes import EXPRESSIONS
from faceveil.photos import read_photo


@pytest.fixture(scope="module")
def face(portrait):
    return find_faces(portrait)[0]


def test_the_space_holds_labels_and_expressions_from_0_to_1(portrait, face) -> None:
    names, values = attribute_names(), attribute_vector(portrait, face)
    assert len(names) == len(set(names)) == len(values)
    assert names[-len(EXPRESSIONS) :] == tuple(f"expression {name}" for name in EXPRESSIONS)
    assert ((values >= 0) & (values <= 1)).all()
    assert values[-len(EXPRESSIONS) :].sum() == pytest.approx(1, abs=0.05)


def test_names_choose_and_order_the_columns(portrait, face) -> None:
    names = attribute_names()
    every = dict(zip(names, attribute_vector(portrait, face), strict=True))
    chosen = [names[-1], names[0], names[-2]]
    assert attribute_vector(portrait, face, chosen).tolist() == [every[name] for name in chosen]


def test_an_unknown_name_is_refused_and_the_known_ones_are_told(portrait, face) -> None:
    with pytest.raises(UsageError, match=r"no attribute is named 'wings'; there are .*expression happy"):
        attribute_vector(portrait, face, ["wings"])


def test_a_face_known_by_its_points_has_a_box_where_ffhq_has_it() -> None:
    found = face_at(FFHQ_POINTS * 256)
    assert np.allclose(found.box_xyxy, FFHQ_BOX * 256)
    moved = face_at(FFHQ_POINTS * 512 + 100)
    assert np.allclose(moved.box_xyxy, FFHQ_BOX * 512 + 100)


def test_a_detectors_larger_box_hardly_changes_an_expression(portrait, face) -> None:
    wider = replace(face, box_xyxy=face.box_xyxy + np.array([-15, -15, 15, 15]))
    here, there = (attributes(portrait, one).expression for one in (face, wider))
    assert here.argmax() == there.argmax() and np.abs(here - there).sum() < 0.4


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_an_expression_is_the_same_in_the_photo_in_its_crop_and_in_a_mirror(number, examples) -> None:
    photo = read_photo(examples / f"portrait-{number}.jpg").pixels
    seen = with_mesh(photo, [find_faces(photo)[0]])[0]
    crop = align_ffhq(seen, 256).crop(photo)
    mirror = np.ascontiguousarray(crop[:, ::-1])
    here, there, turned = (
        attributes(picture, where).expression
        for picture, where in ((photo, seen), (crop, face_in_crop(crop)), (mirror, face_in_crop(mirror)))
    )
    assert here.argmax() == there.argmax() == turned.argmax()
    assert np.abs(here - there).sum() < 0.4 and np.abs(there - turned).sum() < 0.4
