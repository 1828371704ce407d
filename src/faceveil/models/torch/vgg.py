"""The perceptual distance that MIKU takes from Image2StyleGAN: four maps of VGG-16, squared error of each."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from faceveil.models.torch.lpips import Lpips

# Which of the first nine convolutions are compared: conv1_1, conv1_2, conv3_2, conv4_2 (Abdal, Qin and Wonka 2019).
TAPS = (0, 1, 5, 8)
POOLED = (2, 4, 7)  # 2×2 max pooling stands before these


class VggMaps(nn.Module):
    """Distance of two batches of RGB images in [-1, 1], one number per pair, after each map's activation."""

    def __init__(self) -> None:
        super().__init__()
        self.network = Lpips("vgg16")  # the same convolutions, from the same card

    def taps(self, images: Tensor) -> list[Tensor]:
        """The four feature maps."""
        x, kept = (images - self.network.shift) / self.network.scale, []
        for layer in range(TAPS[-1] + 1):
            if layer in POOLED:
                x = F.max_pool2d(x, 2)
            x = F.relu(F.conv2d(x, self.network.kernels[layer], self.network.biases[layer], padding=1))
            if layer in TAPS:
                kept.append(x)
        return kept

    def distance(self, taps: list[Tensor], other: list[Tensor]) -> Tensor:
        """From feature maps, so that a fixed target is computed once."""
        parts = [(a - b).square().mean((1, 2, 3)) for a, b in zip(taps, other, strict=True)]
        return torch.stack(parts).sum(0)

    def forward(self, images: Tensor, others: Tensor) -> Tensor:
        return self.distance(self.taps(images), self.taps(others))
