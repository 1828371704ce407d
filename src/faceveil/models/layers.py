"""The layers that the networks built here share, as OpenVINO graphs from named weights and without torch.

Each batch normalisation is folded into the convolution before it, in float64.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faceveil.models.npz import opened
from faceveil.models.runtime import openvino

Node = Any
Weights = Mapping[str, NDArray[Any]]

SCALE = ".scale"  # ends the name of what the rows of a matrix in bytes are multiplied by
EPSILON = 1e-5  # torch's default in a batch normalisation


def read_weights(path: Path) -> dict[str, NDArray[np.float32]]:
    """The arrays of a file that ships in half precision, or in bytes with a scale for each row (`in_bytes`)."""
    with opened(path) as stored:
        arrays = {name: stored[name].astype(np.float32) for name in stored}
    scales = {name: arrays.pop(name) for name in list(arrays) if name.endswith(SCALE)}
    return arrays | {
        name.removesuffix(SCALE): arrays[name.removesuffix(SCALE)] * s[:, None] for name, s in scales.items()
    }


def in_bytes(name: str, matrix: NDArray[np.float32]) -> dict[str, NDArray[np.generic]]:
    """A matrix as it is stored: each row in bytes of its largest value."""
    scale = np.maximum(np.abs(matrix).max(axis=1), 1e-12) / 127
    return {name: np.rint(matrix / scale[:, None]).astype(np.int8), name + SCALE: scale.astype(np.float32)}


def conv(
    x: Node, weights: Weights, name: str, norm: str, *, stride: int = 1, pad: int | tuple[int, int] = 0,
    epsilon: float = EPSILON,
) -> Node:  # fmt: skip
    """A convolution and the batch normalisation after it; one filter per channel means depthwise."""
    ops = openvino().opset13
    kernel, shift = _folded(weights, name, norm, epsilon)
    pads = [pad, pad] if isinstance(pad, int) else list(pad)
    where = {"strides": [stride] * 2, "pads_begin": pads, "pads_end": pads, "dilations": [1, 1]}
    channels = x.get_output_partial_shape(0)[1].get_length()
    if kernel.shape[1] == 1 and kernel.shape[0] == channels:
        y = ops.group_convolution(x, ops.constant(kernel[:, None]), **where)
    else:
        y = ops.convolution(x, ops.constant(kernel), **where)
    return ops.add(y, ops.constant(shift[None, :, None, None]))


def _folded(
    weights: Weights, conv: str, norm: str, epsilon: float
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    def of(name: str) -> NDArray[np.float64]:
        return weights[f"{norm}.{name}"].astype(np.float64)

    scale = of("weight") / np.sqrt(of("running_var") + epsilon)
    kernel = weights[f"{conv}.weight"] * scale[:, None, None, None]
    bias = weights[f"{conv}.bias"].astype(np.float64) if f"{conv}.bias" in weights else np.zeros_like(scale)
    shift = of("bias") + (bias - of("running_mean")) * scale
    return kernel.astype(np.float32), shift.astype(np.float32)


def inverted_residual(x: Node, weights: Weights, name: str, stride: int, *, expand: bool = True) -> Node:
    """Widen 1×1, depthwise 3×3, narrow 1×1 without activation; a shortcut where shapes agree."""
    y, layer = x, 0
    if expand:
        y, layer = relu6(conv(y, weights, f"{name}.0.0", f"{name}.0.1")), 1
    y = relu6(conv(y, weights, f"{name}.{layer}.0", f"{name}.{layer}.1", stride=stride, pad=1))
    y = conv(y, weights, f"{name}.{layer + 1}", f"{name}.{layer + 2}")
    same_shape = stride == 1 and x.get_output_partial_shape(0) == y.get_output_partial_shape(0)
    return openvino().opset13.add(x, y) if same_shape else y


def relu6(x: Node) -> Node:
    return openvino().opset13.clamp(x, 0.0, 6.0)


def pool(x: Node, grid: int) -> Node:
    """Means over a grid × grid of equal cells, in one row per picture."""
    ops = openvino().opset13
    step = [x.get_output_shape(0)[2] // grid] * 2
    mean = ops.avg_pool(x, step, [0, 0], [0, 0], step, False)
    return ops.reshape(mean, np.array([1, -1]), False)


def linear(x: Node, weights: Weights, name: str) -> Node:
    ops = openvino().opset13
    y = ops.matmul(x, ops.constant(weights[f"{name}.weight"]), False, True)
    return ops.add(y, weights[f"{name}.bias"][None])
