"""MobileFaceNet (Chen et al. 2018) as an OpenVINO graph, from the weights of a torch file and without torch."""

from pathlib import Path
from typing import Any

import numpy as np

from faceveil.models.layers import conv, inverted_residual, relu6
from faceveil.models.runtime import openvino
from faceveil.models.unpickle import read_torch

# (stride of the first block, number of blocks): the inverted residuals of the paper's table 1.
STAGES = ((2, 5), (2, 1), (1, 6), (2, 1), (1, 2))


def mobilefacenet(path: Path) -> Any:
    """The network as an OpenVINO model: N×3×112×112 in, N×128 out, not normalised."""
    ov = openvino()
    from openvino import opset13 as ops

    weights = read_torch(path)
    image = ops.parameter([-1, 3, 112, 112], np.float32, name="image")
    x = relu6(conv(image, weights, "conv1.0", "conv1.1", stride=2, pad=1))
    x = ops.relu(conv(x, weights, "dw_conv.depthwise", "dw_conv.bn1", pad=1))
    x = ops.relu(conv(x, weights, "dw_conv.pointwise", "dw_conv.bn2"))
    block = 0
    for first_stride, count in STAGES:
        for position in range(count):
            x = inverted_residual(x, weights, f"features.{block}.conv", first_stride if position == 0 else 1)
            block += 1
    x = relu6(conv(x, weights, "conv2.0", "conv2.1"))
    x = conv(x, weights, "gdconv.depthwise", "gdconv.bn")
    x = conv(x, weights, "conv3", "bn")
    return ov.Model([ops.reshape(x, np.array([0, -1]), special_zero=True)], [image], "mobilefacenet")
