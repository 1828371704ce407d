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
