"""dlib's face recognition ResNet as an OpenVINO graph, from the weights of its .dat file and without dlib.

The file is dlib's serialisation of the network, input first. Of it only the tensors of parameters are read, each
found by its header: the architecture, and so the order and the sizes of the tensors, is known. Each affine layer
is folded into the convolution before it, in float64. The same numbers as dlib's own code to 1e-5, in a tenth of
the time.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faceveil.errors import WeightsError
from faceveil.models.layers import Node
from faceveil.models.runtime import openvino

Floats = NDArray[np.float32]
SIZE = 150

MEAN = np.array([122.782, 117.001, 104.298], np.float32)  # of red, green, blue; dlib's constants
SCALE = np.float32(256)
# (filters, number of residual blocks, whether the first halves the picture): 29 convolutions in all.
LEVELS = ((32, 3, False), (64, 4, True), (128, 3, True), (256, 3, True), (256, 1, True))


def dlib_resnet(path: Path) -> Any:
    """The network as an OpenVINO model: N×3×150×150 raw RGB in, N×128 out, not normalised."""
    ov = openvino()
    image = ov.opset13.parameter([-1, 3, SIZE, SIZE], np.float32, name="image")
    return ov.Model([embedding(image, path)], [image], "dlib-resnet")


def embedding(image: Node, path: Path) -> Node:
    """N × 128, as a node on raw RGB."""
    ops = openvino().opset13
    tensors = _Tensors(path)
    x = ops.divide(ops.subtract(image, ops.constant(MEAN[None, :, None, None])), ops.constant(SCALE))
    x = ops.relu(_conv(x, tensors, 3, 32, side=7, stride=2))
    x = ops.max_pool(x, [2, 2], [1, 1], [0, 0], [0, 0], [3, 3]).output(0)
    channels, size = 32, 35
    for filters, blocks, halves in LEVELS:
        for block in range(blocks):
            x, size = _residual(x, tensors, channels, filters, size, 2 if halves and block == 0 else 1)
            channels = filters
    mean = ops.reduce_mean(x, np.array([2, 3]), keep_dims=False)
    head = tensors.next(256, 128, 1, 1).reshape(256, 128)
    return ops.matmul(mean, ops.constant(head), False, False)


def _residual(
    x: Any, tensors: "_Tensors", inputs: int, filters: int, size: int, stride: int
) -> tuple[Any, int]:
    """Two convolutions beside a shortcut; what is smaller or has fewer channels is filled up with zeros."""
    ops = openvino().opset13
    inner = ops.relu(_conv(x, tensors, inputs, filters, side=3, stride=stride))
    inner = _conv(inner, tensors, filters, filters, side=3, stride=1)
    if stride == 1:
        return ops.relu(ops.add(inner, x)), size
    shortcut = ops.avg_pool(x, [2, 2], [0, 0], [0, 0], [2, 2], True)
    narrow, wide = (size - 3) // 2 + 1, size // 2
    inner = _grown(inner, 0, wide - narrow)
    return ops.relu(ops.add(inner, _grown(shortcut, filters - inputs, 0))), wide


def _grown(x: Any, channels: int, pixels: int) -> Any:
    ops = openvino().opset13
    if not channels and not pixels:
        return x
    zero = ops.constant(np.float32(0))
    return ops.pad(x, np.zeros(4, np.int64), np.array([0, channels, pixels, pixels]), "constant", zero)


def _conv(x: Any, tensors: "_Tensors", inputs: int, filters: int, *, side: int, stride: int) -> Any:
    """A convolution with the affine layer behind it; padded, as in dlib, only where the stride is one."""
    ops = openvino().opset13
    count = filters * inputs * side * side
    numbers = tensors.next(count + filters, 1, 1, 1).astype(np.float64)
    gamma, beta = tensors.next(2 * filters, 1, 1, 1).astype(np.float64).reshape(2, filters)
    kernel = numbers[:count].reshape(filters, inputs, side, side) * gamma[:, None, None, None]
    shift = numbers[count:] * gamma + beta
    pad = [side // 2] * 2 if stride == 1 else [0, 0]
    y = ops.convolution(x, ops.constant(kernel.astype(np.float32)), [stride] * 2, pad, pad, [1, 1])
    return ops.add(y, ops.constant(shift.astype(np.float32)[None, :, None, None]))


class _Tensors:
    """The tensors of the file, one after the other."""

    def __init__(self, path: Path) -> None:
        self._name, self._data, self._at = path.name, path.read_bytes(), 0

    def next(self, *shape: int) -> Floats:
        """The next tensor of exactly this shape."""
        header = b"".join(_whole_number(number) for number in (2, *shape))  # 2: the version of the layout
        size = 4 * int(np.prod(shape))
        start = self._data.find(header, self._at) + len(header)
        if start < len(header) or start + size > len(self._data):
            raise WeightsError(f"{self._name} has no tensor of shape {shape} where dlib's ResNet has one.")
        self._at = start + size
        return np.frombuffer(self._data[start : self._at], "<f4").astype(np.float32)


def _whole_number(value: int) -> bytes:
    """How dlib writes one: the number of bytes that follow, then the value, least byte first."""
    digits = value.to_bytes(8, "little").rstrip(b"\0")
    return bytes([len(digits)]) + digits
