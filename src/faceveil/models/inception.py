"""InceptionV3 as the Fréchet Inception Distance (Heusel et al. 2017) uses it, as an OpenVINO graph.

The weights are the 2015 TensorFlow network's in the names that PyTorch tools gave them
(`*inception-2015-12-05-6726825d.pth`, `Conv2d_1a_3x3.conv.weight` …, 1008 classes). They are on no package index,
so the user points to the file. That network differs from torchvision's: average pools leave out the border, the
last block pools by maximum, and pictures are resized as TensorFlow 1 did.
"""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faceveil.errors import WeightsError
from faceveil.models.layers import Node, Weights, conv
from faceveil.models.runtime import Network, once, openvino
from faceveil.models.unpickle import read_torch

SIZE = 299
FEATURES = 2048
CLASSES = 1008
EPSILON = 1e-3  # of its batch normalisations
FLAT, TALL = (0, 3), (3, 0)  # paddings of 1×7 and 7×1


def inception_features(path: Path, picture: NDArray[np.uint8]) -> NDArray[np.float32]:
    """The 2048 features of one RGB picture of any size, with the weights of this file."""
    planes = (resized(picture, SIZE) - 128) / 128
    return np.asarray(_network(path)(planes.transpose(2, 0, 1)[None].astype(np.float32))[0][0], np.float32)


def resized(picture: NDArray[np.uint8], size: int) -> NDArray[np.float32]:
    """Bilinear as in TensorFlow 1: corners coincide at the top left, and shrinking does not smooth."""
    rows, columns = (_Between(length, size) for length in picture.shape[:2])
    flat = picture.astype(np.float32)
    flat = flat[rows.low] + (flat[rows.high] - flat[rows.low]) * rows.part[:, None, None]
    return np.asarray(
        flat[:, columns.low] + (flat[:, columns.high] - flat[:, columns.low]) * columns.part[:, None]
    )


class _Between:
    """For each of `count` places along an axis: the pixels on both sides, and how far along it is."""

    def __init__(self, length: int, count: int) -> None:
        place = np.arange(count, dtype=np.float32) * np.float32(length / count)
        self.low = np.floor(place).astype(np.intp)
        self.high = np.minimum(self.low + 1, length - 1)
        self.part = place - self.low


@once
def _network(path: Path) -> Network:
    return Network(inception(read_inception(path)))


def read_inception(path: Path) -> dict[str, NDArray[Any]]:
    """The tensors of the file by name; refused where they are not those of FID's network."""
    table = read_torch(path)
    shapes = {"Conv2d_1a_3x3.conv.weight": (32, 3, 3, 3), "fc.weight": (CLASSES, FEATURES)}
    for name, shape in shapes.items():
        found = table[name].shape if name in table else None
        if found != shape:
            raise WeightsError(
                f"{path.name} is not FID's InceptionV3: {name} must have the shape {shape}, not {found}. "
                "Give the file inception-2015-12-05-6726825d.pth of pytorch-fid or torch-fidelity."
            )
    return table


def inception(table: Weights) -> Any:
    """The network as an OpenVINO model: 1×3×299×299 in [-1, 1] in, 1×2048 out."""
    ov = openvino()
    ops = ov.opset13
    layer = partial(_layer, table)
    image = ops.parameter([1, 3, SIZE, SIZE], np.float32, name="image")
    try:
        x = layer(image, "Conv2d_1a_3x3", stride=2)
        x = layer(layer(x, "Conv2d_2a_3x3"), "Conv2d_2b_3x3", pad=1)
        x = layer(_max_pool(x, stride=2), "Conv2d_3b_1x1")
        x = _max_pool(layer(x, "Conv2d_4a_3x3"), stride=2)
        for name in ("Mixed_5b", "Mixed_5c", "Mixed_5d"):
            x = _wide(table, x, name)
        x = _shrink_to_17(table, x, "Mixed_6a")
        for name in ("Mixed_6b", "Mixed_6c", "Mixed_6d", "Mixed_6e"):
            x = _crossed(table, x, name)
        x = _shrink_to_8(table, x, "Mixed_7a")
        x = _forked(table, x, "Mixed_7b", _mean_pool(x))
        x = _forked(table, x, "Mixed_7c", _max_pool(x, stride=1))
    except KeyError as error:
        raise WeightsError(f"the weights of FID's InceptionV3 lack {error.args[0]}.") from error
    return ov.Model([ops.reduce_mean(x, np.array([2, 3]), keep_dims=False)], [image], "inception")


