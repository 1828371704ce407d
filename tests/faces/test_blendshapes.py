"""Blendshapes: the reference engine's numbers, and what pictures show of which the answer is known."""

from dataclasses import replace

import cv2
import numpy as np
import pytest

from faceveil.faces import blendshapes, find_faces
from faceveil.faces.blendshapes import (
    LEFT_IRIS,
    NAMES,
    PARTS,
    POINTS,
    READ,
    RIGHT_IRIS,
    SHAPES,
    SIDE,
    part_errors,
)
from faceveil.faces.regions import LEFT_EYE, RIGHT_EYE
from faceveil.methods.styleid.control import control
from faceveil.methods.styleid.looks import TRAITS, face_in_crop
from faceveil.models import weights
from faceveil.models.directions import carry_over
from faceveil.models.generator import Generator, as_wplus
from faceveil.models.runtime import load
from faceveil.photos import read_photo

MIRRORED = [
    NAMES.index(
        name.replace("Left", "Right") if "Left" in name else name.replace("Right", "Left")
    )
    for name in NAMES
]  # fmt: skip


@pytest.fixture(scope="module")
def portraits(examples):
    """Image and face of each portrait."""
    images = [read_photo(examples / f"portrait-{i}.jpg").pixels for i in range(1, 7)]
    return [(image, find_faces(image)[0]) for image in images]


@pytest.fixture(scope="module")
def reference():
    """A card's network in the reference engine."""
    litert = pytest.importorskip("ai_edge_litert.interpreter", reason="the reference engine is not installed")

    def run(card, given):
        network = litert.Interpreter(str(weights(card)))
        network.allocate_tensors()
        network.set_tensor(network.get_input_details()[0]["index"], given)
        network.invoke()
        return [network.get_tensor(port["index"]) for port in network.get_output_details()]

    return run


def test_both_networks_say_what_they_say_in_the_reference_engine(portraits, reference):
    for image, _ in portraits:
        crop = cv2.resize(image, (SIDE, SIDE), interpolation=cv2.INTER_AREA)[None].astype(np.float32) / 255
        expected = reference(POINTS, crop)
        for ours, theirs in zip(load(POINTS)(crop), expected, strict=True):
            np.testing.assert_allclose(ours, theirs, atol=2e-3)
        read = np.ascontiguousarray(expected[0].reshape(1, -1, 3)[:, READ, :2])
        np.testing.assert_allclose(load(SHAPES)(read)[0], reference(SHAPES, read)[0], atol=1e-4)


def test_names_and_parts():
    assert len(set(NAMES)) == 52 and len(READ) == len(set(READ)) == 146
    assert {part: len(names) for part, names in PARTS.items()} == {"mouth": 27, "eyes": 6, "gaze": 8}


def test_the_points_are_those_of_the_mesh_and_the_irises_lie_in_the_eyes(portraits):
    for image, face in portraits:
        seen = blendshapes(image, face)
        assert seen.points.shape == (478, 3) and seen.presence > 0.99
        apart = np.hypot(*(seen.points[:468, :2] - face.mesh[:, :2]).T)
        assert np.median(apart) < 0.05 * face.size_wh[0]
        for iris, lids in ((RIGHT_IRIS, RIGHT_EYE), (LEFT_IRIS, LEFT_EYE)):
            outline = cv2.convexHull(seen.points[lids, :2].astype(np.float32))
            middle = seen.points[iris.start, :2].tolist()
            assert cv2.pointPolygonTest(outline, middle, measureDist=False) > 0


def test_what_is_no_face_has_no_presence(portraits):
    ground = np.random.default_rng(0).integers(0, 255, (512, 512, 3), dtype=np.uint8)
    assert blendshapes(ground, portraits[0][1]).presence < 0.5


def test_left_is_right_in_the_mirror(portraits):
    for image, face in portraits:
        flipped = np.ascontiguousarray(image[:, ::-1])
        other = blendshapes(flipped, find_faces(flipped)[0]).values[MIRRORED]
        assert part_errors(blendshapes(image, face).values, other)["all"] < 0.05


