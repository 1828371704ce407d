"""ResNet-50 (He et al. 2015) in torch, with torchvision's parameter names, so that such a file loads as it is."""

import torch
from torch import Tensor, nn

from faceveil.models.mobilenetv2 import IMAGENET_MEAN, IMAGENET_STD
from faceveil.models.resnet50 import STAGES


class Bottleneck(nn.Module):
    """1×1, 3×3 with the stride, 1×1 to four times the channels; a projection where shapes differ."""

    def __init__(self, inputs: int, channels: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, channels, 1, bias=False)
        self.conv2 = nn.Conv2d(channels, channels, 3, stride, 1, bias=False)
        self.conv3 = nn.Conv2d(channels, 4 * channels, 1, bias=False)
        self.bn1, self.bn2 = nn.BatchNorm2d(channels), nn.BatchNorm2d(channels)
        self.bn3 = nn.BatchNorm2d(4 * channels)
        self.downsample: nn.Module | None = None
        if stride != 1 or inputs != 4 * channels:
            project = nn.Conv2d(inputs, 4 * channels, 1, stride, bias=False)
            self.downsample = nn.Sequential(project, nn.BatchNorm2d(4 * channels))

    def forward(self, x: Tensor) -> Tensor:
        y = torch.relu(self.bn1(self.conv1(x)))
        y = torch.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        return torch.relu(y + (x if self.downsample is None else self.downsample(x)))


class ResNet50(nn.Module):
    """RGB in [0, 1], normalised here; 2048 features, the mean over the picture."""

    mean: Tensor
    std: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        inputs = 64
        for stage, (count, channels, first_stride) in enumerate(STAGES, start=1):
            blocks = []
            for position in range(count):
                blocks.append(Bottleneck(inputs, channels, first_stride if position == 0 else 1))
                inputs = 4 * channels
            self.add_module(f"layer{stage}", nn.Sequential(*blocks))
        self.register_buffer("mean", torch.tensor(IMAGENET_MEAN).view(1, 3, 1, 1), persistent=False)
        self.register_buffer("std", torch.tensor(IMAGENET_STD).view(1, 3, 1, 1), persistent=False)

    def features(self, images: Tensor) -> Tensor:
        x = torch.relu(self.bn1(self.conv1((images - self.mean) / self.std)))
        x = nn.functional.max_pool2d(x, 3, 2, 1)
        for stage in range(1, len(STAGES) + 1):
            x = self.get_submodule(f"layer{stage}")(x)
        return x.mean(dim=(2, 3))
