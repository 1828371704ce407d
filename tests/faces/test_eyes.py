"""Eyes: gaze and opening, on pictures of which the answer is known."""

from dataclasses import replace

import cv2
import numpy as np
import pytest

from faceveil.faces import find_faces, with_mesh
from faceveil.faces.eyes import eyes
from faceveil.faces.regions import LEFT_EYE, RIGHT_EYE


def _found(image):
    return with_mesh(image, find_faces(image)[:1])[0]


def test_eyes_need_a_mesh(portrait):
    with pytest.raises(ValueError, match="with_mesh"):
        eyes(portrait, replace(_found(portrait), mesh=None))


def test_eyes_are_as_open_in_the_mirror(portrait):
    mirrored = np.ascontiguousarray(portrait[:, ::-1])
    one, other = (eyes(image, _found(image)) for image in (portrait, mirrored))
    assert other.opening == pytest.approx(one.opening, abs=0.03)


def test_lids_drawn_over_the_eyes_close_them(portrait):
    face, shut = _found(portrait), portrait.copy()
    for part in (RIGHT_EYE, LEFT_EYE):
        points = face.mesh[part, :2]
        lid = points[points[:, 1].argmin()] - [0, 0.12 * np.ptp(points[:, 0])]
        skin = portrait[tuple(lid[::-1].astype(int))].tolist()
        hull = cv2.convexHull(points.astype(np.int32))
        cv2.fillConvexPoly(shut, hull, skin)
        cv2.polylines(shut, [hull], True, skin, 5)
        low, high = points[points[:, 0].argmin()], points[points[:, 0].argmax()]
        cv2.line(shut, low.astype(int).tolist(), high.astype(int).tolist(), (40, 25, 20), 3)  # lashes
    assert eyes(shut, face).opening < 0.7 * eyes(portrait, face).opening


@pytest.mark.parametrize("side", [128, 256])
def test_a_smaller_picture_reads_nearly_the_same(side, portrait):
    face = _found(portrait)
    factor = side / portrait.shape[0]
    small = cv2.resize(portrait, (side, side), interpolation=cv2.INTER_AREA)
    there = replace(face, mesh=face.mesh * factor)
    assert eyes(small, there).opening == pytest.approx(eyes(portrait, face).opening, abs=0.03)
