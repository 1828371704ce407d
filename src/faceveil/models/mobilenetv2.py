"""MobileNetV2 (Sandler et al. 2018) as an OpenVINO graph, from torchvision's weights and without torch.

Up to the mean over the picture: 1280 features per picture, for a Fréchet distance.
"""

from functools import cache
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from faceveil.models.mobilefacenet import _conv, _inverted_residual, _relu6
from faceveil.models.runtime import Network, openvino
from faceveil.models.store import weights
from faceveil.models.unpickle import read_torch

CARD = "mobilenetv2.imagenet"
SIZE = 224
# (blocks, stride of the first): the rows of the paper's table 2 after the first bottleneck.
STAGES = ((2, 2), (3, 2), (4, 2), (3, 1), (3, 2), (1, 1))
MEAN = np.array([0.485, 0.456, 0.406], np.float32)
DEVIATION = np.array([0.229, 0.224, 0.225], np.float32)


def features(crop: NDArray[np.uint8]) -> NDArray[np.float32]:
    """The 1280 features of one RGB picture, scaled to 224×224."""
    scaled = cv2.resize(crop, (SIZE, SIZE), interpolation=cv2.INTER_AREA).astype(np.float32) / 255
    planes = ((scaled - MEAN) / DEVIATION).transpose(2, 0, 1)[None]
    return np.asarray(_network()(np.ascontiguousarray(planes))[0][0], np.float32)


@cache
def _network() -> Network:
    return Network(mobilenetv2())


def mobilenetv2() -> Any:
    """The network as an OpenVINO model: N×3×224×224 in, N×1280 out."""
    ov = openvino()
    from openvino import opset13 as ops

    table = read_torch(weights(CARD))
    image = ops.parameter([-1, 3, SIZE, SIZE], np.float32, name="image")
    x = _relu6(_conv(image, table, "features.0.0", "features.0.1", stride=2, pad=1))
    # The first bottleneck does not expand.
    x = _relu6(_conv(x, table, "features.1.conv.0.0", "features.1.conv.0.1", pad=1))
    x = _conv(x, table, "features.1.conv.1", "features.1.conv.2")
    block = 2
    for count, first_stride in STAGES:
        for position in range(count):
            x = _inverted_residual(x, table, f"features.{block}.conv", first_stride if position == 0 else 1)
            block += 1
    x = _relu6(_conv(x, table, "features.18.0", "features.18.1"))
    return ov.Model([ops.reduce_mean(x, np.array([2, 3]), keep_dims=False)], [image], "mobilenetv2")
