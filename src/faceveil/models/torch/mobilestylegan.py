"""MobileStyleGAN's synthesis in torch: W+ (N × 23 × 512) → RGB in [-1, 1] (N × 3 × size × size).

A window renders a part of the picture alone: what costs time are the largest maps, and a detail needs no more of
them than its surroundings. Maps lie in memory with channels last, where a depthwise convolution takes a third of
the time and a 1×1 convolution is one product of matrices. Gradients reach the styles alone: the arrays are fixed.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from faceveil.models import mobilestylegan as arrays

CELLS = 64  # a window is cut out of the map of 64 × 64
MARGIN = 2  # cells around a window, which the convolutions' padding would spoil


@dataclass(frozen=True)
class Window:
    """A square of the picture, in cells of 1/64 of its side."""

    top: int
    left: int
    side: int

    def cut(self, images: Tensor) -> Tensor:
        """This part of pictures or maps (… × S × S)."""
        return _cut(images, self.top, self.left, self.top + self.side, self.left + self.side)

    def cut_wide(self, images: Tensor) -> Tensor:
        """The same with its margin, as far as the picture goes."""
        (top, left), (bottom, right) = self._corners()
        return _cut(images, top, left, bottom, right)

    def trim(self, images: Tensor) -> Tensor:
        """Take the margin away from what was rendered with it."""
        (top, left), (bottom, _) = self._corners()
        unit = images.shape[-2] // (bottom - top)
        above, before = unit * (self.top - top), unit * (self.left - left)
        return images[..., above : above + unit * self.side, before : before + unit * self.side]

    def _corners(self) -> tuple[tuple[int, int], tuple[int, int]]:
        first = max(0, self.top - MARGIN), max(0, self.left - MARGIN)
        last = self.top + self.side + MARGIN, self.left + self.side + MARGIN
        return first, (min(CELLS, last[0]), min(CELLS, last[1]))


def _cut(images: Tensor, top: int, left: int, bottom: int, right: int) -> Tensor:
    unit = images.shape[-1] // CELLS
    return images[..., unit * top : unit * bottom, unit * left : unit * right]


class Style(nn.Module):
    """One slot of W+ to a factor per channel."""

    def __init__(self, style: arrays.Style) -> None:
        super().__init__()
        self.slot = style.slot
        self.weight = _frozen(style.weight)
        self.bias = _frozen(style.bias)

    def forward(self, wplus: Tensor) -> Tensor:
        return F.linear(wplus[:, self.slot], self.weight, self.bias)[:, :, None, None]


class Convolution(nn.Module):
    """A modulated convolution with its noise, bias and leaky ReLU."""

    def __init__(self, convolution: arrays.Convolution) -> None:
        super().__init__()
        self.style = Style(convolution.style)
        self.depthwise = None if convolution.depthwise is None else _frozen(convolution.depthwise)
        self.kernel = _frozen(convolution.kernel)
        self.bias = _frozen(convolution.bias)
        self.noise = _frozen(convolution.noise)

    def forward(self, x: Tensor, wplus: Tensor, window: Window | None = None) -> Tensor:
        noise = self.noise if window is None else window.cut_wide(self.noise)
        if self.kernel.shape[-1] == 1:
            return _apply(_Separable, x, self.style(wplus), self.depthwise, self.kernel, self.bias, noise)
        x = F.conv2d(x * self.style(wplus), self.kernel, self.bias, padding=1)  # the first, at 4 px
        return F.leaky_relu(x + noise, arrays.LEAK)


class _Separable(torch.autograd.Function):
    """What a convolution with a 1×1 kernel does, in as few passes over the maps as it needs."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        style: Tensor,
        depthwise: Tensor | None,
        kernel: Tensor,
        bias: Tensor,
        noise: Tensor,
    ) -> Tensor:
        y = _depthwise(x * style, depthwise)
        y = F.linear(_last(y), kernel[:, :, 0, 0], bias).add_(_last(noise))
        y = _first(F.leaky_relu_(y, arrays.LEAK))
        ctx.save_for_backward(x, style, y)
        ctx.kernels = depthwise, kernel
        return y

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        x, style, y = ctx.saved_tensors
        depthwise, kernel = ctx.kernels
        g = torch.ops.aten.leaky_relu_backward(gradient, y, arrays.LEAK, True)
        g = _first(_last(g) @ kernel[:, :, 0, 0])
        g = _depthwise(g, None if depthwise is None else depthwise.flip(2, 3))
        return g * style, (g * x).sum((2, 3), keepdim=True), None, None, None, None


def _depthwise(x: Tensor, kernel: Tensor | None) -> Tensor:
    return x if kernel is None else F.conv2d(x, kernel, padding=1, groups=x.shape[1])


