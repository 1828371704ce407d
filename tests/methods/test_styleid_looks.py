"""Looks: what the mouth shows."""

from dataclasses import replace

import cv2
import numpy as np
import pytest

from faceveil.faces import find_faces, with_mesh
from faceveil.methods.styleid.looks import INNER_LIPS, NAMES, looks, teeth


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
