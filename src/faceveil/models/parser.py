"""What each pixel of a face shows: BiSeNet (Yu et al. 2018) with the 19 classes of CelebAMask-HQ, in OpenVINO.

    shares = parse(crop)                      # N × N × 3, RGB uint8, FFHQ alignment → 19 × 256 × 256, sums to 1
    hair = shares[HAIR]

The torch file is read without torch and without running it, and the network is built here. Its two maps, one of an
eighth of the side that sees detail and one of a thirty-second that sees the whole, meet in a fusion block.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from faceveil.models.layers import Node, Weights, conv
from faceveil.models.mobilenetv2 import normalised
from faceveil.models.runtime import Network, once, openvino
from faceveil.models.store import weights as stored_weights
from faceveil.models.unpickle import read_torch

CARD = "bisenet.celebamask"
INPUT_SIZE, SIZE = 512, 256  # px of what it sees and of what it says

BACKGROUND, SKIN = 0, 1
BROWS, EYES, GLASSES, EARS = (2, 3), (4, 5), 6, (7, 8)
EARRING, NOSE, MOUTH, LIPS, NECK, NECKLACE, CLOTH, HAIR, HAT = 9, 10, 11, (12, 13), 14, 15, 16, 17, 18
CLASSES = 19
FACE = (
    SKIN,
    *BROWS,
    *EYES,
    NOSE,
    MOUTH,
    *LIPS,
)  # what a new face takes the place of; glasses are decided apart

Shares = NDArray[np.float32]  # 19 × SIZE × SIZE


def parse(crop: NDArray[np.uint8]) -> Shares:
    """How surely each pixel of an aligned face shows each class."""
    reading = cv2.INTER_AREA if crop.shape[0] > INPUT_SIZE else cv2.INTER_LINEAR
    seen = cv2.resize(crop, (INPUT_SIZE, INPUT_SIZE), interpolation=reading)
    (shares,) = _network()(np.ascontiguousarray(seen.transpose(2, 0, 1)[None], np.float32) / np.float32(255))
    return np.asarray(shares[0], np.float32)


def share_of(shares: Shares, classes: Sequence[int]) -> NDArray[np.float32]:
    """How surely each pixel shows one of these classes."""
    return np.asarray(shares[list(classes)].sum(axis=0), np.float32)


@once
def _network() -> Network:
    return Network(
        build_graph(stored_weights(CARD)), precision="bf16"
    )  # 0.2 % of the labels differ, half the time


def build_graph(path: Path) -> Any:
    """The OpenVINO model: `image` 1 × 3 × 512 × 512 in [0, 1] → `shares` 1 × 19 × 256 × 256."""
    ov = openvino()
    op = ov.opset13
    weights = read_torch(path)
    image = op.parameter([1, 3, INPUT_SIZE, INPUT_SIZE], np.float32, "image")
    eighth, context = _context(normalised(image), weights)
    joined = _fused(eighth, context, weights)
    logits = _plain(_block(joined, weights, "conv_out.conv", 1), weights, "conv_out.conv_out")
    large = _enlarged(logits, SIZE, "linear", "align_corners")
    return ov.Model([op.result(op.softmax(large, 1), "shares")], [image], "bisenet")


def _context(x: Node, weights: Weights) -> tuple[Node, Node]:
    """ResNet-18's map of an eighth of the side, and the later ones brought to it, each with what the whole shows."""
    op = openvino().opset13
    x = op.relu(conv(x, weights, "cp.resnet.conv1", "cp.resnet.bn1", stride=2, pad=3))
    x = openvino().opset1.max_pool(x, [2, 2], [1, 1], [1, 1], [3, 3])
    maps = []
    for layer in range(1, 5):
        for block in range(2):
            x = _basic(x, weights, f"cp.resnet.layer{layer}.{block}", 2 if layer > 1 and block == 0 else 1)
        maps.append(x)
    _, eighth, sixteenth, last = maps
    whole = _block(_mean(last), weights, "cp.conv_avg", 0)
    deep = op.add(_attended(last, weights, "cp.arm32"), whole)
    deep = _block(_doubled(deep), weights, "cp.conv_head32", 1)
    deep = op.add(_attended(sixteenth, weights, "cp.arm16"), deep)
    return eighth, _block(_doubled(deep), weights, "cp.conv_head16", 1)


def _basic(x: Node, weights: Weights, name: str, stride: int) -> Node:
    """ResNet's block of two 3×3 convolutions beside a shortcut."""
    op = openvino().opset13
    y = op.relu(conv(x, weights, f"{name}.conv1", f"{name}.bn1", stride=stride, pad=1))
    y = conv(y, weights, f"{name}.conv2", f"{name}.bn2", pad=1)
    if stride > 1:
        x = conv(x, weights, f"{name}.downsample.0", f"{name}.downsample.1", stride=stride)
    return op.relu(op.add(x, y))


def _attended(x: Node, weights: Weights, name: str) -> Node:
    """A convolution whose channels count as much as their means say (attention refinement)."""
    op = openvino().opset13
    x = _block(x, weights, f"{name}.conv", 1)
    return op.multiply(x, op.sigmoid(conv(_mean(x), weights, f"{name}.conv_atten", f"{name}.bn_atten")))


def _fused(one: Node, other: Node, weights: Weights) -> Node:
    """Both maps joined, and what counts among their channels added once more (feature fusion)."""
    op = openvino().opset13
    x = _block(op.concat([one, other], 1), weights, "ffm.convblk", 0)
    share = op.relu(_plain(_mean(x), weights, "ffm.conv1"))
    return op.add(x, op.multiply(x, op.sigmoid(_plain(share, weights, "ffm.conv2"))))


def _block(x: Node, weights: Weights, name: str, pad: int) -> Node:
    return openvino().opset13.relu(conv(x, weights, f"{name}.conv", f"{name}.bn", pad=pad))


def _plain(x: Node, weights: Weights, name: str) -> Node:
    op = openvino().opset13
    return op.convolution(x, op.constant(weights[f"{name}.weight"]), [1, 1], [0, 0], [0, 0], [1, 1])


def _mean(x: Node) -> Node:
    return openvino().opset13.reduce_mean(x, np.array([2, 3]), True)


def _doubled(x: Node) -> Node:
    return _enlarged(x, 2 * x.get_output_shape(0)[2], "nearest", "asymmetric")


def _enlarged(x: Node, side: int, mode: str, corners: str) -> Node:
    return openvino().opset13.interpolate(
        x, np.array([side, side]), mode, "sizes", axes=np.array([2, 3]),
        coordinate_transformation_mode=corners, nearest_mode="floor",
    )  # fmt: skip
