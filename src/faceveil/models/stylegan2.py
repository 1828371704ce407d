"""StyleGAN2 checkpoints as plain arrays, from the two layouts they come in.

Karras et al., "Analyzing and Improving the Image Quality of StyleGAN" (2020). The authors' repositories
(stylegan2-ada-pytorch, stylegan3) save pickles of Python objects; `pickled_networks.py` reads them without
running anything. The other layout is a torch file with a state dict under `g_ema`. Both are the same network
with other names, and with the equalised learning rates' factors outside the weights; here they are inside.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faceveil.errors import WeightsError
from faceveil.models.pickled_networks import PickledNetwork, read_pickled_networks
from faceveil.models.unpickle import read_torch_file

Floats = NDArray[np.float32]
Tensors = dict[str, NDArray[Any]]
BLUR = np.outer([1, 3, 3, 1], [1, 3, 3, 1]).astype(np.float32) / 64


@dataclass(frozen=True)
class Linear:
    """y = weight · x + bias."""

    weight: Floats
    bias: Floats


@dataclass(frozen=True)
class Convolution:
    """A modulated and demodulated 3×3 convolution with its noise and bias; `up` doubles the side first."""

    style: Linear
    kernel: Floats
    noise: Floats  # side × side, its strength inside
    bias: Floats
    up: bool


@dataclass(frozen=True)
class ToRgb:
    """A modulated 1×1 convolution to RGB, not demodulated."""

    style: Linear
    kernel: Floats
    bias: Floats


@dataclass(frozen=True)
class StyleGan2:
    """The generator. Convolution i reads slot i of W+; a block's RGB the slot after its convolutions."""

    mapping: tuple[Linear, ...]
    w_mean: Floats
    constant: Floats  # channels × 4 × 4
    convolutions: tuple[Convolution, ...]  # 1 at 4 px, then 2 at each size
    to_rgb: tuple[ToRgb, ...]  # 1 at each size
    clamp: float | None  # activations are cut here in networks trained in half precision

    @property
    def slots(self) -> int:
        return len(self.convolutions) + 1

    @property
    def size(self) -> int:
        return int(4 * 2 ** (len(self.to_rgb) - 1))

    @property
    def z_dim(self) -> int:
        return int(self.mapping[0].weight.shape[1])


def read_stylegan2(path: Path) -> StyleGan2:
    """A checkpoint in either layout; nothing in the file is run."""
    if not path.is_file():
        raise WeightsError(f"{path} is not a file. --weights takes a StyleGAN2 .pkl or .pt.")
    try:
        if path.suffix.lower() == ".pkl":
            return from_pickled(read_pickled_networks(path))
        return from_state_dict(read_torch_file(path))
    except (KeyError, ValueError, IndexError, AttributeError, TypeError) as error:
        raise WeightsError(
            f"{path.name} is not a StyleGAN2 generator as faceveil knows it: {error!r}."
        ) from error


def from_pickled(networks: dict[str, PickledNetwork]) -> StyleGan2:
    """The authors' layout: G_ema with mapping.fc*, synthesis.b<size>.{conv0, conv1, torgb}."""
    network = networks["G_ema"]
    tensors = network.tensors
    if any(".up_filter" in name or "synthesis.input" in name for name in tensors):
        raise WeightsError("this is a StyleGAN3 network; faceveil renders StyleGAN2. Use a StyleGAN2 pickle.")
    if labels := network.attributes.get("c_dim"):
        raise WeightsError(f"this network wants one of {labels} labels; faceveil renders networks without.")
    if any(name.endswith(".skip.weight") for name in tensors):
        raise WeightsError("this network's synthesis has the 'resnet' architecture; faceveil renders 'skip'.")
    sizes = sorted(int(name.split(".")[1][1:]) for name in tensors if name.endswith("torgb.weight"))
    names = [f"synthesis.b{size}.{part}" for size in sizes for part in ("conv0", "conv1")][1:]
    return StyleGan2(
        mapping=_authors_mapping(tensors),
        w_mean=_f32(tensors["mapping.w_avg"]),
        constant=_f32(tensors["synthesis.b4.const"]),
        convolutions=tuple(_authors_convolution(tensors, name) for name in names),
        to_rgb=tuple(_authors_to_rgb(tensors, f"synthesis.b{size}.torgb") for size in sizes),
        clamp=network.attributes.get("synthesis.b4.conv1.conv_clamp"),
    )


