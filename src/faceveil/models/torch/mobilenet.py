"""The two MobileNetV2-like networks that training needs in torch: ImageNet features and a face recogniser.

Sandler et al., "MobileNetV2: Inverted Residuals and Linear Bottlenecks" (2018); Chen et al., "MobileFaceNets"
(2018). Parameter names are those of the files that the cards name, so that a state dict loads as it is.
"""

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from faceveil.models.mobilenetv2 import IMAGENET_MEAN, IMAGENET_STD, STAGES, TAPS
from faceveil.models.runtime import once
from faceveil.models.store import weights
from faceveil.models.unpickle import read_torch


def _conv_bn_relu(inputs: int, outputs: int, kernel: int, stride: int = 1, groups: int = 1) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False),
        nn.BatchNorm2d(outputs),
        nn.ReLU6(),
    )


class InvertedResidual(nn.Module):
    """Widen 1×1, depthwise 3×3, narrow 1×1 without activation; a shortcut where shapes agree."""

    def __init__(self, inputs: int, outputs: int, stride: int, expand: int) -> None:
        super().__init__()
        wide = inputs * expand
        layers = [_conv_bn_relu(inputs, wide, 1)] if expand > 1 else []
        layers.append(_conv_bn_relu(wide, wide, 3, stride, groups=wide))
        narrow = [nn.Conv2d(wide, outputs, 1, bias=False), nn.BatchNorm2d(outputs)]
        self.conv = nn.Sequential(*layers, *narrow)
        self.shortcut = stride == 1 and inputs == outputs

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.conv(x)
        return x + y if self.shortcut else y


def _stages(inputs: int, table: tuple[tuple[int, int, int, int], ...]) -> list[nn.Module]:
    """Rows: expansion, channels, repeats, stride of the first."""
    blocks: list[nn.Module] = []
    for expand, channels, repeats, stride in table:
        for i in range(repeats):
            blocks.append(InvertedResidual(inputs, channels, stride if i == 0 else 1, expand))
            inputs = channels
    return blocks


class MobileNetV2(nn.Module):
    """ImageNet features; RGB in [0, 1], normalised here. `taps` are the maps that a head may read."""

    mean: Tensor
    std: Tensor

    def __init__(self) -> None:
        super().__init__()
        first, last = _conv_bn_relu(3, 32, 3, 2), _conv_bn_relu(320, 1280, 1)
        self.features = nn.ModuleList([first, *_stages(32, STAGES), last])
        self.register_buffer("mean", torch.tensor(IMAGENET_MEAN).view(1, 3, 1, 1), persistent=False)
        self.register_buffer("std", torch.tensor(IMAGENET_STD).view(1, 3, 1, 1), persistent=False)

    @classmethod
    def pretrained(cls) -> "MobileNetV2":
        network = cls()
        stored = {
            k: v for k, v in read_torch(weights("mobilenetv2.imagenet")).items() if "classifier" not in k
        }
        network.load_state_dict({name: torch.from_numpy(array.copy()) for name, array in stored.items()})
        return network.eval()

    def taps(self, images: Tensor) -> list[Tensor]:
        x = (images - self.mean) / self.std
        kept = []
        for number, block in enumerate(self.features):
            x = block(x)
            if number in TAPS:
                kept.append(x)
        return kept


class _Separable(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.depthwise = nn.Conv2d(64, 64, 3, padding=1, groups=64, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.pointwise = nn.Conv2d(64, 64, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(64)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.bn1(self.depthwise(x)))
        return torch.relu(self.bn2(self.pointwise(x)))


class _GlobalDepthwise(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.depthwise = nn.Conv2d(512, 512, 7, groups=512, bias=False)
        self.bn = nn.BatchNorm2d(512)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.bn(self.depthwise(x))
        return y


class MobileFaceNet(nn.Module):
    """A face recogniser: RGB in [0, 1], 112×112 in the ArcFace template → unit vectors of 128."""

    TABLE = ((2, 64, 5, 2), (4, 128, 1, 2), (2, 128, 6, 1), (4, 128, 1, 2), (2, 128, 2, 1))
    mean: Tensor
    std: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = _conv_bn_relu(3, 64, 3, 2)
        self.dw_conv = _Separable()
        self.features = nn.Sequential(*_stages(64, self.TABLE))
        self.conv2 = _conv_bn_relu(128, 512, 1)
        self.gdconv = _GlobalDepthwise()
        self.conv3 = nn.Conv2d(512, 128, 1)
        self.bn = nn.BatchNorm2d(128)
        self.register_buffer("mean", torch.tensor(IMAGENET_MEAN).view(1, 3, 1, 1), persistent=False)
        self.register_buffer("std", torch.tensor(IMAGENET_STD).view(1, 3, 1, 1), persistent=False)

    @classmethod
    def pretrained(cls) -> "MobileFaceNet":
        network = cls()
        stored = read_torch(weights("mobilefacenet.facesdk"))
        network.load_state_dict({name: torch.from_numpy(array.copy()) for name, array in stored.items()})
        return network.eval().requires_grad_(False).fold()

    def fold(self) -> "MobileFaceNet":
        """Multiply every batch normalisation into the convolution that stands before it."""
        for parent in list(self.modules()):
            for (name, convolution), (after, norm) in pairwise(list(parent.named_children())):
                if isinstance(convolution, nn.Conv2d) and isinstance(norm, nn.BatchNorm2d):
                    setattr(parent, name, fuse_conv_bn_eval(convolution, norm))
                    setattr(parent, after, nn.Identity())
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        return self

    def layers(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """The layer before the last (N × 512), and the embedding (N × 128)."""
        x = self.dw_conv(self.conv1((images - self.mean) / self.std))
        x = self.gdconv(self.conv2(self.features(x)))
        return x.flatten(1), nn.functional.normalize(self.bn(self.conv3(x)).flatten(1), dim=1)

    def forward(self, images: Tensor) -> Tensor:
        return self.layers(images)[1]


@once
def face_recognizer() -> MobileFaceNet:
    """The one frozen recogniser that the encoder reads and the losses ask; it never judges."""
    return MobileFaceNet.pretrained()
