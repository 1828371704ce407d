"""Alignment: exact inverses and the conventions of the generator and the recognisers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faceveil.faces import Alignment, Face, align_arcface, align_ffhq, find_faces
from faceveil.faces.align import ALIGNMENTS, ARCFACE_112, similarity

angles, scales = st.floats(-180, 180), st.floats(0.05, 20)
shifts = st.tuples(st.floats(-5000, 5000), st.floats(-5000, 5000))


def turned(points: np.ndarray, degrees: float, scale: float, shift: tuple[float, float]) -> np.ndarray:
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    return points @ (scale * np.array([[c, -s], [s, c]])).T + shift


def face_at(points: np.ndarray) -> Face:
    return Face(np.concatenate([points.min(axis=0), points.max(axis=0)]), points, 1.0, "test")


@given(angles, scales, shifts)
def test_similarity_recovers_a_known_one(degrees, scale, shift):
    there = turned(ARCFACE_112, degrees, scale, shift)
    matrix = similarity(ARCFACE_112, there)
    found = ARCFACE_112 @ matrix[:, :2].T + matrix[:, 2]
    assert np.allclose(found, there, atol=1e-6 * max(1, np.abs(there).max()))


def test_similarity_is_the_least_squares_one_of_an_independent_solver():
    rng = np.random.default_rng(5)
    points, targets = rng.normal(size=(2, 5, 2))
    matrix = similarity(points, targets)
    system = np.zeros((10, 4))
    system[::2], system[1::2] = (
        np.stack([points[:, 0], -points[:, 1], np.ones(5), np.zeros(5)], axis=1),
        np.stack([points[:, 1], points[:, 0], np.zeros(5), np.ones(5)], axis=1),
    )
    a, b, tx, ty = np.linalg.lstsq(system, targets.ravel(), rcond=None)[0]
    assert np.allclose(matrix, [[a, -b, tx], [b, a, ty]])


@given(st.sampled_from(sorted(ALIGNMENTS)), angles, scales, shifts, st.integers(16, 1024))
def test_points_go_to_the_crop_and_exactly_back(name, degrees, scale, shift, size):
    alignment = ALIGNMENTS[name](face_at(turned(ARCFACE_112, degrees, scale, shift)), size)
    points = np.array([[0.0, 0.0], [size, 0], [size / 3, size / 7]])
    back = alignment.points_to_crop(alignment.points_to_photo(points))
    assert np.allclose(back, points, atol=1e-5 * size)


def test_arcface_alignment_brings_the_points_to_the_template():
    face = face_at(turned(ARCFACE_112, 33, 2.5, (100, 50)))
    assert np.allclose(align_arcface(face).points_to_crop(face.points), ARCFACE_112, atol=1e-6)


def test_ffhq_alignment_leaves_a_face_that_is_already_aligned_in_place(portrait):
    (face,) = find_faces(portrait)
    corners = align_ffhq(face, 512).points_to_photo(np.array([[0.0, 0.0], [512, 512]]))
    assert np.abs(corners - [[0, 0], [512, 512]]).max() < 25  # the generator was trained on this very crop


@given(st.floats(-180, 180))
def test_ffhq_alignment_turns_with_the_face(degrees):
    face = face_at(turned(ARCFACE_112, degrees, 1.0, (300, 300)))
    eyes = align_ffhq(face, 256).points_to_crop(face.points[:2])
    assert abs(eyes[0, 1] - eyes[1, 1]) < 1.5
    assert eyes[0, 0] < eyes[1, 0]


def test_a_crop_placed_back_is_the_photo_it_came_from(portrait):
    (face,) = find_faces(portrait)
    alignment = align_ffhq(face, 512)
    placed = alignment.place(alignment.crop(portrait), (512, 512)).astype(float)
    inner = (slice(64, -64), slice(64, -64))
    error = np.mean((placed[inner] - portrait[inner]) ** 2)
    assert 10 * np.log10(255**2 / error) > 34  # two bilinear interpolations


@pytest.mark.parametrize("size", [64, 1024])
def test_a_resized_alignment_cuts_the_same_square(portrait, size):
    (face,) = find_faces(portrait)
    corners = np.array([[0.0, 0.0], [1, 1]])
    one, other = align_ffhq(face, 256), align_ffhq(face, 256).resized(size)
    assert np.allclose(one.points_to_photo(corners * 256), other.points_to_photo(corners * size))


def test_points_that_are_all_one_point_are_refused():
    with pytest.raises(ValueError, match="one point"):
        align_ffhq(face_at(np.zeros((5, 2))))
    with pytest.raises(ValueError, match="one point"):
        similarity(np.zeros((5, 2)), ARCFACE_112)


def test_the_crop_of_a_shift_is_the_shifted_photo():
    image = np.random.default_rng(1).integers(0, 255, (50, 60, 3), dtype=np.uint8)
    crop = Alignment(np.array([[1.0, 0, -7], [0, 1.0, -11]]), 20).crop(image)
    assert np.array_equal(crop, image[11:31, 7:27])