def _authors_mapping(tensors: Tensors) -> tuple[Linear, ...]:
    count = sum(name.startswith("mapping.fc") and name.endswith(".weight") for name in tensors)
    return tuple(_equalised(tensors, f"mapping.fc{i}", rate=0.01) for i in range(count))


def _authors_convolution(tensors: Tensors, name: str) -> Convolution:
    return Convolution(
        style=_equalised(tensors, f"{name}.affine"),
        kernel=_f32(tensors[f"{name}.weight"]),
        noise=_f32(tensors[f"{name}.noise_const"] * tensors[f"{name}.noise_strength"]),
        bias=_f32(tensors[f"{name}.bias"]),
        up=name.endswith("conv0"),
    )


def _authors_to_rgb(tensors: Tensors, name: str) -> ToRgb:
    kernel = tensors[f"{name}.weight"]
    return ToRgb(
        _equalised(tensors, f"{name}.affine"),
        _f32(kernel / np.sqrt(kernel[0].size)),
        _f32(tensors[f"{name}.bias"]),
    )


def from_state_dict(stored: dict[str, Any]) -> StyleGan2:
    """The torch layout: style.1…8, input, conv1, to_rgb1, convs.*, to_rgbs.*, noises.* under g_ema."""
    tensors: Tensors = stored["g_ema"]
    blocks = sum(name.startswith("to_rgbs.") and name.endswith(".conv.weight") for name in tensors)
    if "latent_avg" not in stored:
        raise WeightsError("the file has g_ema but no latent_avg, without which faces cannot be truncated.")
    layers = sorted(int(n.split(".")[1]) for n in tensors if n.startswith("style.") and n.endswith(".weight"))
    names = ["conv1", *(f"convs.{i}" for i in range(2 * blocks))]
    return StyleGan2(
        mapping=tuple(_equalised(tensors, f"style.{i}", rate=0.01) for i in layers),
        w_mean=_f32(stored["latent_avg"]).reshape(-1),
        constant=_f32(tensors["input.input"][0]),
        convolutions=tuple(_styled(tensors, name, number) for number, name in enumerate(names)),
        to_rgb=tuple(_rgb(tensors, name) for name in ("to_rgb1", *(f"to_rgbs.{i}" for i in range(blocks)))),
        clamp=None,
    )


def _styled(tensors: Tensors, name: str, number: int) -> Convolution:
    kernel = tensors[f"{name}.conv.weight"][0]
    noise = tensors[f"noises.noise_{number}"][0, 0] * tensors[f"{name}.noise.weight"]
    return Convolution(
        style=_equalised(tensors, f"{name}.conv.modulation"),
        kernel=_f32(kernel / np.sqrt(kernel[0].size)),
        noise=_f32(noise),
        bias=_f32(tensors[f"{name}.activate.bias"]),
        up=number % 2 == 1,
    )


def _rgb(tensors: Tensors, name: str) -> ToRgb:
    kernel = tensors[f"{name}.conv.weight"][0]
    return ToRgb(
        _equalised(tensors, f"{name}.conv.modulation"),
        _f32(kernel / np.sqrt(kernel[0].size)),
        _f32(tensors[f"{name}.bias"]).reshape(-1),
    )


def _equalised(tensors: Tensors, name: str, rate: float = 1.0) -> Linear:
    """A layer whose learning rate was equalised: its weights were divided by their gain."""
    weight, bias = tensors[f"{name}.weight"], tensors[f"{name}.bias"]
    return Linear(_f32(weight * (rate / np.sqrt(weight.shape[1]))), _f32(bias * rate))


def _f32(array: Any) -> Floats:
    return np.asarray(array, np.float32)
