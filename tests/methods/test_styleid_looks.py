"""Looks: what the mouth shows, and how large a face is read."""

from dataclasses import replace

import cv2
import numpy as np
import pytest

from faceveil.faces import find_faces, with_mesh
from faceveil.methods.styleid.looks import INNER_LIPS, NAMES, closely, face_in_crop, looks, teeth
from faceveil.methods.styleid.render import generator
from faceveil.methods.styleid.targets import pool

EYES_APART = [33, 263]  # their outer corners


@pytest.fixture(scope="module")
def mouths(portrait):
    """A face, and its picture with an open mouth painted in three lightnesses."""
    face = with_mesh(portrait, find_faces(portrait)[:1])[0]
    mesh = face.mesh.copy()
    middle = mesh[INNER_LIPS, :2].mean(axis=0)
    mesh[INNER_LIPS[11:], 1] = middle[1] + 12  # the lower lip drops
    face = replace(face, mesh=mesh)
    painted = []
    for grey in (10, 120, 245):
        image = portrait.copy()
        cv2.fillPoly(image, [mesh[INNER_LIPS, :2].astype(np.int32)], (grey,) * 3)
        painted.append(image)
    return face, painted


def test_a_throat_is_dark_and_teeth_are_light(mouths):
    face, (throat, between, grin) = mouths
    assert teeth(throat, face) < -0.3 < teeth(between, face) < teeth(grin, face)
    assert teeth(grin, face) > 0.3


def test_the_sum_does_not_depend_on_the_pictures_size(mouths):
    face, (_, _, grin) = mouths
    half = cv2.resize(grin, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA)
    there = replace(face, mesh=face.mesh / 2)
    assert teeth(half, there) == pytest.approx(teeth(grin, face), rel=0.25)


def test_all_looks_have_a_name(portrait):
    face = with_mesh(portrait, find_faces(portrait)[:1])[0]
    assert looks(portrait, face).shape == (len(NAMES),)


@pytest.fixture(scope="module")
def found():
    """Generated faces, and where a detector finds them."""
    pictures = [generator().render(pool().codes[number][None], 256)[0] for number in range(0, 8000, 1000)]
    faces = [find_faces(picture)[:1] for picture in pictures]
    return [(picture, face[0]) for picture, face in zip(pictures, faces, strict=True) if face]


def apart(mesh):
    return float(np.hypot(*(mesh[EYES_APART[0], :2] - mesh[EYES_APART[1], :2])))


def test_a_face_in_a_photo_is_read_as_large_as_in_its_crop(found):
    assert len(found) >= 6
    wide, close = (
        np.mean([apart(read(*one).mesh) / apart(face_in_crop(one[0]).mesh) for one in found])
        for read in (lambda picture, face: with_mesh(picture, [face])[0], closely)
    )
    assert close == pytest.approx(1, abs=0.02)
    assert wide > 1.03  # what a detector's box alone would give


def test_a_close_look_leaves_box_and_points_alone(found):
    picture, face = found[0]
    near = closely(picture, face)
    assert np.array_equal(near.box_xyxy, face.box_xyxy) and np.array_equal(near.points, face.points)
    assert near.presence > 0.5
