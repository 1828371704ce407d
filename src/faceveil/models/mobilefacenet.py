"""MobileFaceNet (Chen et al. 2018) as an OpenVINO graph, from the weights of a torch file and without torch.

The encoder and AttrNet read its last two layers from an FFHQ crop (`layers_in_ffhq`), where its own crop lies at a
fixed place.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faceveil.models.layers import Node, Weights, conv, inverted_residual, relu6
from faceveil.models.mobilenetv2 import normalised
from faceveil.models.runtime import once, openvino
from faceveil.models.sampling import matrices
from faceveil.models.store import weights as stored_weights
from faceveil.models.unpickle import read_torch

CARD = "mobilefacenet.facesdk"
WIDTHS = (512, 128)  # of the last two layers
# Where the ArcFace template lies in an FFHQ crop, from YuNet's mean points on FFHQ: left, top, side.
ARCFACE_IN_FFHQ = (0.1345, 0.129, 0.7345)
ARCFACE_SIZE = 112

Floats = NDArray[np.float32]

# (stride of the first block, number of blocks): the inverted residuals of the paper's table 1.
STAGES = ((2, 5), (2, 1), (1, 6), (2, 1), (1, 2))


def mobilefacenet(path: Path) -> Any:
    """The network as an OpenVINO model: N×3×112×112 in, N×128 out, not normalised."""
    ov = openvino()
    ops = ov.opset13
    image = ops.parameter([-1, 3, 112, 112], np.float32, name="image")
    return ov.Model([layers(image, _read(path))[1]], [image], "mobilefacenet")


@once
def _read(path: Path) -> Weights:
    """Kept, for three networks are built from the one file."""
    return read_torch(path)


def layers(image: Any, weights: Weights) -> tuple[Any, Any]:
    """The last two layers, N×512 and N×128, as nodes on an image N×3×112×112 of ImageNet's scale."""
    ops = openvino().opset13
    x = relu6(conv(image, weights, "conv1.0", "conv1.1", stride=2, pad=1))
    x = ops.relu(conv(x, weights, "dw_conv.depthwise", "dw_conv.bn1", pad=1))
    x = ops.relu(conv(x, weights, "dw_conv.pointwise", "dw_conv.bn2"))
    block = 0
    for first_stride, count in STAGES:
        for position in range(count):
            x = inverted_residual(x, weights, f"features.{block}.conv", first_stride if position == 0 else 1)
            block += 1
    x = relu6(conv(x, weights, "conv2.0", "conv2.1"))
    wide = conv(x, weights, "gdconv.depthwise", "gdconv.bn")
    narrow = conv(wide, weights, "conv3", "bn")
    return _flat(wide), _flat(narrow)


def _flat(x: Any) -> Any:
    ops = openvino().opset13
    return ops.reshape(x, np.array([0, -1]), special_zero=True)


def layers_in_ffhq(image: Node) -> tuple[Node, Node]:
    """The last two layers on an FFHQ crop, 1 × 3 × S × S in [0, 1]; the last one of length 1."""
    op = openvino().opset13
    rows, columns = arcface_matrices(image.get_output_shape(0)[-1])
    crop = op.matmul(op.matmul(op.constant(rows), image, False, False), op.constant(columns), False, True)
    wide, narrow = last_layers(crop)
    return wide, op.normalize_l2(narrow, np.array([1]), 1e-12, "max")


def last_layers(crop: Node) -> tuple[Node, Node]:
    """The last two layers of a crop in the ArcFace template, 1 × 3 × 112 × 112 in [0, 1]; 1 × 512 and 1 × 128."""
    return layers(normalised(crop), _read(stored_weights(CARD)))


def arcface_matrices(size: int) -> tuple[Floats, Floats]:
    """Bilinear sampling of the recogniser's crop from an FFHQ crop."""
    return matrices(ARCFACE_IN_FFHQ, size, ARCFACE_SIZE)
