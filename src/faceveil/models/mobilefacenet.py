"""MobileFaceNet (Chen et al. 2018) as an OpenVINO graph, from the weights of a torch file and without torch.

Each batch normalisation is folded into the convolution before it, in float64.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faceveil.models.runtime import openvino
from faceveil.models.unpickle import read_torch

Weights = Mapping[str, NDArray[Any]]

# (stride of the first block, number of blocks): the inverted residuals of the paper's table 1.
STAGES = ((2, 5), (2, 1), (1, 6), (2, 1), (1, 2))
EPSILON = 1e-5  # torch's default in a batch normalisation


def mobilefacenet(path: Path) -> Any:
    """The network as an OpenVINO model: N×3×112×112 in, N×128 out, not normalised."""
    ov = openvino()
    from openvino import opset13 as ops

    image = ops.parameter([-1, 3, 112, 112], np.float32, name="image")
    return ov.Model([layers(image, read_torch(path))[1]], [image], "mobilefacenet")


def layers(image: Any, weights: Weights) -> tuple[Any, Any]:
    """The last two layers, N×512 and N×128, as nodes on an image N×3×112×112 of ImageNet's scale."""
    from openvino import opset13 as ops

    x = _relu6(_conv(image, weights, "conv1.0", "conv1.1", stride=2, pad=1))
    x = ops.relu(_conv(x, weights, "dw_conv.depthwise", "dw_conv.bn1", pad=1))
    x = ops.relu(_conv(x, weights, "dw_conv.pointwise", "dw_conv.bn2"))
    block = 0
    for first_stride, count in STAGES:
        for position in range(count):
            x = _inverted_residual(x, weights, f"features.{block}.conv", first_stride if position == 0 else 1)
            block += 1
    x = _relu6(_conv(x, weights, "conv2.0", "conv2.1"))
    wide = _conv(x, weights, "gdconv.depthwise", "gdconv.bn")
    narrow = _conv(wide, weights, "conv3", "bn")
    return _flat(wide), _flat(narrow)


def _flat(x: Any) -> Any:
    from openvino import opset13 as ops

    return ops.reshape(x, np.array([0, -1]), special_zero=True)


def _inverted_residual(x: Any, weights: Weights, name: str, stride: int) -> Any:
    from openvino import opset13 as ops

    y = _relu6(_conv(x, weights, f"{name}.0.0", f"{name}.0.1"))
    y = _relu6(_conv(y, weights, f"{name}.1.0", f"{name}.1.1", stride=stride, pad=1))
    y = _conv(y, weights, f"{name}.2", f"{name}.3")
    same_shape = stride == 1 and x.get_output_partial_shape(0) == y.get_output_partial_shape(0)
    return ops.add(x, y) if same_shape else y


def _conv(x: Any, weights: Weights, conv: str, norm: str, *, stride: int = 1, pad: int = 0) -> Any:
    """A convolution and the batch normalisation after it; one filter per channel means depthwise."""
    from openvino import opset13 as ops

    kernel, shift = _folded(weights, conv, norm)
    where = {"strides": [stride] * 2, "pads_begin": [pad] * 2, "pads_end": [pad] * 2, "dilations": [1, 1]}
    channels = x.get_output_partial_shape(0)[1].get_length()
    if kernel.shape[1] == 1 and kernel.shape[0] == channels:
        y = ops.group_convolution(x, ops.constant(kernel[:, None]), **where)
    else:
        y = ops.convolution(x, ops.constant(kernel), **where)
    return ops.add(y, ops.constant(shift[None, :, None, None]))


def _folded(weights: Weights, conv: str, norm: str) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    def of(name: str) -> NDArray[np.float64]:
        return weights[f"{norm}.{name}"].astype(np.float64)

    scale = of("weight") / np.sqrt(of("running_var") + EPSILON)
    kernel = weights[f"{conv}.weight"] * scale[:, None, None, None]
    bias = weights[f"{conv}.bias"].astype(np.float64) if f"{conv}.bias" in weights else np.zeros_like(scale)
    shift = of("bias") + (bias - of("running_mean")) * scale
    return kernel.astype(np.float32), shift.astype(np.float32)


def _relu6(x: Any) -> Any:
    from openvino import opset13 as ops

    return ops.clamp(x, 0.0, 6.0)
