"""LPIPS, the learned perceptual distance, in torch.

Zhang, Isola, Efros, Shechtman, Wang, "The Unreasonable Effectiveness of Deep Features as a Perceptual Metric"
(2018), version 0.1 of its linear heads. The weights come from a card and are read without running their
pickle.
"""

from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from faceveil.models.store import weights
from faceveil.models.unpickle import read_arrays

Backbone = Literal["alexnet", "vgg16"]

# (stride, padding) of AlexNet's convolutions; a tap follows each, and 3×3 max pooling the first two.
ALEXNET = [(4, 2), (1, 2), (1, 1), (1, 1), (1, 1)]
# Convolutions before each tap of VGG-16; 2×2 max pooling stands between.
VGG16 = [2, 2, 3, 3, 3]


class Lpips(nn.Module):
    """Distance of two batches of RGB images in [-1, 1], one number per pair."""

    shift: Tensor
    scale: Tensor

    def __init__(self, backbone: Backbone = "alexnet") -> None:
        super().__init__()
        stored = read_arrays(weights(f"lpips.{backbone}"))
        layers = stored["AlexNet_0" if backbone == "alexnet" else "VGG16_0"]
        self.backbone = backbone
        self.kernels = nn.ParameterList(
            _frozen(layers[f"Conv_{i}"]["kernel"].transpose(3, 2, 0, 1)) for i in range(len(layers))
        )
        self.biases = nn.ParameterList(_frozen(layers[f"Conv_{i}"]["bias"]) for i in range(len(layers)))
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # a fifth faster
        self.heads = nn.ParameterList(
            _frozen(stored[f"NetLinLayer_{i}"]["Conv_0"]["kernel"].reshape(1, -1, 1, 1)) for i in range(5)
        )
        self.register_buffer("shift", torch.tensor([-0.030, -0.088, -0.188]).view(1, 3, 1, 1))
        self.register_buffer("scale", torch.tensor([0.458, 0.448, 0.450]).view(1, 3, 1, 1))

    def taps(self, images: Tensor) -> list[Tensor]:
        """The five feature maps, each pixel of unit length."""
        x = (images - self.shift) / self.scale
        walk = self._alexnet(x) if self.backbone == "alexnet" else self._vgg16(x)
        return [tap / (tap.square().sum(1, keepdim=True).sqrt() + 1e-10) for tap in walk]

    def distance(self, taps: list[Tensor], other: list[Tensor]) -> Tensor:
        """From feature maps, so that a fixed target is computed once."""
        parts = [
            ((a - b).square() * head).sum(1).mean((1, 2))
            for a, b, head in zip(taps, other, self.heads, strict=True)
        ]
        return torch.stack(parts).sum(0)

    def forward(self, images: Tensor, others: Tensor) -> Tensor:
        return self.distance(self.taps(images), self.taps(others))

    def _alexnet(self, x: Tensor) -> list[Tensor]:
        taps: list[Tensor] = []
        for i, (stride, padding) in enumerate(ALEXNET):
            if i in (1, 2):
                x = F.max_pool2d(x, 3, 2)
            x = F.relu(F.conv2d(x, self.kernels[i], self.biases[i], stride, padding))
            taps.append(x)
        return taps

    def _vgg16(self, x: Tensor) -> list[Tensor]:
        taps: list[Tensor] = []
        layer = 0
        for stage, count in enumerate(VGG16):
            if stage:
                x = F.max_pool2d(x, 2)
            for _ in range(count):
                x = F.relu(F.conv2d(x, self.kernels[layer], self.biases[layer], padding=1))
                layer += 1
            taps.append(x)
        return taps


def _frozen(array: np.ndarray) -> nn.Parameter:
    return nn.Parameter(torch.from_numpy(np.array(array, np.float32, order="C")), requires_grad=False)
