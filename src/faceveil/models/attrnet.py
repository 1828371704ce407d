"""AttrNet: what an aligned face shows, as probabilities, in OpenVINO and without torch.

    net = AttrNet()
    net.labels                  # the names of what it offers
    net.read(crops)             # N × S × S × 3, RGB uint8, FFHQ alignment → N × labels

The network is that of `torch/attrnet.py` and ships in half precision; the recogniser whose last two layers its head
reads beside MobileNetV2's maps comes from its own card. Its file also names its outputs: `labels`,
`groups` (outputs of one group exclude each other; those without a group are yes or no) and `offered` (only
labels that held on real faces; docs/attributes.md). `training/celeba.py` writes files of the same kind.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from faceveil.errors import UsageError, WeightsError
from faceveil.models import mobilefacenet
from faceveil.models.layers import Node, Weights, linear, pool
from faceveil.models.mobilenetv2 import taps
from faceveil.models.npz import opened
from faceveil.models.resnet50 import resnet50
from faceveil.models.runtime import Network, once, openvino

WEIGHTS = Path(__file__).with_name("data") / "attrnet.npz"
INPUT_SIZE = 128
GRIDS = (8, 8, 4, 2)  # to which MobileNetV2's four maps are pooled
WITH_RECOGNISER = "mobilenetv2+mobilefacenet"
LAYERS = {"mobilenetv2": 1, WITH_RECOGNISER: 1, "resnet50": 3}  # of the head on each trunk

Probabilities = NDArray[np.float32]


@dataclass(frozen=True)
class Output:
    """One number that the network gives."""

    label: str
    group: str  # empty: yes or no
    offered: bool


class AttrNet:
    """Aligned faces to probabilities, one face at a time, so that a face does not depend on its company."""

    def __init__(self, weights: Path = WEIGHTS) -> None:
        self.outputs, trunk, self._network = _open(weights)
        self.cards = (mobilefacenet.CARD,) if trunk == WITH_RECOGNISER else ()
        self._offered = np.array([output.offered for output in self.outputs])
        self.labels = tuple(output.label for output in self.outputs if output.offered)

    def read(self, crops: NDArray[np.uint8]) -> Probabilities:
        """Faces in FFHQ's alignment, N × S × S × 3 RGB uint8 with S ≥ 128, to N × labels."""
        return self.read_all(crops)[:, self._offered]

    def read_all(self, crops: NDArray[np.uint8]) -> Probabilities:
        """Every output, also those that are not offered."""
        _check(crops)
        if not len(crops):
            return np.zeros((0, len(self.outputs)), np.float32)
        logits = np.concatenate([self._network(prepare(crop))[0] for crop in crops])
        return probabilities(logits, tuple(output.group for output in self.outputs))


@cache
def offered_labels(weights: Path = WEIGHTS) -> tuple[str, ...]:
    """The names of what a file offers, without making the network."""
    with opened(weights) as stored:
        return tuple(str(label) for label in stored["labels"][stored["offered"]])


def probabilities(logits: NDArray[np.float32], groups: tuple[str, ...]) -> Probabilities:
    """Sigmoids, and a softmax within each group."""
    found = 1 / (1 + np.exp(-logits))
    for group in set(groups) - {""}:
        columns = [column for column, name in enumerate(groups) if name == group]
        part = np.exp(logits[:, columns] - logits[:, columns].max(axis=1, keepdims=True))
        found[:, columns] = part / part.sum(axis=1, keepdims=True)
    return np.asarray(found, np.float32)


def _check(crops: NDArray[np.uint8]) -> None:
    if crops.ndim != 4 or crops.shape[3] != 3 or crops.shape[1] != crops.shape[2] or crops.dtype != np.uint8:
        raise UsageError(
            f"AttrNet takes aligned faces (N, S, S, 3) in uint8, not {crops.dtype} {crops.shape}."
        )
    if crops.shape[1] < INPUT_SIZE:
        raise UsageError(f"AttrNet needs faces of {INPUT_SIZE} px or more, not {crops.shape[1]}.")


def prepare(crop: NDArray[np.uint8]) -> NDArray[np.float32]:
    """A face as the graphs take it."""
    small = cv2.resize(crop, (INPUT_SIZE, INPUT_SIZE), interpolation=cv2.INTER_AREA)
    return (small.transpose(2, 0, 1)[None] / 255).astype(np.float32)


@once
def _open(path: Path) -> tuple[tuple[Output, ...], str, Network]:
    try:
        with opened(path) as stored:
            arrays = {name: stored[name] for name in stored}
        columns = (arrays.pop("labels"), arrays.pop("groups"), arrays.pop("offered"))
        trunk = str(arrays.pop("trunk"))
        weights = {name: array.astype(np.float32) for name, array in arrays.items()}
        graph = build_graph(trunk, weights)
    except (OSError, ValueError, KeyError) as error:
        raise WeightsError(
            f"{path} is no attribute network ({error}). One is written by training/attrnet.py and celeba.py."
        ) from error
    outputs = [
        Output(str(label), str(group), bool(offered)) for label, group, offered in zip(*columns, strict=True)
    ]
    return tuple(outputs), trunk, Network(graph)


def build_graph(trunk: str, weights: Weights) -> Any:
    """The OpenVINO model: `image` 1 × 3 × 128 × 128 in [0, 1] → `logits` 1 × outputs."""
    ov = openvino()
    ops = ov.opset13
    image = _image()
    x = _features(image, trunk, weights)
    last = LAYERS[trunk] - 1
    for layer in range(last):
        x = ops.relu(linear(x, weights, f"head.{2 * layer}"))
    return ov.Model([ops.result(linear(x, weights, f"head.{2 * last}"), "logits")], [image], "attrnet")


def build_feature_graph(trunk: str, weights: Weights) -> Any:
    """The same without its head: `image` → what the head reads."""
    ov, image = openvino(), _image()
    return ov.Model([ov.opset13.result(_features(image, trunk, weights), "features")], [image], "attrnet")


def _image() -> Node:
    return openvino().opset13.parameter([1, 3, INPUT_SIZE, INPUT_SIZE], np.float32, "image")


def _features(image: Node, trunk: str, weights: Weights) -> Node:
    if trunk == "resnet50":
        return resnet50(image, weights, "trunk")
    if trunk == "mobilenetv2":
        return _standardised(_maps(image, weights), weights)
    if trunk == WITH_RECOGNISER:
        return _standardised([*_maps(image, weights), *mobilefacenet.layers_in_ffhq(image)], weights)
    raise ValueError(f"its trunk is {trunk!r}, not one of {', '.join(LAYERS)}")


def _maps(image: Node, weights: Weights) -> list[Node]:
    maps = taps(image, weights, "trunk.features")
    return [pool(tap, grid) for tap, grid in zip(maps, GRIDS, strict=True)]


def _standardised(features: list[Node], weights: Weights) -> Node:
    ops = openvino().opset13
    joined = ops.concat(features, 1)
    return ops.divide(ops.subtract(joined, weights["feature_mean"][None]), weights["feature_scale"][None])
