"""MobileStyleGAN's synthesis in torch: W+ (N × 23 × 512) → RGB in [-1, 1] (N × 3 × size × size).

A window renders a part of the picture alone: what costs time are the largest maps, and a detail needs no more of
them than its surroundings. Maps lie in memory with channels last, where a depthwise convolution takes a third of
the time and a 1×1 convolution is one product of matrices. Gradients reach the styles alone: the arrays are fixed.
"""

from itertools import islice
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from faceveil.models import mobilestylegan as arrays
from faceveil.models.synthesis import margins
from faceveil.models.windows import WHOLE, Part, Window


def cut(images: Tensor, wanted: Part, shown: Part | None = None) -> Tensor:
    """This part of pictures or maps (N × C × H × W) that show the whole, or another part."""
    if shown == wanted:
        return images
    rows, columns = wanted.within(shown or Part(0, 0, *images.shape[-2:]))
    return _first(_last(images)[:, rows, columns])  # with channels last the gradient keeps its layout


class Style(nn.Module):
    """One slot of W+ to a factor per channel."""

    def __init__(self, style: arrays.Style) -> None:
        super().__init__()
        self.slot = style.slot
        self.weight = _frozen(style.weight)
        self.bias = _frozen(style.bias)

    def forward(self, wplus: Tensor) -> Tensor:
        return F.linear(wplus[:, self.slot], self.weight, self.bias)[:, :, None, None]


class First(nn.Module):
    """The convolution of the constant map at 4 px: a product of its style with one matrix."""

    def __init__(self, convolution: arrays.Convolution, constant: arrays.Floats) -> None:
        super().__init__()
        self.style = Style(convolution.style)
        channels = constant.shape[1]
        kernels = torch.from_numpy(convolution.kernel).transpose(0, 1).flatten(0, 1)[:, None]
        of_each = F.conv2d(torch.from_numpy(constant), kernels, padding=1, groups=channels)
        self.maps = _frozen(of_each.reshape(channels, -1).T.numpy())
        bias = convolution.bias[:, None, None] + convolution.noise[0]
        self.bias = _frozen(bias.reshape(-1))
        self.shape = bias.shape

    def forward(self, wplus: Tensor) -> Tensor:
        x = F.linear(self.style(wplus).flatten(1), self.maps, self.bias)
        return (
            F.leaky_relu(x, arrays.LEAK).view(-1, *self.shape).contiguous(memory_format=torch.channels_last)
        )


class Convolution(nn.Module):
    """A modulated convolution with its noise, bias and leaky ReLU."""

    def __init__(self, convolution: arrays.Convolution) -> None:
        super().__init__()
        self.style = Style(convolution.style)
        self.depthwise = None if convolution.depthwise is None else _frozen(convolution.depthwise)
        self.kernel = _frozen(convolution.kernel)
        self.bias = _frozen(convolution.bias)
        self.noise = _frozen(convolution.noise)

    def forward(self, x: Tensor, wplus: Tensor, part: Part) -> Tensor:
        kernel, noise = self.kernel[:, :, 0, 0], cut(self.noise, part)
        return _apply(_Separable, x, self.style(wplus), self.depthwise, kernel, self.bias, noise)


class _Separable(torch.autograd.Function):
    """What a convolution does to the map of one face, in as few passes over it as it needs.

    The style is multiplied into the first kernel, which is smaller than the map.
    """

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
        style = _nonzero(style)
        if depthwise is None:
            kernel = kernel * style.flatten()
        else:
            depthwise = depthwise * style.view(-1, 1, 1, 1)
        y = F.linear(_last(_depthwise(x, depthwise)), kernel, bias).add_(_last(noise))
        y = _first(F.leaky_relu_(y, arrays.LEAK))
        ctx.save_for_backward(x, style, y)
        ctx.kernels = depthwise, kernel
        return y

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        x, style, y = ctx.saved_tensors
        depthwise, kernel = ctx.kernels
        g = torch.ops.aten.leaky_relu_backward(gradient, y, arrays.LEAK, True)
        g = _first(_last(g) @ kernel)
        g = _depthwise(g, None if depthwise is None else depthwise.flip(2, 3))
        return g, (g * x).sum((2, 3), keepdim=True) / style, None, None, None, None


def _nonzero(style: Tensor) -> Tensor:
    """Gradients are divided by it."""
    return torch.where(style == 0, torch.finfo(style.dtype).tiny, style)


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

    def forward(self, x: Tensor, wplus: Tensor, shown: Part, wanted: Part) -> Tensor:
        """`x` shows a part of the map before; the result shows `wanted`."""
        if self.grows:
            x, shown = haar_up(x, self.up(wplus)), shown.doubled()
        else:
            x = x * self.up(wplus)
        x = cut(x, wanted, shown)
        for convolution in self.convolutions:
            x = convolution(x, wplus, wanted)
        return x


