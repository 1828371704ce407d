"""YuNet's graph for RGB bytes, with the heads of each level as one: the same numbers, from a third of the nodes.

    network = yunet(("cls", "obj", "bbox"))
    for stride, level in zip(STRIDES, network(picture[None])):  # 1 × channels × rows × columns

As distributed, each of three levels has a head for class, objectness, box and points, and each of these is a
convolution over one pixel and one over 3×3 within a channel. Side by side in one they give the same numbers but
for rounding (1e-5 at most), and a close look takes half the time. Class and objectness are logits.

The gate is a head of this project's own (training/gate.py): seen at half size, where are faces that only the full
size shows?
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faceveil.models.eight_bits import FOLDER, constant, in_eight_bits, read_ranges
from faceveil.models.prepared import Recipe
from faceveil.models.runtime import Network, once, openvino, read_model, with_folded_constants

CARD = "yunet.2023mar"
STRIDES = (8, 16, 32)  # px between the cells of the network's three levels
GATE = f"{CARD}-gate.npz"
GATE_READS = "256"  # the map that the heads of the finest level read
Layer = tuple[NDArray[np.float32], NDArray[np.float32]]  # weights and bias


def yunet(
    heads: Sequence[str], *, count: int = 1, side: int = -1, eight_bits: bool = False, gate: bool = False
) -> Network:
    """The network with these heads, for pictures of one side, or of any whose sides are multiples of 32.

    With the gate there is one result more: a logit for each cell of the finest level.
    """

    def build() -> Any:
        model = graph().clone()
        results = [_level(model, heads, stride) for stride in STRIDES]
        if gate:
            with np.load(FOLDER / GATE) as layers:
                results.append(_gate(tensor(model, GATE_READS), layers))
        return for_bytes(model, results, count, side, eight_bits)

    return Network(Recipe(CARD, f"{heads} {count} {side} {eight_bits} {gate}", build))


def for_bytes(model: Any, results: Sequence[Any], count: int, side: int, eight_bits: bool) -> Any:
    """YuNet's graph for RGB bytes, with what of it is wanted."""
    ov = openvino()
    model = ov.Model(list(results), model.get_parameters())
    if eight_bits:
        model = in_eight_bits(model, read_ranges(CARD))
    model.reshape([count, 3, side, side])
    steps = ov.preprocess.PrePostProcessor(model)
    steps.input().tensor().set_element_type(ov.Type.u8).set_layout(ov.Layout("NHWC"))
    steps.input().model().set_layout(ov.Layout("NCHW"))
    steps.input().preprocess().convert_element_type(ov.Type.f32).reverse_channels()
    return steps.build()


@once
def graph() -> Any:
    """As distributed but for arithmetic on constants; read once for all networks that are made of it."""
    return with_folded_constants(read_model(CARD))


def _level(model: Any, heads: Sequence[str], stride: int) -> Any:
    """The heads of one level as one result, in the order of their names."""
    op = openvino().opset13
    points, patches = [], []
    for head in heads:
        node, layer = _convolution(model.output(f"{head}_{stride}").get_node())
        patches.append(layer)
        node, layer = _convolution(node.input_value(0).get_node())
        points.append(layer)
    weights, bias = _side_by_side(points)
    out = op.add(op.convolution(node.input_value(0), weights, [1, 1], [0, 0], [0, 0], [1, 1]), bias)
    weights, bias = _side_by_side(patches)
    out = op.add(op.group_convolution(out, weights[:, None], [1, 1], [1, 1], [1, 1], [1, 1]), bias)
    return op.result(out)


def _gate(port: Any, layers: Mapping[str, NDArray[np.float32]]) -> Any:
    """Three convolutions, of 1, 3 and 1 pixels, with nothing negative between them."""
    op = openvino().opset13
    for n, margin in enumerate((0, 1, 0)):
        if n:
            port = op.relu(port)
        port = op.convolution(port, layers[f"weight{n}"], [1, 1], [margin] * 2, [margin] * 2, [1, 1])
        port = op.add(port, layers[f"bias{n}"].reshape(1, -1, 1, 1))
    return op.result(port)


def tensor(model: Any, name: str) -> Any:
    """One of the graph's tensors."""
    ports = (port for node in model.get_ordered_ops() for port in node.outputs())
    return next(port for port in ports if name in port.get_names())


def _convolution(node: Any) -> tuple[Any, Layer]:
    """The next convolution above a node, with its weights (4-D) and the bias that is added to it."""
    bias = None
    while "Convolution" not in node.get_type_name():
        if node.get_type_name() == "Add":
            bias = constant(node.input_value(1))
        node = node.input_value(0).get_node()
    assert bias is not None
    weights = constant(node.input_value(1))
    return node, (weights.reshape(-1, *weights.shape[-3:]), bias.reshape(1, -1, 1, 1))


def _side_by_side(layers: Sequence[Layer]) -> Layer:
    weights, biases = zip(*layers, strict=True)
    return np.concatenate(weights), np.concatenate(biases, axis=1)
