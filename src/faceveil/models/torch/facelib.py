"""Recogniser A in torch: the MobileNet of Howard et al. (2017), trained with ArcFace's loss.

The file that the card names is read by OpenVINO, and its arrays are run here, so that gradients reach the picture.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from faceveil.models.runtime import once, openvino
from faceveil.models.store import weights

CARD = "mobilenet.facelib"


class _Convolution(NamedTuple):
    """Followed by ReLU6; a stride of 2 pads below and to the right."""

    kernel: Tensor
    bias: Tensor
    stride: int

    def __call__(self, x: Tensor) -> Tensor:
        padding = self.kernel.shape[-1] // 2
        if self.stride == 2:
            x, padding = F.pad(x, (0, 1, 0, 1)), 0
        groups = x.shape[1] // self.kernel.shape[1]
        return F.relu6(F.conv2d(x, self.kernel, self.bias, self.stride, padding, groups=groups))


class MobileNetFacelib(nn.Module):
    """RGB in [0, 1], 112×112 in the ArcFace template → unit vectors of 128."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        nodes = openvino().Core().read_model(path).get_ordered_ops()
        self.convolutions = list(_convolutions(nodes))
        last = next(node for node in nodes if node.get_type_name() == "ReduceMean")
        scale, shift, matrix, bias = (
            _constant(node) for node in nodes[nodes.index(last) :] if _is_affine(node)
        )
        self.matrix, self.bias = matrix * scale, matrix @ shift[0] + bias

    def forward(self, images: Tensor) -> Tensor:
        x = (255 * images - 127.5) / 128
        for convolution in self.convolutions:
            x = convolution(x)
        return F.normalize(F.linear(x.mean((2, 3)), self.matrix, self.bias), dim=1)


def _convolutions(nodes: list[Any]) -> Iterator[_Convolution]:
    for node in nodes:
        if node.get_type_name() in ("Convolution", "GroupConvolution"):
            (addition,) = (follower.get_node() for follower in node.output(0).get_target_inputs())
            kernel = _constant(node).flatten(0, -4)
            yield _Convolution(kernel, _constant(addition).flatten(), node.get_attributes()["strides"][0])


def _is_affine(node: Any) -> bool:
    return node.get_type_name() in ("Multiply", "Add", "MatMul")


def _constant(node: Any) -> Tensor:
    """A node's second input."""
    return torch.from_numpy(np.array(node.input_value(1).get_node().data, np.float32))


@once
def second_recognizer() -> MobileNetFacelib:
    return MobileNetFacelib(weights(CARD))
