"""Faces of nobody: MobileStyleGAN on the CPU, without torch.

    generator = Generator()
    z = generator.sample_z(16, np.random.default_rng())
    w = generator.truncate(generator.mapping(z), 0.7)
    images = generator.render(w, size=256)          # 16 × 256 × 256 × 3, RGB uint8

`render` takes W (N × 512) or W+ (N × 23 × 512). A size below 1024 px takes an early exit of the network and
costs a fraction of the time; docs/generator.md has the figures.
"""

import os
import threading
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from faceveil.errors import UsageError
from faceveil.models import mobilestylegan as arrays
from faceveil.models.mobilestylegan import FULL_SIZE, SIZES, SLOTS, STYLE_DIM, Floats, Synthesis
from faceveil.models.npz import opened
from faceveil.models.runtime import Precision, load, openvino
from faceveil.models.store import weights
from faceveil.models.wspace import w_space

CARD = "mobilestylegan.ffhq-1024"
DATA = Path(__file__).with_name("data")
Images = NDArray[np.uint8]


class FaceGenerator(Protocol):
    """What every generator can do, whichever network it runs."""

    @property
    def size(self) -> int:
        """The side of the largest image, in pixels."""

    def sample_z(self, count: int, rng: np.random.Generator) -> Floats: ...
    def mapping(self, z: Floats) -> Floats: ...
    def truncate(self, w: Floats, psi: float) -> Floats: ...
    def render_each(self, latents: Floats, size: int) -> Iterator[Images]: ...


def open_generator(
    name: str = "mobilestylegan", weights_file: Path | None = None, device: str = "cpu"
) -> FaceGenerator:
    """`mobilestylegan` on all cores, or `stylegan2` from the user's own file, which needs torch."""
    if name == "mobilestylegan":
        if weights_file is not None:
            raise UsageError("mobilestylegan has its own weights; --weights goes with --generator stylegan2.")
        return Generator(threads=cores())
    if name != "stylegan2":
        raise UsageError(f"no generator is named {name!r}. There are mobilestylegan and stylegan2.")
    if weights_file is None:
        raise UsageError("stylegan2 needs your checkpoint: --weights FILE (.pkl or .pt).")
    from faceveil.models.torch.stylegan2_generator import StyleGan2Generator

    return StyleGan2Generator(weights_file, device)


class Generator:
    """z → W → W+ → RGB.

    `threads` faces are rendered at a time, each on one thread, so that bytes do not depend on their number. With
    bf16, on processors that have it, a render takes half the time and is the same to the eye (49 to 52 dB).
    """

    size = FULL_SIZE

    def __init__(self, threads: int = 1, precision: Precision = "f32") -> None:
        if threads < 1:
            raise UsageError(f"a generator needs threads >= 1, not {threads}.")
        self.threads = threads
        self.precision = precision
        self._compiled: dict[int, Any] = {}
        self._compiling = threading.Lock()

    @property
    def w_mean(self) -> Floats:
        """The mean of W, where truncation leads to."""
        return w_space().mean

    def sample_z(self, count: int, rng: np.random.Generator) -> Floats:
        """`count` draws from the prior, count × 512."""
        return rng.standard_normal((count, STYLE_DIM), np.float32)

    def mapping(self, z: Floats) -> Floats:
        """z (N × 512) to W (N × 512)."""
        if z.ndim != 2 or z.shape[1] != STYLE_DIM:
            raise UsageError(f"z must have shape (N, {STYLE_DIM}), not {z.shape}.")
        network = load(CARD, member="MappingNetwork.xml")
        rows = [network(row[None].astype(np.float32))[0] for row in z]
        return np.concatenate(rows) if rows else np.zeros((0, STYLE_DIM), np.float32)

    def truncate(self, w: Floats, psi: float) -> Floats:
        """Towards the mean face: 1 leaves `w` as it is, 0 is the mean, 0.7 gives natural faces."""
        mean = self.w_mean
        return (mean + np.float32(psi) * (w - mean)).astype(np.float32)

    def render(self, latents: Floats, size: int = FULL_SIZE) -> Images:
        """W (N × 512) or W+ (N × 23 × 512) to RGB images, N × size × size × 3."""
        images = list(self.render_each(latents, size))
        return np.stack(images) if images else np.zeros((0, size, size, 3), np.uint8)

    def render_each(self, latents: Floats, size: int = FULL_SIZE) -> Iterator[Images]:
        """The images one by one in order, in memory that does not grow with their number."""
        wplus = as_wplus(latents)
        check_size(size)
        return self._render_each(wplus, self.compiled(size))

    def _render_each(self, wplus: Floats, compiled: Any) -> Iterator[Images]:
        requests = [compiled.create_infer_request() for _ in range(min(self.threads, len(wplus)))]
        try:
            for index, latent in enumerate(wplus):
                request = requests[index % len(requests)]
                if index >= len(requests):
                    yield _result(request)
                request.start_async({0: latent[None]})
            for index in range(len(wplus) - len(requests), len(wplus)):
                yield _result(requests[index % len(requests)])
        finally:
            for request in requests:
                request.wait()

    def compiled(self, size: int) -> Any:
        """OpenVINO's compiled network for this size, made once."""
        with self._compiling:
            if size not in self._compiled:
                self._compiled[size] = self._compile(size)
        return self._compiled[size]

    def _compile(self, size: int) -> Any:
        from faceveil.models.synthesis import as_pixels, build_graph

        model = as_pixels(build_graph(synthesis(size)))
        model.reshape([1, SLOTS, STYLE_DIM])
        config = {
            "INFERENCE_NUM_THREADS": self.threads,
            "NUM_STREAMS": self.threads,
            "INFERENCE_PRECISION_HINT": self.precision,
            "ENABLE_CPU_PINNING": False,
        }
        return openvino().Core().compile_model(model, "CPU", config)


def synthesis(size: int = FULL_SIZE) -> Synthesis:
    """The arrays of the cheapest network that renders `size` px, with what was fitted for it."""
    check_size(size)
    full = _full_synthesis()
    if size == FULL_SIZE:
        return full
    exit_ = arrays.early_exit(full, size)
    path = DATA / f"mobilestylegan-exit-{size}.npz"
    if not path.exists():  # 512 px is exact without a fit
        return exit_
    with opened(path) as fitted:
        return arrays.with_fitted_tail(exit_, {name: fitted[name].astype(np.float32) for name in fitted})


def as_wplus(latents: Floats) -> Floats:
    """W+ as it is; W repeated for each of the 23 slots."""
    latents = np.asarray(latents, np.float32)
    if latents.ndim == 2 and latents.shape[1] == STYLE_DIM:
        return np.repeat(latents[:, None], SLOTS, axis=1)
    if latents.ndim == 3 and latents.shape[1:] == (SLOTS, STYLE_DIM):
        return latents
    raise UsageError(
        f"latents must have shape (N, {STYLE_DIM}) for W or (N, {SLOTS}, {STYLE_DIM}) for W+, "
        f"not {latents.shape}."
    )


def check_size(size: int) -> None:
    """Refuse a size that no exit serves."""
    if size not in SIZES:
        offered = ", ".join(map(str, SIZES))
        raise UsageError(f"the generator renders {offered} px, not {size}. Render larger and scale down.")


def cores() -> int:
    """Those this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def _result(request: Any) -> Images:
    request.wait()
    return np.array(request.output_tensors[0].data[0])


@cache
def _full_synthesis() -> Synthesis:
    return arrays.read_synthesis(weights(CARD, "SynthesisNetwork.xml"))
