"""LPIPS (Zhang et al. 2018) with AlexNet: how different two pictures look, without torch.

The five layers' activations, each scaled to length one over channels; squared differences weighted by the learned
heads; the mean over the picture, summed over layers.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faceveil.models.layers import Node
from faceveil.models.runtime import Network, openvino
from faceveil.models.store import weights
from faceveil.models.unpickle import read_arrays

CARD = "lpips.alexnet"
SHIFT = np.array([-0.030, -0.088, -0.188], np.float32)
SCALE = np.array([0.458, 0.448, 0.450], np.float32)
LAYERS = (
    (4, 2, False),
    (1, 2, True),
    (1, 1, True),
    (1, 1, False),
    (1, 1, False),
)  # stride, padding, pool before
TINY = 1e-10


def lpips(one: NDArray[np.uint8], other: NDArray[np.uint8]) -> float:
    """The distance of two RGB pictures of one size, at least 64×64; 0 for equal ones."""
    planes = np.stack([one, other]).astype(np.float32) / 127.5 - 1
    maps = _network()(np.ascontiguousarray(planes.transpose(0, 3, 1, 2)))
    parts = [
        np.mean(np.sum((unit[0] - unit[1]) ** 2 * head[:, None, None], axis=0))
        for unit, head in zip(maps, heads(), strict=True)
    ]
    return float(sum(parts))


def unit_maps(image: Node) -> list[Node]:
    """The five maps, each pixel of length one over channels, of pictures N × 3 × H × W in [-1, 1]."""
    ops = openvino().opset13
    return [ops.divide(x, ops.add(_length(x), ops.constant(np.float32(TINY)))) for x in _maps(image)]


def normalised(image: Node) -> Node:
    """RGB in [-1, 1] as the backbones of LPIPS take it."""
    ops = openvino().opset13
    shift, scale = (ops.constant(v.reshape(1, 3, 1, 1)) for v in (SHIFT, SCALE))
    return ops.divide(ops.subtract(image, shift), scale)


def _length(x: Node) -> Node:
    ops = openvino().opset13
    return ops.sqrt(ops.reduce_sum(ops.multiply(x, x), np.array([1]), True))


@cache
def _weights() -> Any:
    return read_arrays(weights(CARD))


@cache
def heads() -> list[NDArray[np.float32]]:
    """What each channel of the five maps weighs."""
    return [
        _weights()[f"NetLinLayer_{layer}"]["Conv_0"]["kernel"].reshape(-1) for layer in range(len(LAYERS))
    ]


def _maps(image: Node) -> list[Node]:
    ops = openvino().opset13
    x, found = normalised(image), []
    for layer, (stride, pad, pooled) in enumerate(LAYERS):
        numbers = _weights()["AlexNet_0"][f"Conv_{layer}"]
        if pooled:
            x = ops.max_pool(x, [2, 2], [1, 1], [0, 0], [0, 0], [3, 3]).output(0)
        x = convolved(x, numbers, stride, pad)
        found.append(x)
    return found


def convolved(x: Node, numbers: Mapping[str, NDArray[np.float32]], stride: int, pad: int) -> Node:
    """One of the backbone's layers: a convolution with its bias, and nothing negative after it."""
    ops = openvino().opset13
    kernel = np.ascontiguousarray(numbers["kernel"].transpose(3, 2, 0, 1))
    x = ops.convolution(x, ops.constant(kernel), [stride] * 2, [pad] * 2, [pad] * 2, [1, 1])
    return ops.relu(ops.add(x, ops.constant(np.ascontiguousarray(numbers["bias"])[None, :, None, None])))


@cache
def _network() -> Network:
    image = openvino().opset13.parameter([2, 3, -1, -1], np.float32, name="image")
    return Network(openvino().Model(unit_maps(image), [image], "lpips"))
