"""A StyleGAN2 checkpoint of the user's own behind the same calls as `Generator`."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch

from faceveil.errors import UsageError
from faceveil.models.generator import Images
from faceveil.models.mobilestylegan import Floats
from faceveil.models.stylegan2 import read_stylegan2
from faceveil.models.torch.stylegan2 import StyleGan2


class StyleGan2Generator:
    """z → W → W+ → RGB, on `device` ("cpu", "cuda", …)."""

    def __init__(self, weights: Path, device: str = "cpu") -> None:
        try:
            self.device = torch.device(device)
            torch.empty(0, device=self.device)
        except (RuntimeError, AssertionError) as error:
            raise UsageError(f"torch cannot use the device {device!r} here. Use --device cpu.") from error
        self.network = StyleGan2(read_stylegan2(weights)).to(self.device)
        self.size, self.slots = self.network.size, self.network.slots

    def sample_z(self, count: int, rng: np.random.Generator) -> Floats:
        """`count` draws from the prior."""
        return rng.standard_normal((count, self.network.z_dim), np.float32)

    @torch.no_grad()
    def mapping(self, z: Floats) -> Floats:
        """z to W, one by one, so that a face does not depend on its company."""
        rows = [self.network.mapping(torch.from_numpy(row[None]).to(self.device)) for row in z]
        return np.concatenate([row.cpu().numpy() for row in rows])

    def truncate(self, w: Floats, psi: float) -> Floats:
        """Towards the mean face."""
        mean: Floats = self.network.w_mean.cpu().numpy()
        return (mean + np.float32(psi) * (w - mean)).astype(np.float32)

    def render_each(self, latents: Floats, size: int | None = None) -> Iterator[Images]:
        """W (N × W) or W+ (N × slots × W) to RGB images, at the network's size or averaged down."""
        size = self.size if size is None else size
        if size < 1 or self.size % size:
            raise UsageError(f"this network renders {self.size} px, which cannot be averaged down to {size}.")
        wplus = np.repeat(latents[:, None], self.slots, axis=1) if latents.ndim == 2 else latents
        for code in wplus:
            with torch.no_grad():
                image = self.network(torch.from_numpy(code[None]).to(self.device))
                image = torch.nn.functional.avg_pool2d(image, self.size // size)
                pixels = (image * 127.5 + 128).clamp(0, 255).to(torch.uint8)
            yield pixels[0].permute(1, 2, 0).cpu().numpy()