def _layer(table: Weights, x: Node, name: str, *, stride: int = 1, pad: int | tuple[int, int] = 0) -> Node:
    y = conv(x, table, f"{name}.conv", f"{name}.bn", stride=stride, pad=pad, epsilon=EPSILON)
    return openvino().opset13.relu(y)


def _joined(*branches: Node) -> Node:
    return openvino().opset13.concat(list(branches), 1)


def _max_pool(x: Node, *, stride: int) -> Node:
    """3×3; with stride 1 the border is padded so that the size stays."""
    pad = [1, 1] if stride == 1 else [0, 0]
    return openvino().opset1.max_pool(x, [stride] * 2, pad, pad, [3, 3])  # later ones also give places


def _mean_pool(x: Node) -> Node:
    """3×3, the size kept; the padding does not count."""
    return openvino().opset13.avg_pool(x, [1, 1], [1, 1], [1, 1], [3, 3], True)


def _wide(table: Weights, x: Node, name: str) -> Node:
    """1×1, 5×5, two 3×3 and a mean side by side (figure 5 of the InceptionV3 paper)."""
    layer = partial(_layer, table)
    five = layer(layer(x, f"{name}.branch5x5_1"), f"{name}.branch5x5_2", pad=2)
    three = layer(layer(x, f"{name}.branch3x3dbl_1"), f"{name}.branch3x3dbl_2", pad=1)
    three = layer(three, f"{name}.branch3x3dbl_3", pad=1)
    return _joined(
        layer(x, f"{name}.branch1x1"), five, three, layer(_mean_pool(x), f"{name}.branch_pool")
    )  # fmt: skip


def _shrink_to_17(table: Weights, x: Node, name: str) -> Node:
    layer = partial(_layer, table)
    three = layer(layer(x, f"{name}.branch3x3dbl_1"), f"{name}.branch3x3dbl_2", pad=1)
    three = layer(three, f"{name}.branch3x3dbl_3", stride=2)
    return _joined(layer(x, f"{name}.branch3x3", stride=2), three, _max_pool(x, stride=2))


def _crossed(table: Weights, x: Node, name: str) -> Node:
    """7×7 as 1×7 and 7×1, once and twice (figure 6)."""
    layer = partial(_layer, table)
    single, twice = layer(x, f"{name}.branch7x7_1"), layer(x, f"{name}.branch7x7dbl_1")
    for number, pad in ((2, FLAT), (3, TALL)):
        single = layer(single, f"{name}.branch7x7_{number}", pad=pad)
    for number, pad in ((2, TALL), (3, FLAT), (4, TALL), (5, FLAT)):
        twice = layer(twice, f"{name}.branch7x7dbl_{number}", pad=pad)
    return _joined(
        layer(x, f"{name}.branch1x1"), single, twice, layer(_mean_pool(x), f"{name}.branch_pool")
    )  # fmt: skip


def _shrink_to_8(table: Weights, x: Node, name: str) -> Node:
    layer = partial(_layer, table)
    three = layer(layer(x, f"{name}.branch3x3_1"), f"{name}.branch3x3_2", stride=2)
    seven = layer(x, f"{name}.branch7x7x3_1")
    for number, pad in ((2, FLAT), (3, TALL)):
        seven = layer(seven, f"{name}.branch7x7x3_{number}", pad=pad)
    return _joined(three, layer(seven, f"{name}.branch7x7x3_4", stride=2), _max_pool(x, stride=2))


def _forked(table: Weights, x: Node, name: str, pooled: Node) -> Node:
    """3×3 as 1×3 beside 3×1 (figure 7)."""
    layer = partial(_layer, table)
    three = layer(x, f"{name}.branch3x3_1")
    twice = layer(layer(x, f"{name}.branch3x3dbl_1"), f"{name}.branch3x3dbl_2", pad=1)
    forks = [
        layer(stem, f"{name}.{branch}{side}", pad=pad)
        for stem, branch in ((three, "branch3x3_2"), (twice, "branch3x3dbl_3"))
        for side, pad in (("a", (0, 1)), ("b", (1, 0)))
    ]
    return _joined(layer(x, f"{name}.branch1x1"), *forks, layer(pooled, f"{name}.branch_pool"))
