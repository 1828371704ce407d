"""Swapper: a network that says how much of each channel to keep (StyleID, section 6).

From the codes of a source and a target it predicts α in (0, 1) for every slot and channel, and the new code is
α · source + (1 − α) · target. Three modules of four layers each do so: one for the coarse slots, one for the
identity slots, one for the fine slots. `training/swapper.py` trained them on the results of the mask method.
"""

from pathlib import Path
from typing import Any

import numpy as np

from faceveil.models.layers import Node, Weights, linear, read_weights
from faceveil.models.mobilestylegan import LEAK, SLOTS, STYLE_DIM, Floats
from faceveil.models.runtime import Network, once, openvino

DATA = Path(__file__).with_name("data") / "swapper.npz"
MODULES = {"coarse": (0, 4), "identity": (4, 13), "fine": (13, SLOTS)}  # slots, the last not included
DEPTH = 4  # layers of a module


def alpha(source: Floats, target: Floats, weights: Path = DATA) -> Floats:
    """How much of the source to keep, 23 × 512, from two codes of that shape."""
    return np.asarray(_network(weights)([source, target])[0], np.float32)


def mixed(source: Floats, target: Floats, weights: Path = DATA) -> Floats:
    """The source's code with as much of the target's as the network says."""
    keep = alpha(source, target, weights)
    return np.asarray(keep * source + (1 - keep) * target, np.float32)


@once
def _network(path: Path) -> Network:
    return Network(build_graph(read_weights(path)))


def build_graph(weights: Weights) -> Any:
    """The OpenVINO model: `source` and `target`, 23 × 512 each → `alpha`, 23 × 512."""
    ov = openvino()
    op = ov.opset13
    codes = [op.parameter([SLOTS, STYLE_DIM], np.float32, name) for name in ("source", "target")]
    scaled = [op.divide(op.subtract(code, weights["mean"][None]), weights["scale"][None]) for code in codes]
    both = op.concat(scaled, 1)
    parts = [_module(both, weights, name, *slots) for name, slots in MODULES.items()]
    out = op.sigmoid(op.add(op.concat(parts, 0), weights["lean"]))
    return ov.Model([op.result(out, "alpha")], codes, "swapper")


def _module(both: Node, weights: Weights, name: str, first: int, end: int) -> Node:
    """Four layers over the slots of one module; `slot` tells them which slot it is."""
    op = openvino().opset13
    rows = op.slice(both, *(np.array([value]) for value in (first, end, 1, 0)))
    x = op.add(linear(rows, weights, f"{name}.0"), weights["slot"][first:end])
    for layer in range(1, DEPTH):
        x = linear(op.prelu(x, op.constant(np.array([LEAK], np.float32))), weights, f"{name}.{layer}")
    return x
