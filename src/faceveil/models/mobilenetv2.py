"""MobileNetV2 (Sandler et al. 2018) as an OpenVINO graph, without torch.

With torchvision's weights, up to the mean over the picture: 1280 features per picture, for a Fréchet distance.
With weights trained here, the maps at four depths (`taps`) that the encoder and AttrNet read.
"""

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from faceveil.models.layers import Node, Weights, conv, inverted_residual, relu6
from faceveil.models.runtime import Network, once, openvino
from faceveil.models.store import weights
from faceveil.models.unpickle import read_torch

CARD = "mobilenetv2.imagenet"
SIZE = 224
# The rows of the paper's table 2: (expansion, channels, blocks, stride of the first).
STAGES = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)
TAPS = (3, 6, 13, 17)  # 24 channels at 1/4, 32 at 1/8, 96 at 1/16, 320 at 1/32
IMAGENET_MEAN, IMAGENET_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def features(crop: NDArray[np.uint8]) -> NDArray[np.float32]:
    """The 1280 features of one RGB picture, scaled to 224×224."""
    scaled = cv2.resize(crop, (SIZE, SIZE), interpolation=cv2.INTER_AREA).astype(np.float32) / 255
    return np.asarray(_network()(np.ascontiguousarray(scaled.transpose(2, 0, 1)[None]))[0][0], np.float32)


@once
def _network() -> Network:
    return Network(mobilenetv2())


def mobilenetv2() -> Any:
    """The network as an OpenVINO model: N×3×224×224 in [0, 1] in, N×1280 out."""
    ov = openvino()
    ops = ov.opset13
    table = read_torch(weights(CARD))
    image = ops.parameter([-1, 3, SIZE, SIZE], np.float32, name="image")
    x = blocks(image, table, "features")[-1]
    x = relu6(conv(x, table, "features.18.0", "features.18.1"))
    return ov.Model([ops.reduce_mean(x, np.array([2, 3]), keep_dims=False)], [image], "mobilenetv2")


def taps(image: Node, table: Weights, name: str) -> list[Node]:
    """The maps at four depths of an RGB picture in [0, 1]."""
    outputs = blocks(image, table, name)
    return [outputs[number] for number in TAPS]


def blocks(image: Node, table: Weights, name: str) -> list[Node]:
    """What each block gives, from the first convolution to the last inverted residual."""
    outputs = [relu6(conv(normalised(image), table, f"{name}.0.0", f"{name}.0.1", stride=2, pad=1))]
    for expansion, _, repeats, first_stride in STAGES:
        for position in range(repeats):
            block = f"{name}.{len(outputs)}.conv"
            stride = first_stride if position == 0 else 1
            outputs.append(inverted_residual(outputs[-1], table, block, stride, expand=expansion > 1))
    return outputs


def normalised(image: Node) -> Node:
    """RGB in [0, 1] as networks trained on ImageNet take it."""
    ops = openvino().opset13
    mean, std = (np.array(v, np.float32).reshape(1, 3, 1, 1) for v in (IMAGENET_MEAN, IMAGENET_STD))
    return ops.divide(ops.subtract(image, mean), std)