def _last(x: Tensor) -> Tensor:
    """Channels as the last axis."""
    return x.permute(0, 2, 3, 1)


def _first(x: Tensor) -> Tensor:
    """Back again."""
    return x.permute(0, 3, 1, 2)


def _apply(function: type[torch.autograd.Function], *inputs: Any) -> Tensor:
    result: Tensor = function.apply(*inputs)  # type: ignore[no-untyped-call]
    return result


class Block(nn.Module):
    """One resolution: style, Haar step up (unless beyond an early exit), two convolutions."""

    def __init__(self, block: arrays.Block) -> None:
        super().__init__()
        self.up = Style(block.up)
        self.grows = block.grows
        self.convolutions = nn.ModuleList(Convolution(c) for c in block.convolutions)

    def forward(self, x: Tensor, wplus: Tensor, window: Window | None = None) -> Tensor:
        x = x * self.up(wplus)
        if self.grows:
            x = haar_up(x)
        for convolution in self.convolutions:
            x = convolution(x, wplus, window)
        return x


class Synthesis(nn.Module):
    """The whole network, or one of its early exits; it runs whatever arrays it is given."""

    def __init__(self, network: arrays.Synthesis) -> None:
        super().__init__()
        self.size = network.size
        self.constant = _frozen(network.constant)
        self.first = Convolution(network.first)
        self.blocks = nn.ModuleList(Block(b) for b in network.blocks)
        self.style = Style(network.output.style)
        self.kernel = _frozen(network.output.kernel)
        self.bias = _frozen(network.output.bias)

    def features(self, wplus: Tensor, window: Window | None = None) -> Tensor:
        """What the output kernel sees: the last block's channels times their style."""
        x = self.first(self.constant.expand(len(wplus), -1, -1, -1), wplus)
        inside = None
        for block in self.blocks:
            x = block(x, wplus, inside)
            if inside is None and window is not None and x.shape[-1] == CELLS:
                inside, x = window, window.cut_wide(x)
        features: Tensor = x * self.style(wplus)
        return features

    def forward(self, wplus: Tensor, window: Window | None = None) -> Tensor:
        """The picture, or the part of it in `window`."""
        rgb = _first(F.linear(_last(self.features(wplus, window)), self.kernel[:, :, 0, 0], self.bias))
        rgb = haar_up(rgb) if rgb.shape[1] == 12 else rgb
        return rgb if window is None else window.trim(rgb)


def haar_up(bands: Tensor) -> Tensor:
    """One inverse Haar step. Channels: the low bands of all outputs, then three high bands of each."""
    return _apply(_Haar, bands)


class _Haar(torch.autograd.Function):
    """The step is orthogonal, so that its gradient is the step back."""

    @staticmethod
    def forward(ctx: Any, bands: Tensor) -> Tensor:
        count, channels, height, width = bands.shape
        low, rows, columns, diagonal = _bands(0.5 * _last(bands))
        above, below = low + rows, low - rows
        left, right = columns + diagonal, columns - diagonal
        picture = bands.new_empty(count, height, 2, width, 2, channels // 4)
        torch.add(above, left, out=picture[:, :, 0, :, 0])
        torch.sub(above, left, out=picture[:, :, 0, :, 1])
        torch.add(below, right, out=picture[:, :, 1, :, 0])
        torch.sub(below, right, out=picture[:, :, 1, :, 1])
        return _first(picture.view(count, 2 * height, 2 * width, -1))

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        count, channels, height, width = gradient.shape
        g = 0.5 * _last(gradient).reshape(count, height // 2, 2, width // 2, 2, channels)
        above, left = g[:, :, 0, :, 0] + g[:, :, 0, :, 1], g[:, :, 0, :, 0] - g[:, :, 0, :, 1]
        below, right = g[:, :, 1, :, 0] + g[:, :, 1, :, 1], g[:, :, 1, :, 0] - g[:, :, 1, :, 1]
        result = g.new_empty(count, height // 2, width // 2, 4 * channels)
        low, rows, columns, diagonal = _bands(result)
        torch.add(above, below, out=low)
        torch.sub(above, below, out=rows)
        torch.add(left, right, out=columns)
        torch.sub(left, right, out=diagonal)
        return _first(result)


def _bands(x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Views of the four bands, channels last."""
    quarter = x.shape[-1] // 4
    return x[..., :quarter], x[..., quarter::3], x[..., quarter + 1 :: 3], x[..., quarter + 2 :: 3]


def _frozen(array: arrays.Floats) -> nn.Parameter:
    return nn.Parameter(torch.from_numpy(np.ascontiguousarray(array)), requires_grad=False)
