"""MobileStyleGAN's synthesis as an OpenVINO graph, built from its arrays without torch.

Input `wplus` (N × 23 × 512), output `image` (N × 3 × size × size, RGB in [-1, 1]).

The wavelet bands are never split as one tensor, which costs a fifth of the time on a CPU: the convolution
before a Haar step is run once per band, and the last Haar step is part of the output kernel.
"""

from typing import Any

import numpy as np

from faceveil.models import mobilestylegan as arrays
from faceveil.models.runtime import openvino

ov = openvino()
op = ov.opset13
Node = Any

# Rows are the corners of a 2×2 square, columns the bands: low, rows, columns, diagonal.
HAAR = 0.5 * np.array([[1, 1, 1, 1], [1, 1, -1, -1], [1, -1, 1, -1], [1, -1, -1, 1]], np.float32)


def build_graph(network: arrays.Synthesis) -> Any:
    """The graph of the whole network or of an early exit."""
    wplus = op.parameter([-1, arrays.SLOTS, arrays.STYLE_DIM], np.float32, "wplus")
    x, before = op.constant(network.constant), network.first
    for block in network.blocks:
        step = _haar_up if block.grows else _stay
        x = step(_modulate(x, before.style, wplus), before, block.up, wplus)
        one, before = block.convolutions
        x = _finish(_spatial(_modulate(x, one.style, wplus), one), one)
    x = _finish(_spatial(_modulate(x, before.style, wplus), before), before)
    x = _to_image(_modulate(x, network.output.style, wplus), network.output)
    x.set_friendly_name("image")
    return ov.Model([op.result(x, "image")], [wplus], f"synthesis-{network.size}")


def as_pixels(model: Any) -> Any:
    """The same graph with RGB uint8 images (N × size × size × 3) as its output."""
    image = model.output(0).get_node().input_value(0)
    # Converting cuts the fraction off, so that half a step more is rounding.
    scaled = op.add(op.multiply(image, np.float32(127.5)), np.float32(128))
    pixels = op.convert(op.clamp(scaled, 0.0, 255.0), np.uint8)
    pixels = op.transpose(pixels, np.array([0, 2, 3, 1]))
    return ov.Model([op.result(pixels, "pixels")], model.get_parameters(), model.get_friendly_name())


def _haar_up(x: Node, before: arrays.Convolution, up: arrays.Style, wplus: Node) -> Node:
    """Finish the convolution `before` band by band, style each band, and take one inverse Haar step."""
    x = _spatial(x, before)
    quarter = len(up.bias) // 4
    bands = [np.arange(quarter)] + [np.arange(quarter + band, 4 * quarter, 3) for band in range(3)]
    low, rows, columns, diagonal = (
        _modulate(_finish(x, before.only(band)), up.only(band, gain=0.5), wplus) for band in bands
    )
    above, below = op.add(low, rows), op.subtract(low, rows)
    left, right = op.add(columns, diagonal), op.subtract(columns, diagonal)
    corners = [op.add(above, left), op.subtract(above, left), op.add(below, right), op.subtract(below, right)]
    return op.depth_to_space(op.concat(corners, 1), "blocks_first", 2)


def _stay(x: Node, before: arrays.Convolution, up: arrays.Style, wplus: Node) -> Node:
    return _modulate(_finish(_spatial(x, before), before), up, wplus)


def _to_image(x: Node, output: arrays.Output) -> Node:
    if len(output.bias) == 3:
        return op.add(_dense(x, output.kernel), _per_channel(output.bias))
    order = [0, 1, 2, *(3 + 3 * channel + band for band in range(3) for channel in range(3))]
    mix = np.kron(HAAR, np.eye(3, dtype=np.float32))
    kernel = np.einsum("ij,jkhw->ikhw", mix, output.kernel[order])
    corners = op.add(_dense(x, kernel), _per_channel(mix @ output.bias[order]))
    return op.depth_to_space(corners, "blocks_first", 2)


def _modulate(x: Node, style: arrays.Style, wplus: Node) -> Node:
    row = op.gather(wplus, np.int64(style.slot), np.int64(1))
    factors = op.add(op.matmul(row, op.constant(style.weight), False, True), op.constant(style.bias[None]))
    return op.multiply(x, op.reshape(factors, np.array([-1, len(style.bias), 1, 1]), False))


def _spatial(x: Node, convolution: arrays.Convolution) -> Node:
    if convolution.depthwise is None:
        return x
    return op.group_convolution(
        x, op.constant(convolution.depthwise[:, None]), [1, 1], [1, 1], [1, 1], [1, 1]
    )


def _finish(x: Node, convolution: arrays.Convolution) -> Node:
    x = op.add(_dense(x, convolution.kernel), op.constant(convolution.noise))
    return op.prelu(
        op.add(x, _per_channel(convolution.bias)), op.constant(np.array([arrays.LEAK], np.float32))
    )


def _dense(x: Node, kernel: arrays.Floats) -> Node:
    pad = [kernel.shape[-1] // 2] * 2
    return op.convolution(x, op.constant(kernel), [1, 1], pad, pad, [1, 1])


def _per_channel(bias: arrays.Floats) -> Node:
    return op.constant(bias.reshape(1, -1, 1, 1))
