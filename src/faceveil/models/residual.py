"""Join a new face to its photo: what to add to the generator's map of it, so that one rendering shows both.

Where a code is rendered by itself, its skin, light, hair and frame are not the photo's, and no blending of two
pictures makes one of them. So a network sees the photo with the light on its skin in the place of its face
(`faces/light.py`), and the generator's map at 64 px of the new one, and says what to add to that map; what
comes out of the generator's later blocks then is hair, light, neck and face of one picture. `training/residual.py`
teaches it.
"""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from faceveil.models import mobilestylegan as arrays
from faceveil.models.generator import synthesis
from faceveil.models.layers import Node, Weights, read_weights
from faceveil.models.runtime import openvino
from faceveil.models.synthesis import Join, as_pixels, bands_of, picture, style_factors

WEIGHTS = Path(__file__).with_name("data") / "residual.npz"
SEEN = 256  # px of the photo that it sees
CELL = 4  # of them to one of the map
LEVELS = 4


def joining(photo: Node, keep: Node, weights: Weights) -> Join:
    """For what is seen of a photo, 1 × 3 × 256 × 256 in [-1, 1], and how much of it stays, 1 × 1 × 256 × 256."""
    return partial(_joined, photo, keep, weights)


def read(path: Path = WEIGHTS) -> Weights:
    """What the training packed."""
    return read_weights(path)


def _joined(photo: Node, keep: Node, weights: Weights, bands: list[Node]) -> list[Node]:
    """The map's four bands with the residual."""
    op = openvino().opset13
    which = bands_of(arrays.STYLE_DIM)
    known = op.concat([photo, op.subtract(op.multiply(keep, np.float32(2)), np.float32(1))], 1)
    x = _conv(op.space_to_depth(known, "depth_first", CELL), weights, "photo")
    for band, rows in zip(bands, which, strict=True):
        x = op.add(x, _conv1(band, weights["map.weight"][:, rows]))
    x = op.add(x, _per_channel(weights["map.bias"]))
    kept = []
    for level in range(LEVELS):
        if level:
            x = _conv(_leaky(x), weights, f"down.{level - 1}", stride=2)
        x = _step(x, weights, f"before.{level}")
        kept.append(x)
    for level in reversed(range(LEVELS)):
        if level < LEVELS - 1:
            x = op.add(kept[level], _doubled(_conv(x, weights, f"up.{level}", pad=0)))
        x = _step(x, weights, f"after.{level}")
    x = _leaky(x)
    return [
        op.add(band, op.add(_conv1(x, weights["out.weight"][rows]), _per_channel(weights["out.bias"][rows])))
        for band, rows in zip(bands, which, strict=True)
    ]


def _step(x: Node, weights: Weights, name: str) -> Node:
    y = _conv(_leaky(_conv(_leaky(x), weights, f"{name}.one")), weights, f"{name}.two")
    return openvino().opset13.add(x, y)


def _conv(x: Node, weights: Weights, name: str, stride: int = 1, pad: int = 1) -> Node:
    op = openvino().opset13
    kernel = op.constant(np.ascontiguousarray(weights[f"{name}.weight"]))
    y = op.convolution(x, kernel, [stride] * 2, [pad] * 2, [pad] * 2, [1, 1])
    return op.add(y, _per_channel(weights[f"{name}.bias"]))


def _conv1(x: Node, kernel: Any) -> Node:
    op = openvino().opset13
    return op.convolution(x, op.constant(np.ascontiguousarray(kernel)), [1, 1], [0, 0], [0, 0], [1, 1])


def _leaky(x: Node) -> Node:
    op = openvino().opset13
    return op.prelu(x, op.constant(np.array([arrays.LEAK], np.float32)))


def _doubled(x: Node) -> Node:
    op = openvino().opset13
    side = 2 * x.get_output_shape(0)[2]
    return op.interpolate(
        x, np.array([side, side]), "linear", "sizes", axes=np.array([2, 3]),
        coordinate_transformation_mode="half_pixel",
    )  # fmt: skip


def _per_channel(bias: Any) -> Node:
    return openvino().opset13.constant(np.ascontiguousarray(bias).reshape(1, -1, 1, 1))


def build_graph(size: int, weights: Weights) -> Any:
    """The OpenVINO model: `wplus` 1 × 23 × 512, `photo` and `keep` → `pixels` 1 × size × size × 3, RGB uint8."""
    ov = openvino()
    op = ov.opset13
    wplus = op.parameter([1, arrays.SLOTS, arrays.STYLE_DIM], np.float32, "wplus")
    photo = op.parameter([1, 3, SEEN, SEEN], np.float32, "photo")
    keep = op.parameter([1, 1, SEEN, SEEN], np.float32, "keep")
    image = picture(synthesis(size), partial(style_factors, wplus), join=joining(photo, keep, weights))
    return as_pixels(ov.Model([op.result(image, "image")], [wplus, photo, keep], f"joined-{size}"))
