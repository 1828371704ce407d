"""YuNet with its heads side by side gives the numbers of the network as it is distributed."""

import numpy as np
import pytest

from faceveil.models.runtime import Network, read_model
from faceveil.models.yunet import CARD, STRIDES, yunet

HEADS = {"cls": slice(0, 1), "obj": slice(1, 2), "bbox": slice(2, 6), "kps": slice(6, 16)}


@pytest.mark.parametrize("side", [128, -1])
def test_joined_heads_give_the_distributed_networks_numbers(wall, side):
    picture = np.ascontiguousarray(wall[400:528, 300:428])
    model = read_model(CARD)
    model.reshape([1, 3, 128, 128])
    names = [min(port.get_names()) for port in model.outputs]
    bgr = picture[None, ..., ::-1].transpose(0, 3, 1, 2).astype(np.float32)
    expected = dict(zip(names, Network(model)(bgr), strict=True))
    levels = yunet(tuple(HEADS), side=side)(picture[None])
    for stride, level in zip(STRIDES, levels, strict=True):
        cells = level[0].reshape(16, -1).T
        cells[:, :2] = 1 / (1 + np.exp(-cells[:, :2]))
        for head, columns in HEADS.items():
            assert np.abs(cells[:, columns] - expected[f"{head}_{stride}"][0]).max() < 1e-5


def test_the_gate_changes_no_other_number_and_answers_for_each_cell_of_the_finest_level(wall):
    picture = np.ascontiguousarray(wall[:320, :512])[None]
    expected = yunet(("cls", "obj", "bbox"), eight_bits=True)(picture)
    *levels, gate = yunet(("cls", "obj", "bbox"), eight_bits=True, gate=True)(picture)
    assert all(np.array_equal(one, other) for one, other in zip(levels, expected, strict=True))
    assert gate.shape == (1, 1, 320 // STRIDES[0], 512 // STRIDES[0])


@pytest.mark.parametrize("count", [2, 4])
def test_pictures_seen_together_give_the_numbers_of_each_alone(wall, count):
    pictures = np.stack([wall[100 * n : 100 * n + 128, 300:428] for n in range(count)])
    alone, together = yunet(tuple(HEADS), side=128), yunet(tuple(HEADS), side=128, count=count)
    for level, each in zip(
        together(pictures), zip(*(alone(p[None]) for p in pictures), strict=True), strict=True
    ):
        assert np.array_equal(level, np.concatenate(each))
