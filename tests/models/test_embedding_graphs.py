"""Recognisers as parts of a graph say what they say by themselves."""

import cv2
import numpy as np
import pytest

from faceveil.faces.align import Alignment, similarity
from faceveil.faces.attributes import FFHQ_POINTS
from faceveil.models.embedding_graphs import DLIB_IN_FFHQ, GRAPHS, embedding
from faceveil.models.generator import Generator
from faceveil.models.recognizers import TEMPLATES, WATCHING, recognizer
from faceveil.models.runtime import Network, openvino

SIZE = 128


def test_every_recogniser_has_one():
    assert set(GRAPHS) == set(WATCHING)


def test_dlib_s_chip_lies_where_ffhq_s_points_put_it():
    to_chip = similarity(TEMPLATES["dlib-150"], FFHQ_POINTS)
    corner, far = (to_chip[:, :2] @ [at, at] + to_chip[:, 2] for at in (0.0, 150.0))
    assert np.allclose(corner, DLIB_IN_FFHQ[:2], atol=0.005)
    assert np.allclose(far - corner, DLIB_IN_FFHQ[2], atol=0.01), "but for half a degree"


@pytest.mark.parametrize("name", WATCHING)
def test_a_graph_sees_who_the_recogniser_sees(name):
    picture = openvino().opset13.parameter([1, 3, SIZE, SIZE], np.float32)
    network = Network(openvino().Model([embedding(name, picture)], [picture], "seen"))
    generator, judge = Generator(), recognizer(name)
    faces = generator.render(generator.mapping(generator.sample_z(3, np.random.default_rng(4))), SIZE)
    seen = np.concatenate(
        [network(face.transpose(2, 0, 1)[None].astype(np.float32) / 127.5 - 1)[0] for face in faces]
    )
    place = Alignment(similarity(FFHQ_POINTS * SIZE, TEMPLATES[judge.template]), judge.size)
    alone = judge.embed(np.stack([place.crop(face) for face in faces]))
    assert (judge.distance(seen, alone) < 0.25 * judge.threshold).all(), "cut by points, not by a square"
    assert judge.of_length_one == bool(np.allclose(np.linalg.norm(seen, axis=1), 1, atol=1e-3))


def test_a_grey_picture_is_no_reason_to_fail():
    picture = openvino().opset13.parameter([1, 3, SIZE, SIZE], np.float32)
    every = [embedding(name, picture) for name in WATCHING]
    network = Network(openvino().Model(every, [picture], "seen"))
    flat = cv2.GaussianBlur(np.zeros((SIZE, SIZE, 3), np.float32), (0, 0), 1).transpose(2, 0, 1)[None]
    assert all(np.isfinite(one).all() for one in network(np.ascontiguousarray(flat)))
