"""The network that joins a new face to its photo, in torch (see `models/residual.py`)."""

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional as F

WIDTHS = (64, 128, 192, 256)  # channels at 64, 32, 16 and 8 px
MAP = 512  # channels of the generator's map at 64 px
CELL = 4  # px of the photo, at 256 px, to one of the map


class Step(nn.Module):
    """Two 3×3 convolutions beside a shortcut."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.one = nn.Conv2d(channels, channels, 3, padding=1)
        self.two = nn.Conv2d(channels, channels, 3, padding=1)
        nn.init.zeros_(self.two.weight)
        nn.init.zeros_(self.two.bias)  # type: ignore[arg-type]

    def forward(self, x: Tensor) -> Tensor:
        changed: Tensor = self.two(F.leaky_relu(self.one(F.leaky_relu(x, 0.2)), 0.2))
        return x + changed


class Residual(nn.Module):
    """What is seen around a face and the map of a new one → what to add to the map."""

    scale: Tensor
    centre: Tensor

    def __init__(self) -> None:
        super().__init__()
        first = WIDTHS[0]
        self.register_buffer("scale", torch.ones(1, MAP, 1, 1))  # of the map, over faces
        self.register_buffer("centre", torch.zeros(1, MAP, 1, 1))
        self.photo = nn.Conv2d(4 * CELL**2, first, 3, padding=1)
        self.map = nn.Conv2d(MAP, first, 1)
        self.down = nn.ModuleList(nn.Conv2d(a, b, 3, stride=2, padding=1) for a, b in pairwise(WIDTHS))
        self.before = nn.ModuleList(Step(c) for c in WIDTHS)
        self.after = nn.ModuleList(Step(c) for c in WIDTHS)
        self.up = nn.ModuleList(nn.Conv2d(b, a, 1) for a, b in pairwise(WIDTHS))
        self.out = nn.Conv2d(first, MAP, 1)
        nn.init.normal_(self.out.weight, std=1e-3)
        nn.init.zeros_(self.out.bias)  # type: ignore[arg-type]

    def forward(self, photo: Tensor, keep: Tensor, map_: Tensor) -> Tensor:
        """What is seen of the photo, in [-1, 1], and how much stays, both at 256 px; the map, N × 512 × 64 × 64."""
        seen = F.pixel_unshuffle(torch.cat([photo, 2 * keep - 1], 1), CELL)
        x = self.photo(seen) + self.map((map_ - self.centre) / self.scale)
        kept = []
        for level, step in enumerate(self.before):
            x = step(x if level == 0 else self.down[level - 1](F.leaky_relu(x, 0.2)))
            kept.append(x)
        for level in reversed(range(len(WIDTHS))):
            if level < len(WIDTHS) - 1:
                x = kept[level] + F.interpolate(self.up[level](x), scale_factor=2, mode="bilinear")
            x = self.after[level](x)
        added: Tensor = self.out(F.leaky_relu(x, 0.2))
        return self.scale * added

    def packed(self) -> dict[str, Tensor]:
        """The arrays that ship: the map's mean and spread are part of the first and last layers."""
        state = {k: v.clone() for k, v in self.state_dict().items() if k not in ("scale", "centre")}
        per = (state["map.weight"] / self.scale.view(1, -1, 1, 1)).flatten(1)
        state["map.bias"] = state["map.bias"] - per @ self.centre.flatten()
        state["map.weight"] = per[:, :, None, None]
        state["out.weight"] = state["out.weight"] * self.scale.view(-1, 1, 1, 1)
        state["out.bias"] = state["out.bias"] * self.scale.flatten()
        return state

    def unpack(self, packed: dict[str, Tensor]) -> None:
        """Take the arrays that shipped, for this map's mean and spread."""
        state = dict(packed)
        per = packed["map.weight"].flatten(1)
        state["map.weight"] = packed["map.weight"] * self.scale
        state["map.bias"] = packed["map.bias"] + per @ self.centre.flatten()
        state["out.weight"] = packed["out.weight"] / self.scale.view(-1, 1, 1, 1)
        state["out.bias"] = packed["out.bias"] / self.scale.flatten()
        self.load_state_dict({**state, "scale": self.scale, "centre": self.centre})
