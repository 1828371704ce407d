"""ResNet-50 (He et al. 2015) as an OpenVINO graph from torchvision's parameter names, without torch."""

import numpy as np

from faceveil.models.layers import Node, Weights, conv
from faceveil.models.mobilenetv2 import normalised
from faceveil.models.runtime import openvino

# (bottlenecks, channels within, stride of the first): the paper's table 1.
STAGES = ((3, 64, 1), (4, 128, 2), (6, 256, 2), (3, 512, 2))


def resnet50(image: Node, weights: Weights, name: str) -> Node:
    """An RGB picture in [0, 1], 1 × 3 × S × S, to 1 × 2048."""
    ops = openvino().opset13
    x = ops.relu(conv(normalised(image), weights, f"{name}.conv1", f"{name}.bn1", stride=2, pad=3))
    x = openvino().opset1.max_pool(x, [2, 2], [1, 1], [1, 1], [3, 3])
    for stage, (count, _, first_stride) in enumerate(STAGES, start=1):
        for position in range(count):
            block = f"{name}.layer{stage}.{position}"
            x = _bottleneck(x, weights, block, first_stride if position == 0 else 1)
    return ops.reduce_mean(x, np.array([2, 3]), keep_dims=False)


def _bottleneck(x: Node, weights: Weights, name: str, stride: int) -> Node:
    """1×1, 3×3 with the stride (as torchvision has it), 1×1; a projection where shapes differ."""
    ops = openvino().opset13
    y = ops.relu(conv(x, weights, f"{name}.conv1", f"{name}.bn1"))
    y = ops.relu(conv(y, weights, f"{name}.conv2", f"{name}.bn2", stride=stride, pad=1))
    y = conv(y, weights, f"{name}.conv3", f"{name}.bn3")
    if f"{name}.downsample.0.weight" in weights:
        x = conv(x, weights, f"{name}.downsample.0", f"{name}.downsample.1", stride=stride)
    return ops.relu(ops.add(x, y))
