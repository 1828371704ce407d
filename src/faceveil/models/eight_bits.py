"""Networks in eight bits: activations and weights rounded to 256 steps, which processors multiply faster.

    ranges = read_ranges("yunet.2023mar")
    network = Network(in_eight_bits(model, ranges))

OpenVINO makes integer arithmetic of the rounding (FakeQuantize). Ranges of activations ship with the program
(training/ranges.py measures them), those of the weights are their own. Processors with VNNI, with AVX512 and with
AVX2 alone agree to 1e-4: those without VNNI add the products of two neighbouring inputs in 16 bits, so weights are
scaled such that these sums fit.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faceveil.models.runtime import openvino

Range = tuple[float, float]
FOLDER = Path(__file__).with_name("data")
LARGEST = 127  # of a weight in eight bits
LARGEST_PAIR = (2**15 - 1) / 255  # two neighbours' weights, times the largest input, must fit in 16 bits
REGISTER = 32  # bytes: pools of fewer channels than that are slower in eight bits than in full precision


def read_ranges(card: str) -> dict[str, Range]:
    """The smallest and largest value of each activation of a card's network, by the tensor's name."""
    text = (FOLDER / f"{card}-ranges.json").read_text(encoding="utf-8")
    return {name: (low, high) for name, (low, high) in json.loads(text).items()}


def in_eight_bits(model: Any, ranges: Mapping[str, Range]) -> Any:
    """The model, changed: what has a range is rounded, and so are the weights of convolutions that read it."""
    _check_names(model, ranges)
    for node in model.get_ordered_ops():
        for port in node.outputs():
            for name in port.get_names() & ranges.keys():
                _round_activation(port, *ranges[name])
    for node in model.get_ordered_ops():
        if "Convolution" in node.get_type_name() and _is_rounded(node.input_value(0).get_node()):
            _round_weights(node)
    model.validate_nodes_and_infer_types()
    return model


def _check_names(model: Any, ranges: Mapping[str, Range]) -> None:
    names = {name for node in model.get_ops() for port in node.outputs() for name in port.get_names()}
    if unknown := sorted(ranges.keys() - names):
        raise KeyError(f"the network has no tensors named {', '.join(unknown)}")


def _is_rounded(node: Any) -> bool:
    if node.get_type_name() == "MaxPool":
        node = node.input_value(0).get_node()
    return bool(node.get_type_name() == "FakeQuantize")


def _round_activation(port: Any, low: float, high: float) -> None:
    port = _behind_narrow_pool(port)
    readers = list(port.get_target_inputs())
    if low < 0:  # symmetric, with 128 steps below zero and 127 above
        high = max(high, -low)
        low = -high * 128 / 127
    rounded = _rounded(port, np.float32(low), np.float32(high), 256)
    for reader in readers:
        reader.replace_source_output(rounded.output(0))


def _behind_narrow_pool(port: Any) -> Any:
    """Where to round: a pool gives the same numbers before and behind, since the largest stays the largest."""
    readers = [reader.get_node() for reader in port.get_target_inputs()]
    if [reader.get_type_name() for reader in readers] != ["MaxPool"]:
        return port
    return readers[0].output(0) if port.get_partial_shape()[1].get_length() < REGISTER else port


def _round_weights(convolution: Any) -> None:
    weights = constant(convolution.input_value(1))
    grouped = convolution.get_type_name() == "GroupConvolution"
    limit = _weight_limit(weights, paired=not grouped)
    rounded = _rounded(openvino().opset13.constant(weights), -limit, limit, 2 * LARGEST + 1)
    convolution.input(1).replace_source_output(rounded.output(0))


def _weight_limit(weights: NDArray[np.float32], paired: bool) -> NDArray[np.float32]:
    """What eight bits must reach, for each output of a convolution, so that no sum of two products overflows."""
    rows = weights.reshape(len(weights), -1)
    limit = np.abs(rows).max(axis=1)
    if paired and weights.shape[1] % 2 == 0:
        one, other = np.moveaxis(weights, 1, -1).reshape(len(weights), -1, 2).transpose(2, 0, 1)
        both = np.maximum(one.clip(0) + other.clip(0), -(one.clip(None, 0) + other.clip(None, 0)))
        # Rounding may add half a step to each of the two.
        limit = np.maximum(limit, both.max(axis=1) * LARGEST / (LARGEST_PAIR - 1))
    elif paired:  # neighbours unknown
        limit = limit * 2 * LARGEST / (LARGEST_PAIR - 1)
    return np.asarray(np.maximum(limit, 1e-9).reshape(-1, *[1] * (weights.ndim - 1)), np.float32)


def constant(port: Any) -> NDArray[np.float32]:
    """Weights as they reach a convolution: a constant, perhaps behind nodes that only give it another shape."""
    node = port.get_node()
    while node.get_type_name() != "Constant":
        node = node.input_value(0).get_node()
    return np.array(node.data, np.float32).reshape(port.get_partial_shape().to_shape())


def _rounded(values: Any, low: Any, high: Any, steps: int) -> Any:
    op = openvino().opset13
    low, high = op.constant(low), op.constant(high)
    return op.fake_quantize(values, low, high, low, high, steps)
