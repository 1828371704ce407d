"""MobileStyleGAN's synthesis as an OpenVINO graph, built from its arrays without torch.

Input `wplus` (N × 23 × 512), output `image` (N × 3 × size × size, RGB in [-1, 1]).

A window draws a part of the picture alone: what costs time are the largest maps, and a detail needs no more of them
than its surroundings.

The wavelet bands are never split as one tensor, which costs a fifth of the time on a CPU: the convolution
before a Haar step is run once per band, and the last Haar step is part of the output kernel.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faceveil.models import mobilestylegan as arrays
from faceveil.models.runtime import openvino
from faceveil.models.windows import WHOLE, Part, Window

ov = openvino()
op = ov.opset13
Node = Any
Factors = Callable[[arrays.Style], Node]
Join = Callable[[list[Node]], list[Node]]  # what is done to the four bands of the map at JOINED px
JOINED = 64

# Rows are the corners of a 2×2 square, columns the bands: low, rows, columns, diagonal.
HAAR = 0.5 * np.array([[1, 1, 1, 1], [1, 1, -1, -1], [1, -1, 1, -1], [1, -1, -1, 1]], np.float32)


def build_graph(network: arrays.Synthesis, window: Window = WHOLE) -> Any:
    """The graph of the whole network or of an early exit, or of a part of its picture."""
    wplus = op.parameter([-1, arrays.SLOTS, arrays.STYLE_DIM], np.float32, "wplus")
    x = picture(network, partial(style_factors, wplus), window)
    x.set_friendly_name("image")
    return ov.Model([op.result(x, "image")], [wplus], f"synthesis-{network.size}")


def picture(
    network: arrays.Synthesis, factors: Factors, window: Window = WHOLE, join: Join | None = None
) -> Node:
    """What the network draws, in [-1, 1], where each style has these factors, its map changed as `join` says."""
    x, before, shown = op.constant(network.constant), network.first, WHOLE.part(4)
    for block, margin in zip(network.blocks, margins(network.blocks), strict=True):
        one, two = block.convolutions
        wanted = window.part(one.noise.shape[-1], margin)
        x = _modulate(x, before.style, factors)
        if block.grows:
            here = join if before.noise.shape[-1] == JOINED else None
            x = _haar_up(x, _seen(before, shown), block.up, factors, here)
        else:
            x = _stay(x, _seen(before, shown), block.up, factors)
        x = _cut(x, wanted, shown.doubled() if block.grows else shown)
        x = _finish(_spatial(_modulate(x, one.style, factors), one), _seen(one, wanted))
        before, shown = two, wanted
    x = _finish(_spatial(_modulate(x, before.style, factors), before), _seen(before, shown))
    x = _cut(x, window.part(before.noise.shape[-1]), shown)
    return _to_image(_modulate(x, network.output.style, factors), network.output)


def margins(blocks: Sequence[arrays.Block]) -> list[int]:
    """How many pixels around a window each block needs: a depthwise convolution reaches one pixel far."""
    margins, margin = [], 0
    for block in reversed(blocks):
        margin += sum(convolution.depthwise is not None for convolution in block.convolutions)
        margins.append(margin)
        margin = -(-margin // 2) if block.grows else margin
    return margins[::-1]


def _seen(convolution: arrays.Convolution, part: Part) -> arrays.Convolution:
    """With the noise of this part of the map."""
    rows, columns = part.within(WHOLE.part(convolution.noise.shape[-1]))
    return replace(convolution, noise=np.ascontiguousarray(convolution.noise[:, :, rows, columns]))


def _cut(x: Node, wanted: Part, shown: Part) -> Node:
    if wanted == shown:
        return x
    rows, columns = wanted.within(shown)
    corners = np.array([[rows.start, columns.start], [rows.stop, columns.stop]])
    return op.slice(x, corners[0], corners[1], np.array([1, 1]), np.array([2, 3]))


def as_pixels(model: Any) -> Any:
    """The same graph with RGB uint8 images (N × size × size × 3) as its output."""
    image = model.output(0).get_node().input_value(0)
    # Converting cuts the fraction off, so that half a step more is rounding.
    scaled = op.add(op.multiply(image, np.float32(127.5)), np.float32(128))
    pixels = op.convert(op.clamp(scaled, 0.0, 255.0), np.uint8)
    pixels = op.transpose(pixels, np.array([0, 2, 3, 1]))
    return ov.Model([op.result(pixels, "pixels")], model.get_parameters(), model.get_friendly_name())


def bands_of(channels: int) -> list[NDArray[np.intp]]:
    """Which channels of a map are the low band, rows, columns and the diagonal."""
    quarter = channels // 4
    return [np.arange(quarter), *(np.arange(quarter + band, channels, 3) for band in range(3))]


def _haar_up(
    x: Node, before: arrays.Convolution, up: arrays.Style, factors: Factors, join: Join | None = None
) -> Node:
    """Finish the convolution `before` band by band, style each band, and take one inverse Haar step."""
    x = _spatial(x, before)
    bands = bands_of(len(up.bias))
    finished = [_finish(x, before.only(band)) for band in bands]
    if join is not None:
        finished = join(finished)
    low, rows, columns, diagonal = (
        _modulate(one, up.only(band, gain=0.5), factors) for one, band in zip(finished, bands, strict=True)
    )
    above, below = op.add(low, rows), op.subtract(low, rows)
    left, right = op.add(columns, diagonal), op.subtract(columns, diagonal)
    corners = [op.add(above, left), op.subtract(above, left), op.add(below, right), op.subtract(below, right)]
    return op.depth_to_space(op.concat(corners, 1), "blocks_first", 2)


def _stay(x: Node, before: arrays.Convolution, up: arrays.Style, factors: Factors) -> Node:
    return _modulate(_finish(_spatial(x, before), before), up, factors)


def _to_image(x: Node, output: arrays.Output) -> Node:
    if len(output.bias) == 3:
        return op.add(_dense(x, output.kernel), _per_channel(output.bias))
    order = [0, 1, 2, *(3 + 3 * channel + band for band in range(3) for channel in range(3))]
    mix = np.kron(HAAR, np.eye(3, dtype=np.float32))
    kernel = np.einsum("ij,jkhw->ikhw", mix, output.kernel[order])
    corners = op.add(_dense(x, kernel), _per_channel(mix @ output.bias[order]))
    return op.depth_to_space(corners, "blocks_first", 2)


def _modulate(x: Node, style: arrays.Style, factors: Factors) -> Node:
    return op.multiply(x, factors(style))


def style_factors(wplus: Node, style: arrays.Style) -> Node:
    """One for each channel, N × channels × 1 × 1."""
    row = op.gather(wplus, np.int64(style.slot), np.int64(1))
    found = op.add(op.matmul(row, op.constant(style.weight), False, True), op.constant(style.bias[None]))
    return op.reshape(found, np.array([-1, len(style.bias), 1, 1]), False)


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