class Synthesis(nn.Module):
    """The whole network, or one of its early exits; it runs whatever arrays it is given."""

    def __init__(self, network: arrays.Synthesis) -> None:
        super().__init__()
        self.size = network.size
        self.first = First(network.first, network.constant)
        self.blocks = nn.ModuleList(Block(b) for b in network.blocks)
        self.sizes = [b.convolutions[0].noise.shape[-1] for b in network.blocks]
        self.margins = margins(network.blocks)
        self.style = Style(network.output.style)
        self.kernel = _frozen(network.output.kernel)
        self.bias = _frozen(network.output.bias)

    def features(self, wplus: Tensor, window: Window = WHOLE) -> Tensor:
        """What the output kernel sees: the last block's channels times their style."""
        codes = (wplus[i : i + 1] for i in range(len(wplus)))  # several at a time are no faster
        return torch.cat([self.map_after(len(self.blocks), w, window) * self.style(w) for w in codes])

    def map_after(self, blocks: int, wplus: Tensor, window: Window = WHOLE) -> Tensor:
        """The map (1 × channels × pixels) that comes out of the first blocks, for one face."""
        x, shown = self.first(wplus), WHOLE.part(4)
        for block, size, margin in islice(zip(self.blocks, self.sizes, self.margins, strict=True), blocks):
            wanted = window.part(size, margin)
            x, shown = block(x, wplus, shown, wanted), wanted
        return cut(x, window.part(self.sizes[blocks - 1]), shown)

    def forward(self, wplus: Tensor, window: Window = WHOLE) -> Tensor:
        """The picture, or the part of it in `window`."""
        rgb = _first(F.linear(_last(self.features(wplus, window)), self.kernel[:, :, 0, 0], self.bias))
        return haar_up(rgb, torch.ones_like(rgb[:1, :, :1, :1])) if rgb.shape[1] == 12 else rgb


def haar_up(bands: Tensor, style: Tensor) -> Tensor:
    """One inverse Haar step. Channels: the low bands of all outputs, then three high bands of each."""
    return _apply(_Haar, bands, style)


class _Haar(torch.autograd.Function):
    """The step is orthogonal, so that its gradient is the step back."""

    @staticmethod
    def forward(ctx: Any, bands: Tensor, style: Tensor) -> Tensor:
        count, channels, height, width = bands.shape
        half = 0.5 * style
        ctx.save_for_backward(bands, half)
        low, rows, columns, diagonal = _bands(_last(half * bands))
        above, below = low + rows, low - rows
        left, right = columns + diagonal, columns - diagonal
        picture = bands.new_empty(count, height, 2, width, 2, channels // 4)
        torch.add(above, left, out=picture[:, :, 0, :, 0])
        torch.sub(above, left, out=picture[:, :, 0, :, 1])
        torch.add(below, right, out=picture[:, :, 1, :, 0])
        torch.sub(below, right, out=picture[:, :, 1, :, 1])
        return _first(picture.view(count, 2 * height, 2 * width, -1))

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor]:
        bands, half = ctx.saved_tensors
        count, channels, height, width = gradient.shape
        g = _last(gradient).reshape(count, height // 2, 2, width // 2, 2, channels)
        above, left = g[:, :, 0, :, 0] + g[:, :, 0, :, 1], g[:, :, 0, :, 0] - g[:, :, 0, :, 1]
        below, right = g[:, :, 1, :, 0] + g[:, :, 1, :, 1], g[:, :, 1, :, 0] - g[:, :, 1, :, 1]
        result = g.new_empty(count, height // 2, width // 2, 4 * channels)
        low, rows, columns, diagonal = _bands(result)
        torch.add(above, below, out=low)
        torch.sub(above, below, out=rows)
        torch.add(left, right, out=columns)
        torch.sub(left, right, out=diagonal)
        g = _first(result)
        return g * half, 0.5 * (g * bands).sum((2, 3), keepdim=True)


def _bands(x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Views of the four bands, channels last."""
    quarter = x.shape[-1] // 4
    return x[..., :quarter], x[..., quarter::3], x[..., quarter + 1 :: 3], x[..., quarter + 2 :: 3]


def _frozen(array: arrays.Floats) -> nn.Parameter:
    return nn.Parameter(torch.from_numpy(np.ascontiguousarray(array)), requires_grad=False)
