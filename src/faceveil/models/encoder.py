"""The encoder that users run: aligned faces → W+, in OpenVINO, without torch.

    wplus = Encoder().encode(crops)            # N × S × S × 3, RGB uint8, FFHQ alignment → N × 23 × 512

The network is that of `torch/encoder.py`; its averaged weights ship in half precision and are built into a
graph here. The recogniser whose embedding the head reads comes from its own card.
"""

from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from faceveil.errors import UsageError
from faceveil.models.layers import Weights, linear, pool, read_weights
from faceveil.models.mobilefacenet import layers_in_ffhq
from faceveil.models.mobilenetv2 import taps
from faceveil.models.mobilestylegan import SLOTS, Floats
from faceveil.models.runtime import Network, once, openvino
from faceveil.models.wspace import w_space

WEIGHTS = Path(__file__).with_name("data") / "encoder.npz"
INPUT_SIZE = 128
COORDINATES = 200  # those beyond only add noise
GRIDS = (8, 8, 4, 2)  # to which the four maps are pooled
THUMBNAIL = 32


class Encoder:
    """Aligned faces to W+, one at a time, so that a face's code does not depend on its company."""

    def __init__(self, weights: Path = WEIGHTS) -> None:
        self._network = _network(weights)

    def encode(self, crops: NDArray[np.uint8]) -> Floats:
        """Faces in FFHQ's alignment, N × S × S × 3 RGB uint8 with S ≥ 128, to N × 23 × 512."""
        if (
            crops.ndim != 4
            or crops.shape[3] != 3
            or crops.shape[1] != crops.shape[2]
            or crops.dtype != np.uint8
        ):
            raise UsageError(
                f"the encoder takes aligned faces (N, S, S, 3) in uint8, not {crops.dtype} {crops.shape}."
            )
        if crops.shape[1] < INPUT_SIZE:
            raise UsageError(f"the encoder needs faces of {INPUT_SIZE} px or more, not {crops.shape[1]}.")
        codes = [self._network(_prepare(crop))[0] for crop in crops]
        return np.concatenate(codes) if codes else np.zeros((0, SLOTS, 512), np.float32)


def _prepare(crop: NDArray[np.uint8]) -> Floats:
    small = cv2.resize(crop, (INPUT_SIZE, INPUT_SIZE), interpolation=cv2.INTER_AREA)
    return (small.transpose(2, 0, 1)[None] / 255).astype(np.float32)


@once
def _network(path: Path) -> Network:
    return Network(build_graph(read_weights(path)))


def build_graph(weights: Weights) -> Any:
    """The OpenVINO model: `image` 1 × 3 × 128 × 128 in [0, 1] → `wplus` 1 × 23 × 512."""
    ov = openvino()
    op = ov.opset13
    image = op.parameter([1, 3, INPUT_SIZE, INPUT_SIZE], np.float32, "image")
    maps = taps(image, weights, "backbone.features")
    pooled = [pool(tap, grid) for tap, grid in zip(maps, GRIDS, strict=True)]
    features = op.concat([*pooled, pool(image, THUMBNAIL), *layers_in_ffhq(image)], 1)
    scaled = op.divide(op.subtract(features, weights["feature_mean"][None]), weights["feature_scale"][None])
    hidden = linear(scaled, weights, "narrow")
    inner = op.gelu(linear(hidden, weights, "residual.0"), "erf")
    hidden = op.add(hidden, linear(inner, weights, "residual.2"))
    coordinates = op.reshape(linear(hidden, weights, "widen"), np.array([-1, SLOTS, COORDINATES]), False)
    space = w_space()
    basis = space.deviations(COORDINATES)
    wplus = op.add(op.matmul(coordinates, op.constant(basis), False, False), space.mean[None, None])
    return ov.Model([op.result(wplus, "wplus")], [image], "encoder")
