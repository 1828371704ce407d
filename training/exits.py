"""Measure W and fit the early exits: python -m training.exits [--steps 600] [--sizes 64 128 256]

The blocks beyond an exit run at its size on the low wavelet band, with 1×1 kernels only (`early_exit`). Each
of their pixels is therefore a function of one pixel and the styles, and refitting them is a small regression
on random pixels: first the output kernel by least squares, then all tail kernels by Adam, on the 1024-px
render averaged down. Writes src/faceveil/models/data/, prints PSNR on codes that were not fitted. One thread,
about 20 minutes.
"""

import argparse
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from faceveil.models import mobilestylegan as arrays
from faceveil.models.generator import CARD, DATA, Generator
from faceveil.models.runtime import Network, load
from faceveil.models.store import weights
from faceveil.models.synthesis import build_graph
from faceveil.models.torch.mobilestylegan import Convolution, Synthesis
from training.latents import mixed_wplus

SEED = 1
FITTED_SIZES = (64, 128, 256)  # 512 px is exact without a fit


def measure_w(draws: int = 100_000) -> None:
    """The mean and principal axes of W."""
    mapping = load(CARD, member="MappingNetwork.xml", shape=(-1, 512))
    rng = np.random.default_rng(SEED)
    batches = [mapping(rng.standard_normal((1000, 512), np.float32))[0] for _ in range(draws // 1000)]
    w = np.concatenate(batches).astype(np.float64)
    variance, axes = np.linalg.eigh(np.cov(w.T))
    order = np.argsort(-variance)
    parts = {"mean": w.mean(0), "axes": axes.T[order], "spread": np.sqrt(variance[order])}
    np.savez(DATA / "mobilestylegan-w.npz", **{name: np.float32(part) for name, part in parts.items()})
    held = np.cumsum(variance[order]) / variance.sum()
    print("variance held by 50, 100, 200, 300 axes:", held[[49, 99, 199, 299]].round(4))


def render_targets(full: arrays.Synthesis, wplus: arrays.Floats) -> dict[int, Tensor]:
    """The full render averaged down to each size."""
    network = Network(build_graph(full))
    targets: dict[int, list[Tensor]] = {size: [] for size in FITTED_SIZES}
    for code in wplus:
        image = torch.from_numpy(network(code[None])[0])
        for size in FITTED_SIZES:
            targets[size].append(F.avg_pool2d(image, arrays.FULL_SIZE // size))
    return {size: torch.cat(images) for size, images in targets.items()}


class Tail:
    """What comes after the last growing block of an exit, on chosen pixels only."""

    def __init__(self, network: Synthesis) -> None:
        self.network = network
        self.head = sum(block.grows for block in network.blocks)
        self.blocks = network.blocks[self.head :]
        self.numbers = range(self.head, len(network.blocks))

    @torch.no_grad()
    def inputs(self, wplus: Tensor) -> Tensor:
        """What the tail reads of one face, 1 × channels × pixels × 1."""
        return self.network.map_after(self.head, wplus).flatten(2)[..., None]

    def features(self, x: Tensor, wplus: Tensor, pixels: Tensor) -> Tensor:
        def convolve(x: Tensor, layer: Convolution) -> Tensor:
            noise = layer.noise.flatten(2)[..., pixels, None]
            x = F.conv2d(x * layer.style(wplus), layer.kernel, layer.bias)
            return F.leaky_relu(x + noise, arrays.LEAK)

        for block in self.blocks:
            x = x * block.up(wplus)
            for layer in block.convolutions:
                x = convolve(x, layer)
        return x * self.network.style(wplus)

    def parameters(self) -> dict[str, torch.nn.Parameter]:
        kept = {"output.kernel": self.network.kernel, "output.bias": self.network.bias}
        for number, block in zip(self.numbers, self.blocks, strict=True):
            for i, layer in enumerate(block.convolutions):
                kept |= {f"{number}.{i}.kernel": layer.kernel, f"{number}.{i}.bias": layer.bias}
        return kept

    def solve_output(self, x: Tensor, wplus: Tensor, targets: Tensor) -> None:
        """Least squares for the output kernel alone."""
        size, rng = self.network.size, torch.Generator().manual_seed(SEED)
        gram, right = torch.zeros(65, 65, dtype=torch.float64), torch.zeros(65, 3, dtype=torch.float64)
        for i in range(len(x)):
            pixels = torch.randint(size * size, (4096,), generator=rng)
            with torch.no_grad():
                row = self.features(x[i : i + 1, :, pixels].float(), wplus[i : i + 1], pixels)[
                    0, :, :, 0
                ].double()
            row = torch.cat([row, torch.ones(1, row.shape[1], dtype=torch.float64)])
            gram += row @ row.T
            right += row @ targets[i].flatten(1)[:, pixels].double().T
        solution = torch.linalg.solve(gram + 1e-6 * gram.diagonal().mean() * torch.eye(65), right)
        self.network.kernel.data = solution[:64].T[..., None, None].float()
        self.network.bias.data = solution[64].float()

    def train(self, x: Tensor, wplus: Tensor, targets: Tensor, steps: int) -> None:
        size, rng = self.network.size, torch.Generator().manual_seed(SEED)
        parameters = list(self.parameters().values())
        for parameter in parameters:
            parameter.requires_grad_(True)
        optimizer = torch.optim.Adam(parameters, lr=2e-3)
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 2e-3, total_steps=steps)
        for step in range(steps):
            chosen = torch.randint(len(x), (16,), generator=rng)
            pixels = torch.randint(size * size, (1024,), generator=rng)
            codes = wplus[chosen]
            features = self.features(x[chosen][:, :, pixels].float(), codes, pixels)
            rgb = F.conv2d(features, self.network.kernel, self.network.bias)[..., 0]
            loss = F.mse_loss(rgb, targets[chosen].flatten(2)[:, :, pixels])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            if step % 100 == 0:
                print(f"  {size} px, step {step}: {10 * np.log10(4 / loss.item()):.2f} dB", flush=True)


@torch.no_grad()
def psnr(network: Synthesis, wplus: Tensor, targets: Tensor) -> float:
    """Mean over images, of what is shown: clamped to [-1, 1]."""
    values = []
    for code, target in zip(wplus, targets, strict=True):
        error = F.mse_loss(network(code[None])[0].clamp(-1, 1), target.clamp(-1, 1)).item()
        values.append(10 * np.log10(4 / error))
    return float(np.mean(values))


def fit(full: arrays.Synthesis, size: int, wplus: Tensor, targets: Tensor, held_out: int, steps: int) -> None:
    network = Synthesis(arrays.early_exit(full, size))
    tail = Tail(network)
    test = slice(len(wplus) - held_out, None)
    print(f"{size} px, as derived: {psnr(network, wplus[test], targets[test]):.2f} dB", flush=True)
    train = slice(0, len(wplus) - held_out)
    x = torch.cat([tail.inputs(code[None]).half() for code in wplus[train]])
    tail.solve_output(x, wplus[train], targets[train])
    print(f"{size} px, output refitted: {psnr(network, wplus[test], targets[test]):.2f} dB", flush=True)
    tail.train(x, wplus[train], targets[train], steps)
    stored = {name: p.detach().half().numpy() for name, p in tail.parameters().items()}
    for name, parameter in tail.parameters().items():
        parameter.data = torch.from_numpy(stored[name]).float()
    print(f"{size} px, tail refitted: {psnr(network, wplus[test], targets[test]):.2f} dB", flush=True)
    np.savez_compressed(DATA / f"mobilestylegan-exit-{size}.npz", **stored)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--images", type=int, default=160)
    parser.add_argument("--held-out", type=int, default=32)
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--sizes", type=int, nargs="+", default=FITTED_SIZES, choices=FITTED_SIZES)
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    measure_w()
    full = arrays.read_synthesis(Path(weights(CARD, "SynthesisNetwork.xml")))
    wplus = mixed_wplus(Generator(), SEED, range(options.images + options.held_out))
    targets = render_targets(full, wplus)
    for size in options.sizes:
        fit(full, size, torch.from_numpy(wplus), targets[size], options.held_out, options.steps)


if __name__ == "__main__":
    main()
