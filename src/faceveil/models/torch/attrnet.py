"""AttrNet in torch, for training: a trunk and one logit per label.

Three trunks: MobileNetV2, whose maps at four depths are pooled to small grids and read by one linear layer, so
that where something is seen counts (a hat is above, a beard below); the same with the last two layers of a frozen
recogniser, MobileFaceNet, beside the maps, which know age, gender and ethnicity better; and ResNet-50 with a head
of 1024, 1024 and one output per label, as MIKU and StyleID use it for CelebA's 40 labels.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from faceveil.errors import UsageError
from faceveil.models.attrnet import GRIDS, LAYERS, WITH_RECOGNISER, Output
from faceveil.models.mobilefacenet import WIDTHS
from faceveil.models.torch.encoder import arcface_crop
from faceveil.models.torch.mobilenet import MobileNetV2, face_recognizer
from faceveil.models.torch.resnet50 import ResNet50

MAPS = 24 * 64 + 32 * 64 + 96 * 16 + 320 * 4  # features; the recogniser's come after them
HIDDEN = 1024


class AttrNet(nn.Module):
    """RGB in [0, 1], N × 3 × 128 × 128 → logits, N × outputs."""

    feature_mean: Tensor
    feature_scale: Tensor

    def __init__(self, outputs: int, trunk: str = "mobilenetv2") -> None:
        super().__init__()
        if trunk not in LAYERS:
            raise UsageError(f"no trunk is named {trunk!r}; there are {', '.join(LAYERS)}.")
        self.trunk_name = trunk
        if trunk == "resnet50":
            self.trunk: nn.Module = ResNet50()
            layers = [nn.Linear(2048, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, HIDDEN), nn.ReLU()]
            self.head = nn.Sequential(*layers, nn.Linear(HIDDEN, outputs))
            return
        self.trunk = MobileNetV2()
        del self.trunk.features[18]  # the classifier's widening to 1280 channels
        features = MAPS + sum(WIDTHS) if trunk == WITH_RECOGNISER else MAPS
        self.register_buffer("feature_mean", torch.zeros(features))
        self.register_buffer("feature_scale", torch.ones(features))
        self.head = nn.Sequential(nn.Linear(features, outputs))

    @classmethod
    def with_pretrained_trunk(cls, outputs: int, trunk: str = "mobilenetv2") -> "AttrNet":
        """MobileNetV2 with ImageNet's weights, chance in the head."""
        network = cls(outputs, trunk)
        pretrained = MobileNetV2.pretrained().state_dict()
        kept = {name: value for name, value in pretrained.items() if not name.startswith("features.18.")}
        network.trunk.load_state_dict(kept)
        return network

    def features(self, images: Tensor) -> Tensor:
        """What the head reads."""
        if isinstance(self.trunk, ResNet50):
            return self.trunk.features(images)
        assert isinstance(self.trunk, MobileNetV2)
        maps = self.trunk.taps(images)
        pooled = [F.adaptive_avg_pool2d(m, grid).flatten(1) for m, grid in zip(maps, GRIDS, strict=True)]
        if self.trunk_name == WITH_RECOGNISER:
            pooled += face_recognizer().layers(arcface_crop(images))
        return (torch.cat(pooled, dim=1) - self.feature_mean) / self.feature_scale

    @torch.no_grad()
    def standardise(self, images: Tensor, size: float = 8.0) -> None:
        """Centre what MobileNetV2's head reads and bring each row to about this length, as these faces tell."""
        if self.trunk_name != "resnet50":
            self.feature_mean.zero_()
            self.feature_scale.fill_(1)
            found = self.features(images)
            self.feature_mean.copy_(found.mean(dim=0))
            self.feature_scale.copy_((found.std(dim=0) + 0.05) * len(self.feature_mean) ** 0.5 / size)

    def forward(self, images: Tensor) -> Tensor:
        logits: Tensor = self.head(self.features(images))
        return logits

    def load(self, path: Path) -> None:
        """Take the weights of a file that `save` wrote."""
        with np.load(path) as stored:
            arrays = {name: stored[name] for name in stored}
        found = {}
        for name, mine in self.state_dict().items():
            if name in arrays and arrays[name].shape == mine.shape:
                found[name] = torch.from_numpy(arrays[name].astype(np.float32))
            elif not name.endswith("num_batches_tracked"):
                raise UsageError(
                    f"{path} has no {name} {tuple(mine.shape)}: it is of another trunk or labels."
                )
        self.load_state_dict(found, strict=False)

    def save(self, path: Path, outputs: Sequence[Output]) -> None:
        """Write what `models/attrnet.py` reads, in half precision."""
        arrays = {
            name: value.detach().cpu().numpy().astype(np.float16)
            for name, value in self.state_dict().items()
            if not name.endswith("num_batches_tracked")
        }
        meaning = {
            "trunk": np.array(self.trunk_name),
            "labels": np.array([output.label for output in outputs]),
            "groups": np.array([output.group for output in outputs]),
            "offered": np.array([output.offered for output in outputs]),
        }
        with path.open("wb") as file:  # np.savez would add a suffix to a name without one
            np.savez_compressed(file, **arrays, **meaning)  # type: ignore[arg-type]
