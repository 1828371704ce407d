"""A critic that tells pasted faces from photos, for `residual.py`; it does not ship.

It sees a picture and where the face in it may be new. One half of it stands on the frozen features of LPIPS's
AlexNet (projected GANs, Sauer et al. 2021), and so knows from the first step what pictures look like; the other half
sees small patches of pixels, for grain and seams.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.parametrizations import spectral_norm

TAPS = (64, 192, 384, 256, 256)  # channels of AlexNet's maps
WIDTH = 64


class Critic(nn.Module):
    """How much like a photo each place of one picture is, by each of its parts: over 0 a photo."""

    def __init__(self) -> None:
        super().__init__()
        self.heads = nn.ModuleList(
            nn.ModuleList([_conv(channels + 1, WIDTH, 1), _conv(WIDTH, WIDTH, 3), _conv(WIDTH, 1, 1)])
            for channels in TAPS
        )
        self.patches = nn.ModuleList(
            [_conv(4, 32, 4, 2), _conv(32, 64, 4, 2), _conv(64, 128, 4, 1), _conv(128, 1, 3, 1)]
        )

    def forward(self, taps: list[Tensor], picture: Tensor, mask: Tensor) -> list[Tensor]:
        """Of AlexNet's maps, the picture in [-1, 1] and the share of each pixel that may be new."""
        with torch.autocast("cpu", torch.bfloat16):
            found = []
            for tap, head in zip(taps, self.heads, strict=True):
                where = F.adaptive_avg_pool2d(mask, tap.shape[-2:])
                scale = tap.shape[1] ** 0.5  # each pixel is of unit length
                found.append(_walk(head, torch.cat([scale * tap, where], 1)))
            found.append(_walk(self.patches, torch.cat([picture, 2 * mask - 1], 1)))
        return [places.float() for places in found]


def _walk(layers: nn.ModuleList, x: Tensor) -> Tensor:
    for number, layer in enumerate(layers):
        x = layer(F.leaky_relu(x, 0.2) if number else x)
    return x


def _conv(channels: int, out: int, side: int, stride: int = 1) -> nn.Module:
    return spectral_norm(nn.Conv2d(channels, out, side, stride, padding=(side - 1) // 2))
