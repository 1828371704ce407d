"""The encoder in torch: an aligned face (FFHQ crop, 128 px) → W+.

MobileNetV2's maps at four depths and a thumbnail of the photo, pooled to small grids, and a frozen recogniser's
last two layers go through a linear bottleneck, a residual layer, and a linear map to 200 whitened coordinates of
W for each of the 23 slots. The bottleneck and the last map start as a reduced-rank ridge regression
(`set_linear`), the residual layer as nothing.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from faceveil.models.encoder import COORDINATES, GRIDS, INPUT_SIZE, THUMBNAIL
from faceveil.models.mobilefacenet import WIDTHS, arcface_matrices
from faceveil.models.mobilestylegan import SLOTS, Floats
from faceveil.models.torch.mobilenet import MobileNetV2, face_recognizer
from faceveil.models.wspace import w_space

RANK = 1024  # a half of it holds a quarter of what refinement changes, and so cannot learn the rest
RECOGNIZER_FEATURES = sum(WIDTHS)  # the last of the features
FEATURES = 24 * 64 + 32 * 64 + 96 * 16 + 320 * 4 + 3 * THUMBNAIL**2 + RECOGNIZER_FEATURES


__all__ = ["COORDINATES", "INPUT_SIZE", "RANK", "RECOGNIZER_FEATURES", "Encoder"]


class Encoder(nn.Module):
    """RGB in [0, 1], N × 3 × 128 × 128 → W+, N × 23 × 512."""

    feature_mean: Tensor
    feature_scale: Tensor
    mean: Tensor
    basis: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.backbone = MobileNetV2()
        del self.backbone.features[18]  # the classifier's widening to 1280 channels
        self.register_buffer("feature_mean", torch.zeros(FEATURES))
        self.register_buffer("feature_scale", torch.ones(FEATURES))
        self.narrow = nn.Linear(FEATURES, RANK)
        last = nn.Linear(RANK, RANK)
        self.residual = nn.Sequential(nn.Linear(RANK, RANK), nn.GELU(), last)
        self.widen = nn.Linear(RANK, SLOTS * COORDINATES)
        nn.init.zeros_(last.weight)
        nn.init.zeros_(last.bias)
        space = w_space()
        basis = space.deviations(COORDINATES)
        self.register_buffer("mean", torch.from_numpy(space.mean), persistent=False)
        self.register_buffer("basis", torch.from_numpy(basis), persistent=False)

    def features(self, images: Tensor) -> Tensor:
        """What the head reads, as it comes from the backbone."""
        maps = self.backbone.taps(images)
        pooled = [F.adaptive_avg_pool2d(m, grid).flatten(1) for m, grid in zip(maps, GRIDS, strict=True)]
        who = face_recognizer().layers(arcface_crop(images))
        return torch.cat([*pooled, F.adaptive_avg_pool2d(images, THUMBNAIL).flatten(1), *who], dim=1)

    def coordinates(self, images: Tensor) -> Tensor:
        """Whitened coordinates, N × 23 × 300."""
        scaled = (self.features(images) - self.feature_mean) / self.feature_scale
        hidden = self.narrow(scaled)
        hidden = hidden + self.residual(hidden)
        coordinates: Tensor = self.widen(hidden).reshape(-1, SLOTS, COORDINATES)
        return coordinates

    def forward(self, images: Tensor) -> Tensor:
        return self.mean + self.coordinates(images) @ self.basis

    @torch.no_grad()
    def set_linear(self, mean: Floats, scale: Floats, narrow: Floats, widen: Floats, bias: Floats) -> None:
        """Start as the linear map widen · narrow · (features - mean) / scale + bias."""
        self.feature_mean.copy_(torch.from_numpy(mean))
        self.feature_scale.copy_(torch.from_numpy(scale))
        self.narrow.weight.copy_(torch.from_numpy(narrow))
        self.narrow.bias.zero_()
        self.widen.weight.copy_(torch.from_numpy(widen))
        self.widen.bias.copy_(torch.from_numpy(bias))

    @classmethod
    def with_pretrained_backbone(cls) -> "Encoder":
        """ImageNet's weights in the backbone, chance in the head."""
        encoder = cls()
        pretrained = MobileNetV2.pretrained().state_dict()
        kept = {name: value for name, value in pretrained.items() if not name.startswith("features.18.")}
        encoder.backbone.load_state_dict(kept)
        return encoder


def arcface_crop(images: Tensor) -> Tensor:
    """FFHQ crops of any size to the recogniser's 112 × 112."""
    rows, columns = (torch.from_numpy(matrix) for matrix in arcface_matrices(images.shape[-1]))
    crop: Tensor = rows @ images @ columns.T
    return crop
