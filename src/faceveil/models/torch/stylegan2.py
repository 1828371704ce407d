"""StyleGAN2 in torch, on CPU or CUDA: z → W → W+ → RGB, with gradients."""

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from faceveil.models import stylegan2 as arrays

LEAK, GAIN = 0.2, 2**0.5


class Linear(nn.Module):
    def __init__(self, linear: arrays.Linear) -> None:
        super().__init__()
        self.weight, self.bias = _frozen(linear.weight), _frozen(linear.bias)

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x, self.weight, self.bias)


class Convolution(nn.Module):
    """Style, 3×3 convolution (after doubling the side, if it does), demodulation, noise, bias, leaky ReLU."""

    blur: Tensor

    def __init__(self, convolution: arrays.Convolution, clamp: float | None) -> None:
        super().__init__()
        self.style = Linear(convolution.style)
        self.kernel, self.bias = _frozen(convolution.kernel), _frozen(convolution.bias)
        self.noise = _frozen(convolution.noise)
        self.up, self.clamp = convolution.up, clamp
        self.register_buffer("blur", torch.from_numpy(4 * arrays.BLUR), persistent=False)

    def forward(self, x: Tensor, w: Tensor) -> Tensor:
        style = self.style(w)
        # Scaling inputs and outputs is the same as scaling each sample's kernels, and cheaper.
        squares = style.square() @ self.kernel.square().sum((2, 3)).T
        x = x * style[:, :, None, None]
        if self.up:
            x = F.conv_transpose2d(x, self.kernel.transpose(0, 1), stride=2)
            x = _filter(F.pad(x, (1, 1, 1, 1)), self.blur)
        else:
            x = F.conv2d(x, self.kernel, padding=1)
        x = x * (squares + 1e-8).rsqrt()[:, :, None, None] + self.noise
        x = GAIN * F.leaky_relu(x + self.bias[:, None, None], LEAK)
        return x if self.clamp is None else x.clamp(-self.clamp, self.clamp)


class ToRgb(nn.Module):
    def __init__(self, to_rgb: arrays.ToRgb, clamp: float | None) -> None:
        super().__init__()
        self.style = Linear(to_rgb.style)
        self.kernel, self.bias = _frozen(to_rgb.kernel), _frozen(to_rgb.bias)
        self.clamp = clamp

    def forward(self, x: Tensor, w: Tensor) -> Tensor:
        x = F.conv2d(x * self.style(w)[:, :, None, None], self.kernel, self.bias)
        return x if self.clamp is None else x.clamp(-self.clamp, self.clamp)


class StyleGan2(nn.Module):
    """The whole generator; `forward` takes W+ (N × slots × W) and gives RGB in about [-1, 1]."""

    w_mean: Tensor
    blur: Tensor

    def __init__(self, network: arrays.StyleGan2) -> None:
        super().__init__()
        self.size, self.slots, self.z_dim = network.size, network.slots, network.z_dim
        self.layers = nn.ModuleList(Linear(linear) for linear in network.mapping)
        self.constant = _frozen(network.constant)
        self.convolutions = nn.ModuleList(Convolution(c, network.clamp) for c in network.convolutions)
        self.to_rgb = nn.ModuleList(ToRgb(rgb, network.clamp) for rgb in network.to_rgb)
        self.register_buffer("w_mean", torch.from_numpy(network.w_mean.copy()))
        self.register_buffer("blur", torch.from_numpy(4 * arrays.BLUR), persistent=False)

    def mapping(self, z: Tensor) -> Tensor:
        """z (N × z_dim) to W."""
        x = z * (z.square().mean(1, keepdim=True) + 1e-8).rsqrt()
        for layer in self.layers:
            x = GAIN * F.leaky_relu(layer(x), LEAK)
        return x

    def forward(self, wplus: Tensor) -> Tensor:
        x = self.constant.expand(len(wplus), -1, -1, -1)
        image: Tensor | None = None
        for block, to_rgb in enumerate(self.to_rgb):
            for number in (0,) if block == 0 else (2 * block - 1, 2 * block):
                x = self.convolutions[number](x, wplus[:, number])
            rgb = to_rgb(x, wplus[:, 2 * block + 1])
            image = rgb if image is None else rgb + self._enlarge(image)
        assert image is not None  # there is always the block of 4 px
        return image

    def _enlarge(self, image: Tensor) -> Tensor:
        count, channels, height, width = image.shape
        spread = image.new_zeros(count, channels, 2 * height, 2 * width)
        spread[:, :, ::2, ::2] = image
        return _filter(F.pad(spread, (2, 1, 2, 1)), self.blur)


def _filter(x: Tensor, kernel: Tensor) -> Tensor:
    """The same kernel on every channel; it is symmetric, so that turning it makes no difference."""
    channels = x.shape[1]
    return F.conv2d(x, kernel.to(x.dtype).expand(channels, 1, -1, -1), groups=channels)


def _frozen(array: arrays.Floats) -> nn.Parameter:
    return nn.Parameter(torch.from_numpy(np.array(array, np.float32, order="C")), requires_grad=False)
