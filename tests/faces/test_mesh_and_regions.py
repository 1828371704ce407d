"""Mesh, head pose and regions."""

from dataclasses import replace

import cv2
import dlib
import numpy as np
import pytest

from faceveil.errors import UsageError
from faceveil.faces import REGIONS, Face, find_faces, pose, region, with_mesh
from faceveil.models import weights
from faceveil.photos import read_photo


@pytest.fixture(scope="module")
def faces(examples):
    """Image and face of each portrait."""
    images = [read_photo(examples / f"portrait-{i}.jpg").pixels for i in range(1, 7)]
    return [(image, find_faces(image)[0]) for image in images]


@pytest.fixture(scope="module")
def dlib_points():
    """Eye centres and mouth corners by dlib's 68 points, which share nothing with the mesh network."""
    predictor = dlib.shape_predictor(str(weights("dlib-shape.68")))

    def points(image: np.ndarray, face: Face) -> np.ndarray:
        shape = predictor(image, dlib.rectangle(*(int(v) for v in face.box_xyxy)))
        p = np.array([[shape.part(i).x, shape.part(i).y] for i in range(68)], float)
        return np.array([(p[36] + p[39]) / 2, (p[42] + p[45]) / 2, p[48], p[54]])

    return points


def test_the_mesh_agrees_with_another_network_on_the_five_points(faces, dlib_points):
    for image, face in faces:
        assert (
            np.hypot(*(dlib_points(image, face) - face.points[[0, 1, 3, 4]]).T).max() < 0.08 * face.size_wh[0]
        )


def test_what_is_no_face_has_no_presence(faces):
    ground = np.random.default_rng(0).integers(0, 255, (400, 400, 3), dtype=np.uint8)
    (fitted,) = with_mesh(ground, [replace(faces[0][1], box_xyxy=np.array([100.0, 100, 250, 280]))])
    assert fitted.presence < 0.5 < faces[0][1].presence


def test_a_mirrored_head_looks_the_other_way(faces):
    for image, face in faces:
        mirrored = np.ascontiguousarray(image[:, ::-1])
        other = find_faces(mirrored)[0]
        assert abs(pose(other).yaw + pose(face).yaw) < 5
        assert abs(pose(other).pitch - pose(face).pitch) < 5


@pytest.mark.parametrize("degrees", [-35, 20, 40])
def test_a_turned_picture_turns_the_head(faces, degrees):
    image, face = faces[0]
    turn = cv2.getRotationMatrix2D((256, 256), -degrees, 0.7)
    turned = np.asarray(cv2.warpAffine(image, turn, (512, 512)), np.uint8)
    (other,) = find_faces(turned)
    assert abs(pose(other).roll - pose(face).roll - degrees) < 4


def test_a_head_turned_aside_has_a_large_yaw(faces):
    assert abs(pose(faces[5][1]).yaw) > 15  # the one of the six who looks aside


@pytest.mark.parametrize("name", sorted(REGIONS))
def test_a_region_lies_inside_the_photo_and_holds_something(faces, name):
    for image, face in faces:
        where = region(name, face, image)
        assert where.mask.dtype == np.uint8
        assert image[where.window].shape[:2] == where.mask.shape
        assert (where.mask > 127).sum() > 20


@pytest.mark.parametrize("name", ["box", "eye-band", "face-shape", "oval"])
@pytest.mark.parametrize("shift", [(-300, 0), (300, 0), (0, 300), (-5000, 0), (0, -260)])
def test_regions_of_faces_beyond_the_frame_are_clipped(faces, name, shift):
    image, face = faces[0]
    mesh = face.mesh + np.array([*shift, 0])
    moved = Face(face.box_xyxy + np.tile(shift, 2), face.points + shift, 1.0, "test", mesh, 1.0)
    where = region(name, moved, image)
    assert image[where.window].shape[:2] == where.mask.shape


def test_parts_lie_in_the_face_and_the_face_in_its_shape(faces):
    for image, face in faces:
        full = {name: region(name, face, image).full((512, 512)) > 127 for name in REGIONS}
        for part in ("eyes", "nose", "mouth"):
            assert not (full[part] & ~full["face-shape"]).any()
        assert not (full["oval"] & ~full["face-shape"]).any()
        assert not (full["hair"] & full["oval"]).any()


def test_the_face_shape_covers_brows_eyes_mouth_and_chin_also_without_a_mesh(faces):
    for image, face in faces:
        plain = Face(face.box_xyxy, face.points, 1.0, "test")
        mask = region("face-shape", plain, image).full((512, 512))
        inner = face.mesh[[55, 285, 33, 263, 61, 291, 1, 168, 17], :2].round().astype(int)
        assert (mask[inner[:, 1], inner[:, 0]] == 255).all()


def test_person_and_background_share_the_photo(faces):
    image, face = faces[0]
    person, background = (region(name, face, image).mask.astype(int) for name in ("person", "background"))
    assert (person + background == 255).all()
    assert person[256, 256] > 200 and person[10, 10] < 60


def test_a_region_that_needs_a_mesh_says_so(faces):
    image, face = faces[0]
    with pytest.raises(ValueError, match="with_mesh"):
        region("nose", Face(face.box_xyxy, face.points, 1.0, "test"), image)
    with pytest.raises(UsageError, match="face-shape"):
        region("ear", face, image)
