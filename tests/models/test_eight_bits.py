"""Eight bits: as good as full precision where they are used, and the same numbers on every processor."""

import os
import subprocess
import sys

import numpy as np
import pytest

from faceveil.faces import yunet
from faceveil.faces.boxes import iou
from faceveil.models import eight_bits
from faceveil.models.eight_bits import LARGEST, _weight_limit, in_eight_bits, read_ranges
from faceveil.models.runtime import read_model
from faceveil.models.yunet import CARD
from faceveil.models.yunet import yunet as make_yunet

SCORES = """
import sys, numpy as np
from faceveil.faces import yunet
from faceveil.photos import read_photo
picture = np.ascontiguousarray(read_photo(sys.argv[1]).pixels[300:620, 200:712])
np.save(sys.argv[2], np.concatenate([level.ravel() for level in yunet._quick_proposer()(picture[None])]))
"""


def test_the_same_faces_are_found_as_with_proposals_in_full_precision(wall):
    found, expected = (np.array([f.box_xyxy for f in find(wall)]) for find in (yunet.find_boxes, yunet.find))
    assert len(found) == len(expected)
    fit = iou(found, expected).max(axis=1)
    assert fit.min() > 0.85
    assert fit.mean() > 0.93


def test_where_a_pool_is_rounded_changes_no_number(wall, monkeypatch):
    picture = np.ascontiguousarray(wall[:320, :512])[None]
    behind = make_yunet(("cls", "obj", "bbox"), eight_bits=True)(picture)
    monkeypatch.setattr(eight_bits, "REGISTER", 0)
    before = make_yunet(("cls", "obj", "bbox"), eight_bits=True)(picture)
    assert all(np.array_equal(one, other) for one, other in zip(behind, before, strict=True))


def scores_and_boxes(levels):
    cells = np.concatenate([level[0].reshape(6, -1) for level in levels], axis=1).T
    return 1 / np.sqrt(np.prod(1 + np.exp(-cells[:, :2]), axis=1)), cells[:, 2:]


def test_scores_and_boxes_stay_near_those_of_full_precision(wall):
    picture = np.ascontiguousarray(wall[:640, :1024])[None]
    (scores, boxes), (true_scores, true_boxes) = (
        scores_and_boxes(network(picture)[:3]) for network in (yunet._quick_proposer(), yunet._proposer())
    )
    faces = true_scores > 0.5
    assert faces.sum() > 10
    assert np.abs(scores - true_scores).mean() < 0.005
    assert np.abs(scores - true_scores)[faces].mean() < 0.05
    assert np.abs(boxes - true_boxes)[faces].mean() < 0.15  # of a cell


@pytest.mark.parametrize("processor", ["AVX2", "AVX512_CORE"])
def test_processors_without_vnni_give_the_same_numbers(examples, tmp_path, processor):
    results = []
    for limit in ({}, {"ONEDNN_MAX_CPU_ISA": processor}):
        target = tmp_path / f"{len(limit)}.npy"
        command = [sys.executable, "-c", SCORES, str(examples / "wall.jpg"), str(target)]
        subprocess.run(command, env={**os.environ, **limit}, check=True, capture_output=True)
        results.append(np.load(target))
    assert results[0].max() > 1
    assert np.abs(results[0] - results[1]).max() < 1e-4


@pytest.mark.parametrize("shape", [(16, 3, 3, 3), (64, 64, 1, 1), (10, 32, 1, 1)])
def test_two_products_never_overflow_sixteen_bits(shape):
    weights = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    steps = np.round(weights / _weight_limit(weights, paired=True) * LARGEST).astype(int)
    pairs = np.moveaxis(steps, 1, -1).reshape(len(steps), -1)
    sums = [pairs[:, i::2][:, : pairs.shape[1] // 2] for i in (0, 1)]
    up, down = (sum(part.clip(*side) for part in sums) * 255 for side in ((0, None), (None, 0)))
    assert np.abs(steps).max() <= LARGEST
    assert up.max() <= 2**15 - 1 and down.min() >= -(2**15)


def test_ranges_of_another_network_are_refused():
    with pytest.raises(KeyError, match="no tensors named elsewhere"):
        in_eight_bits(read_model(CARD), {**read_ranges(CARD), "elsewhere": (0, 1)})
