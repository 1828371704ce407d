"""The recognisers on real faces: the 40 people of ORL, found and aligned as in the benchmark."""

import importlib.util
from pathlib import Path

import cv2
import numpy as np
import pytest

from faceveil.errors import UsageError
from faceveil.models import weights
from faceveil.models.recognizers import (
    RECOGNIZERS,
    TEMPLATES,
    dlib_chip,
    recognizer,
    recognizers_named,
    widest,
)

PEOPLE, PHOTOS = 5, 2


def benchmark():
    path = Path(__file__).parents[2] / "benchmarks" / "recognizers.py"
    spec = importlib.util.spec_from_file_location("recognizers_benchmark", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def faces():
    """Photos with room around the head, their five points, and who they show."""
    folder, found = weights("orl.faces"), []
    for person in range(1, PEOPLE + 1):
        for photo in range(1, PHOTOS + 1):
            grey = cv2.imread(str(folder / f"s{person}" / f"{photo}.pgm"), cv2.IMREAD_GRAYSCALE)
            padded = cv2.copyMakeBorder(grey, 24, 24, 34, 34, cv2.BORDER_REPLICATE)
            image = cv2.cvtColor(cv2.resize(padded, None, fx=2, fy=2), cv2.COLOR_GRAY2RGB)
            found.append((image, benchmark().five_points(image), person))
    return found


@pytest.mark.parametrize("name", RECOGNIZERS)
def test_one_person_s_photos_are_nearer_than_two_people_s(name, faces):
    judge, bench = recognizer(name), benchmark()
    rows = judge.embed(np.stack([bench.align(image, points, judge) for image, points, _ in faces]))
    people = np.array([person for *_, person in faces])
    distances = judge.distance(rows[:, None], rows[None])
    same = people[:, None] == people[None]
    other = ~np.eye(len(rows), dtype=bool)
    apart, strangers = distances[same & other], distances[~same]
    assert np.mean(apart[:, None] < strangers[None]) > 0.97, "the area under the curve"
    nearest = np.argmin(np.where(other, distances, np.inf), axis=1)
    assert np.mean(people[nearest] == people) > 0.85, "identification at rank 1"
    # False matches are not judged here: the threshold is LFW's, and small grey photos lie closer together.
    assert np.mean(apart < judge.threshold) > 0.85


def test_dlib_s_own_chip_and_the_template_agree(faces):
    judge, bench = recognizer("dlib-resnet.v1"), benchmark()
    image, points, _ = faces[0]
    own = judge.embed(dlib_chip(image, points)[None])
    ours = judge.embed(bench.align(image, points, judge)[None])
    assert judge.distance(own, ours)[0] < judge.threshold / 2


@pytest.mark.parametrize("name", ["mobilenet.facelib", "mobilefacenet.facesdk"])
def test_cosine_embeddings_have_length_one_and_do_not_depend_on_their_company(name):
    judge = recognizer(name)
    crops = np.random.default_rng(0).integers(0, 255, (3, 112, 112, 3), dtype=np.uint8)
    rows = judge.embed(crops)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, rtol=1e-5)
    np.testing.assert_array_equal(judge.embed(crops[1:2])[0], rows[1])
    np.testing.assert_allclose(judge.distance(rows, rows), 0, atol=1e-6)


@pytest.mark.parametrize("name", RECOGNIZERS)
def test_a_recogniser_states_what_was_measured(name):
    judge = recognizer(name)
    assert judge.template in TEMPLATES
    assert judge.operating.accuracy > 0.97
    assert 0 < judge.false_match_rate < 0.03
    rates = sorted(judge.operating.at_rate)
    thresholds = [judge.operating.at_rate[rate] for rate in rates]
    assert len(rates) >= 3 and thresholds == sorted(thresholds)
    assert judge.embed(np.zeros((0, judge.size, judge.size, 3), np.uint8)).shape == (0, judge.dimensions)


@pytest.mark.parametrize(
    "crops", [np.zeros((1, 64, 64, 3), np.uint8), np.zeros((1, 112, 112, 3), np.float32)]
)
def test_crops_of_another_kind_are_refused(crops):
    with pytest.raises(UsageError, match="arcface-112"):
        recognizer("mobilenet.facelib").embed(crops)


def test_an_unknown_recogniser_lists_the_known():
    with pytest.raises(UsageError, match=r"dlib-resnet\.v1"):
        recognizer("facenet")


def test_the_rebuilt_dlib_network_gives_dlib_s_own_numbers(faces):
    import dlib

    judge, bench = recognizer("dlib-resnet.v1"), benchmark()
    crops = np.stack([bench.align(image, points, judge) for image, points, _ in faces[:3]])
    own = dlib.face_recognition_model_v1(str(weights(judge.id)))
    expected = np.array([own.compute_face_descriptor(np.ascontiguousarray(crop)) for crop in crops])
    assert np.abs(judge.embed(crops) - expected).max() < 1e-5


def test_recognisers_are_named_one_by_one_or_together():
    from faceveil.models.cards import card

    assert recognizers_named(["facenet.512", "sface.2021dec", "facenet.512"]) == (
        "facenet.512",
        "sface.2021dec",
    )
    assert recognizers_named(["all"]) == tuple(RECOGNIZERS)
    assert recognizers_named(["open"]) == ("dlib-resnet.v1", "sface.2021dec")
    assert all(card(name).commercial == "open" for name in recognizers_named(["open"]))
    with pytest.raises(UsageError, match=r"'sface'.*sface.2021dec.*open"):
        recognizers_named(["sface"])


def test_a_row_has_room_for_the_longest_embedding():
    assert widest(["sface.2021dec"]) == widest([]) == 128
    assert widest(["sface.2021dec", "facenet.512"]) == 512
