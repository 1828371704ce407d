"""The maps of VGG-16 that MIKU compares, as Image2StyleGAN does, in an OpenVINO graph."""

import numpy as np

from faceveil.models.layers import Node
from faceveil.models.lpips import convolved, normalised
from faceveil.models.runtime import once, openvino
from faceveil.models.store import weights
from faceveil.models.unpickle import read_arrays

CARD = "lpips.vgg16"  # the same convolutions
# Which of the first nine convolutions are compared: conv1_1, conv1_2, conv3_2, conv4_2 (Abdal, Qin and Wonka 2019).
TAPS = (0, 1, 5, 8)
POOLED = (2, 4, 7)  # 2×2 max pooling stands before these


def vgg_maps(image: Node) -> list[Node]:
    """The four maps, after their activation, of a picture N × 3 × H × W in [-1, 1]."""
    op = openvino().opset13
    x, kept = normalised(image), []
    for layer in range(TAPS[-1] + 1):
        if layer in POOLED:
            x = op.max_pool(x, [2, 2], [1, 1], [0, 0], [0, 0], [2, 2]).output(0)
        x = convolved(x, _layers()[f"Conv_{layer}"], stride=1, pad=1)
        if layer in TAPS:
            kept.append(x)
    return kept


@once
def _layers() -> dict[str, dict[str, np.ndarray]]:
    layers: dict[str, dict[str, np.ndarray]] = read_arrays(weights(CARD))["VGG16_0"]
    return layers
