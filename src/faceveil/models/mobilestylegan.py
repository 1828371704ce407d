"""MobileStyleGAN's synthesis network as plain arrays, and its early exits.

Belousov, "MobileStyleGAN: A Lightweight Convolutional Neural Network for High-Fidelity Image Synthesis"
(2021). The network works on wavelet bands: every block multiplies its input by a style, takes one inverse
Haar step to twice the side, and runs two modulated separable convolutions. There is no demodulation and the
noise is fixed, so an image is a plain function of its 23 styles (W+):

    slot 0              the 4-px convolution
    slots 1+3b … 3+3b   block b = 0…6 (8…512 px): up, first and second convolution
    slot 22             the output, 12 channels at 512 px, one Haar step to RGB at 1024 px

Two programs run these arrays: `synthesis.py` (OpenVINO, what users run) and `torch/mobilestylegan.py`
(gradients).
"""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from faceveil.models.runtime import read_model

Floats = NDArray[np.float32]
Index = slice | NDArray[np.intp]

SLOTS = 23
STYLE_DIM = 512
BLOCKS = 7
FULL_SIZE = 1024
SIZES = (64, 128, 256, 512, 1024)
LEAK = 0.2


@dataclass(frozen=True)
class Style:
    """The affine map from one slot of W+ to a factor per channel."""

    slot: int
    weight: Floats  # channels × 512
    bias: Floats  # channels

    def only(self, channels: Index, gain: float = 1.0) -> "Style":
        return replace(self, weight=gain * self.weight[channels], bias=gain * self.bias[channels])


@dataclass(frozen=True)
class Convolution:
    """Style, depthwise 3×3 (or none), dense kernel, noise, bias, leaky ReLU."""

    style: Style
    depthwise: Floats | None  # channels × 1 × 3 × 3
    kernel: Floats  # out × in × 3 × 3 or out × in × 1 × 1
    noise: Floats  # 1 × 1 × side × side
    bias: Floats  # out

    def only(self, channels: Index) -> "Convolution":
        return replace(self, kernel=self.kernel[channels], bias=self.bias[channels])


@dataclass(frozen=True)
class Block:
    """One resolution. `grows` is false beyond an early exit: there only the low band goes on."""

    up: Style
    grows: bool
    convolutions: tuple[Convolution, Convolution]


@dataclass(frozen=True)
class Output:
    """Style and 1×1 kernel to RGB (3 channels) or to the four Haar bands of RGB (12)."""

    style: Style
    kernel: Floats  # out × in × 1 × 1
    bias: Floats  # out


@dataclass(frozen=True)
class Synthesis:
    """The network that renders `size` px."""

    size: int
    constant: Floats  # 1 × 512 × 4 × 4
    first: Convolution
    blocks: tuple[Block, ...]
    output: Output


def read_synthesis(xml: Path) -> Synthesis:
    """The full network from the distribution's OpenVINO file; its card pins the hash, so node names hold."""
    nodes = {node.get_friendly_name(): node for node in read_model(xml).get_ordered_ops()}

    def constant(name: str) -> Floats:
        sources = [port.get_source_output().get_node() for port in nodes[name].inputs()]
        return next(np.array(s.data, np.float32) for s in sources if s.get_type_name() == "Constant")

    def style(slot: int, gemm: int, gain: str | None) -> Style:
        factor = constant(gain).item() if gain else 1.0
        weight = factor * constant(f"Gemm_{gemm}/WithoutBiases")
        return Style(slot, weight, factor * constant(f"Gemm_{gemm}")[0])

    def separable(slot: int, node: int, gain: int) -> Convolution:
        return Convolution(
            style(slot, node - 10, f"Mul_{gain}"),
            constant(f"Conv_{node}")[:, 0],
            constant(f"Conv_{node + 1}"),
            constant(f"Add_{node + 20}"),
            constant(f"Add_{node + 21}").reshape(-1),
        )

    # The exporter numbered its nodes regularly: each block starts 100 after the one before it.
    blocks = tuple(
        Block(
            style(1 + 3 * b, 52 + 100 * b, None),
            True,
            (
                separable(2 + 3 * b, 87 + 100 * b, 85 + 100 * b),
                separable(3 + 3 * b, 120 + 100 * b, 118 + 100 * b),
            ),
        )
        for b in range(BLOCKS)
    )
    first = Convolution(
        style(0, 11, "Mul_19"), None, constant("Conv_21"), constant("Add_40"), constant("Add_41").reshape(-1)
    )
    output = Output(style(22, 743, "Mul_751"), constant("Conv_753"), constant("Add_754").reshape(-1))
    return Synthesis(FULL_SIZE, constant("Expand_9"), first, blocks, output)


def early_exit(full: Synthesis, size: int) -> Synthesis:
    """The network that renders `size` < 1024 px without growing beyond it.

    An inverse Haar step followed by a 2×2 mean is the low band halved. So the blocks beyond the exit run at
    its size on that band alone, with each depthwise kernel replaced by its sum and the noise by its local
    mean. That is exact at 512 px, and close below, where a leaky ReLU stands between; `with_fitted_tail`
    makes up for most of it.
    """
    growing = [4 * 2 ** (b + 1) <= size for b in range(BLOCKS)]
    blocks = [
        block if grows else _at_constant_size(block, size)
        for block, grows in zip(full.blocks, growing, strict=True)
    ]
    # What feeds a block that does not grow needs only its low band: a quarter of its channels.
    for b in range(BLOCKS - 1):
        if not growing[b + 1]:
            one, two = blocks[b].convolutions
            blocks[b] = replace(blocks[b], convolutions=(one, two.only(slice(len(two.bias) // 4))))
    output = replace(full.output, kernel=0.5 * full.output.kernel[:3], bias=0.5 * full.output.bias[:3])
    return replace(full, size=size, blocks=tuple(blocks), output=output)


def with_fitted_tail(network: Synthesis, fitted: dict[str, Floats]) -> Synthesis:
    """`network` with the arrays that were refitted on generated faces in place of the ones derived above."""
    blocks = list(network.blocks)
    for b, block in enumerate(blocks):
        if not block.grows:
            one, two = (
                replace(c, kernel=fitted[f"{b}.{i}.kernel"], bias=fitted[f"{b}.{i}.bias"])
                for i, c in enumerate(block.convolutions)
            )
            blocks[b] = replace(block, convolutions=(one, two))
    output = replace(network.output, kernel=fitted["output.kernel"], bias=fitted["output.bias"])
    return replace(network, blocks=tuple(blocks), output=output)


def _at_constant_size(block: Block, size: int) -> Block:
    low = len(block.up.bias) // 4
    one, two = (
        replace(
            c,
            depthwise=None,
            kernel=c.kernel * _kernel_sums(c).reshape(1, -1, 1, 1),
            noise=_shrink(c.noise, size),
        )
        for c in block.convolutions
    )
    return Block(block.up.only(slice(low), gain=0.5), False, (one, two))


def _kernel_sums(convolution: Convolution) -> Floats:
    assert convolution.depthwise is not None  # only the 4-px convolution has none, and it is never an exit
    sums: Floats = convolution.depthwise.sum(axis=(1, 2, 3))
    return sums


def _shrink(noise: Floats, size: int) -> Floats:
    step = noise.shape[-1] // size
    means: Floats = noise.reshape(1, 1, size, step, size, step).mean(axis=(3, 5))
    return means