def test_eyes_look_the_other_way_in_the_mirror(portraits):
    image, face = portraits[5]  # who looks aside
    flipped = np.ascontiguousarray(image[:, ::-1])
    gaze, mirrored = blendshapes(image, face).gaze, blendshapes(flipped, find_faces(flipped)[0]).gaze
    assert gaze[0] > 0.4 and mirrored == pytest.approx(gaze * [-1, 1], abs=0.15)


def test_neither_the_detector_s_box_nor_a_tilt_changes_much(portraits):
    for image, face in portraits:
        seen = blendshapes(image, face).values
        shift = 0.05 * face.size_wh[0] * np.array([1, -1, 1, 1])
        moved = blendshapes(image, replace(face, box_xyxy=face.box_xyxy + shift))
        turn = cv2.getRotationMatrix2D((256, 256), -25, 0.8)
        tilted = np.asarray(cv2.warpAffine(image, turn, (512, 512)), np.uint8)
        turned = blendshapes(tilted, find_faces(tilted)[0])
        for other in (moved, turned):
            assert part_errors(seen, other.values)["all"] < 0.02


@pytest.fixture(scope="module")
def made_up():
    """Codes of faces of nobody, and what is read of a code's picture."""
    generator = Generator()
    z = generator.sample_z(24, np.random.default_rng(3))

    def named(wplus):
        crop = generator.render(wplus[None], 256)[0]
        return blendshapes(crop, face_in_crop(crop)).named

    return as_wplus(generator.truncate(generator.mapping(z), 0.7)), named


def test_a_face_that_is_made_to_smile_is_read_so(made_up):
    codes, named = made_up

    def smile(wplus):
        seen = named(wplus)
        return (seen["mouthSmileLeft"] + seen["mouthSmileRight"]) / 2

    smiles = [smile(code) for code in codes]
    laughing, earnest = codes[np.argmax(smiles)], codes[np.argmin(smiles)]
    assert min(smiles) < 0.1 and smile(carry_over("expression", earnest, laughing)) > 0.3
    assert max(smiles) > 0.9 and smile(carry_over("expression", laughing, earnest)) < 0.3


def test_eyes_that_are_made_to_close_are_read_so(made_up):
    codes, named = made_up
    opening = np.zeros(len(TRAITS))
    opening[TRAITS.index("eye opening")] = control().deviation[TRAITS.index("eye opening")]
    most = np.full(len(TRAITS), 4.0)
    for code in codes[:6]:
        shut, wide = (named(control().moved(code, step * opening, most)) for step in (-4, 2))
        for side in ("Left", "Right"):
            assert shut[f"eyeBlink{side}"] > 1.5 * wide[f"eyeBlink{side}"]


def test_lids_drawn_over_the_eyes_close_them(portraits):
    image, face = portraits[0]
    shut = image.copy()
    for part in (RIGHT_EYE, LEFT_EYE):
        points = face.mesh[part, :2]
        lid = points[points[:, 1].argmin()] - [0, 0.12 * np.ptp(points[:, 0])]
        skin = image[tuple(lid[::-1].astype(int))].tolist()
        hull = cv2.convexHull(points.astype(np.int32))
        cv2.fillConvexPoly(shut, hull, skin)
        cv2.polylines(shut, [hull], True, skin, 5)
        low, high = points[points[:, 0].argmin()], points[points[:, 0].argmax()]
        cv2.line(shut, low.astype(int).tolist(), high.astype(int).tolist(), (40, 25, 20), 3)  # lashes
    seen, closed = blendshapes(image, face).named, blendshapes(shut, face).named
    for side in ("Left", "Right"):
        assert closed[f"eyeBlink{side}"] > 0.4 > 0.3 > seen[f"eyeBlink{side}"]


def test_errors_of_parts_are_means_over_their_names():
    one, other = np.zeros((2, 52), np.float32), np.zeros((2, 52), np.float32)
    other[1, NAMES.index("jawOpen")] = 0.54
    found = part_errors(one, other)
    assert found["mouth"] == pytest.approx([0, 0.54 / 27])
    assert found["all"] == pytest.approx([0, 0.54 / 52])
    assert not found["eyes"].any() and not found["gaze"].any()
