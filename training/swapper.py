"""Train StyleID's swapper: python -m training.swapper RUN [--minutes 40] [--examples 500]

RUN holds the examples, checkpoint.pt, log.csv and swapper.npz (the weights in half precision, as they ship). A run
that was stopped goes on from its checkpoint. The loss is the paper's: the code and the picture shall be those of the
mask method (equation 5), and a recogniser shall not take the new face for the old one (equation 6). The first steps
see codes alone, which costs next to nothing; then every step renders. Minutes are those of the processor.
"""

import argparse
import csv
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from faceveil.methods.styleid.swapper import DEPTH, MODULES
from faceveil.models.generator import synthesis
from faceveil.models.mobilestylegan import LEAK, SLOTS, STYLE_DIM
from faceveil.models.torch.encoder import arcface_crop
from faceveil.models.torch.lpips import Lpips
from faceveil.models.torch.mobilenet import face_recognizer
from faceveil.models.torch.mobilestylegan import Synthesis
from faceveil.models.wspace import w_space
from training.swapper_examples import SIZE, Examples, make

HIDDEN = 192
START = {
    "coarse": 3.0,
    "identity": -0.5,
    "fine": 3.0,
}  # α before the sigmoid: nearly a swap of the identity slots
SLOT_WEIGHTS = {
    "coarse": 0.3,
    "identity": 1.0,
    "fine": 0.3,
}  # of the code's error: most for the second module
WEIGHTS = {"code": 0.3, "pixels": 2.0, "lpips": 1.0, "identity": 1.0}
STRANGER = 0.0  # the similarity of two people: below it nothing is gained
FIRST_STEPS, FIRST_BATCH = 400, 48  # on codes alone
BATCH = 6
RATE, LEAN_RATE = 1e-3, 0.02  # of the layers, and of what every channel leans to
WARM_UP = 20
LAST = 0.1  # of the rates, at the end
SAVE_STEPS = 100
HELD_OUT = 24
SEED = 11


class Swapper(nn.Module):
    """Two codes (N × 23 × 512) → α of the same shape; `swapper.py` of the method has the same in OpenVINO."""

    mean: Tensor
    scale: Tensor

    def __init__(self) -> None:
        super().__init__()
        space = w_space()
        deviation = np.sqrt(((space.spread[:, None] * space.axes) ** 2).sum(axis=0))
        self.register_buffer("mean", torch.from_numpy(space.mean))
        self.register_buffer("scale", torch.from_numpy(deviation.astype(np.float32)))
        widths = [2 * STYLE_DIM, *[HIDDEN] * (DEPTH - 1), STYLE_DIM]
        for name in MODULES:
            self.add_module(name, nn.ModuleList(nn.Linear(*size) for size in pairwise(widths)))
        self.slot = nn.Parameter(torch.zeros(SLOTS, HIDDEN))
        self.lean = nn.Parameter(_by_module(START)[:, None].repeat(1, STYLE_DIM))
        for name in MODULES:
            nn.init.normal_(self.get_submodule(f"{name}.{DEPTH - 1}").weight, std=0.01)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        both = torch.cat([(code - self.mean) / self.scale for code in (source, target)], dim=2)
        parts = [self._module(name, both[:, slice(*slots)], slice(*slots)) for name, slots in MODULES.items()]
        return torch.sigmoid(torch.cat(parts, dim=1) + self.lean)

    def _module(self, name: str, x: Tensor, slots: slice) -> Tensor:
        x = self.get_submodule(f"{name}.0")(x) + self.slot[slots]
        for layer in range(1, DEPTH):
            x = self.get_submodule(f"{name}.{layer}")(F.leaky_relu(x, LEAK))
        return x


class Losses(nn.Module):
    """What a mixed code and its render are measured by."""

    weight: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.generator = Synthesis(synthesis(SIZE))
        self.lpips = Lpips("alexnet")
        self.register_buffer("weight", _by_module(SLOT_WEIGHTS)[:, None])

    def of_code(self, mixed: Tensor, truth: Tensor) -> dict[str, Tensor]:
        """How far the code is from the mask method's."""
        return {"code": (self.weight * (mixed - truth).abs()).mean()}

    def of_render(self, mixed: Tensor, after: Tensor, who: Tensor) -> dict[str, Tensor]:
        """How far the picture is from the mask method's ([-1, 1]), and how near its person to the source's."""
        render = self.generator(mixed)
        with torch.no_grad():
            looks = self.lpips.taps(after)
        return {
            "pixels": (render - after).square().mean(),
            "lpips": self.lpips.distance(self.lpips.taps(render), looks).mean(),
            "identity": F.relu((embedded(render) * who).sum(1) - STRANGER).mean(),
        }


class Training:
    """The network, its optimiser and the step."""

    def __init__(self, run: Path, examples: Examples, minutes: float) -> None:
        self.run, self.examples, self.minutes = run, examples, minutes
        torch.manual_seed(SEED)
        self.network, self.losses = Swapper(), Losses()
        layers = [value for name, value in self.network.named_parameters() if name != "lean"]
        groups = [{"params": layers, "full": RATE}, {"params": [self.network.lean], "full": LEAN_RATE}]
        self.optimizer = torch.optim.AdamW(groups, weight_decay=1e-4)
        self.step, self.seconds = 0, 0.0
        if (run / "checkpoint.pt").exists():
            self._resume()

    def one_step(self) -> dict[str, float]:
        rng = np.random.default_rng([SEED, self.step])
        rendered = self.step >= FIRST_STEPS
        chosen = rng.choice(len(self.examples), BATCH if rendered else FIRST_BATCH, replace=False)
        rate = min(1.0, (self.step + 1) / WARM_UP) * (1 - (1 - LAST) * self.seconds / (60 * self.minutes))
        for group in self.optimizer.param_groups:
            group["lr"] = rate * group["full"]
        losses = self.measure(self.examples, chosen, rendered=rendered)
        total = torch.stack([WEIGHTS[name] * loss for name, loss in losses.items()]).sum()
        self.optimizer.zero_grad()
        total.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
        self.optimizer.step()
        self.step += 1
        return {name: loss.item() for name, loss in losses.items()}

    def measure(self, examples: Examples, rows: NDArray[np.int64], *, rendered: bool) -> dict[str, Tensor]:
        """The losses on some examples."""
        source, target, change = (
            torch.from_numpy(array[rows].astype(np.float32))
            for array in (examples.source, examples.target, examples.change)
        )
        keep = self.network(source, target)
        mixed = keep * source + (1 - keep) * target
        losses = self.losses.of_code(mixed, source + change)
        if rendered:
            with torch.no_grad():
                who = embedded(_pictures(examples.before[rows]))
            losses |= self.losses.of_render(mixed, _pictures(examples.after[rows]), who)
        return losses

    @torch.no_grad()
    def judge(self, held_out: Examples) -> dict[str, float]:
        """The losses on examples that were not trained on, with targets that were not either."""
        parts = np.array_split(np.arange(len(held_out)), max(1, len(held_out) // BATCH))
        found = [self.measure(held_out, part, rendered=True) for part in parts]
        return {f"held-out {name}": float(np.mean([f[name].item() for f in found])) for name in found[0]}

    def save(self) -> None:
        """The whole state, and beside it the weights as they ship."""
        partial = self.run / "checkpoint.partial"
        torch.save(
            {
                "network": self.network.state_dict(), "optimizer": self.optimizer.state_dict(),
                "step": self.step, "seconds": self.seconds,
            },
            partial,
        )  # fmt: skip
        partial.replace(self.run / "checkpoint.pt")
        half = {name: value.half().numpy() for name, value in self.network.state_dict().items()}
        np.savez(self.run / "swapper.npz", **half)

    def _resume(self) -> None:
        state = torch.load(self.run / "checkpoint.pt", weights_only=True)
        self.network.load_state_dict(state["network"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.step, self.seconds = state["step"], state["seconds"]


def train(training: Training, held_out: Examples) -> None:
    """Until so many minutes of the processor are spent in steps, over all starts."""
    rows: list[dict[str, float]] = []
    _report(training, training.judge(held_out))
    while training.seconds < 60 * training.minutes:
        started = time.process_time()
        rows.append(training.one_step())
        training.seconds += time.process_time() - started
        if training.step % SAVE_STEPS == 0:
            training.save()
            _report(training, _means(rows) | training.judge(held_out))
            rows = []
    training.save()
    _report(training, training.judge(held_out))


def _means(rows: list[dict[str, float]]) -> dict[str, float]:
    return {name: float(np.mean([row[name] for row in rows if name in row])) for name in rows[-1]}


def _report(training: Training, figures: dict[str, float]) -> None:
    """Rows of log.csv: step, seconds, figure, value."""
    with (training.run / "log.csv").open("a", newline="") as file:
        for name, value in figures.items():
            csv.writer(file).writerow([training.step, round(training.seconds), name, f"{value:.5f}"])
    print(training.step, {name: round(value, 4) for name, value in figures.items()}, flush=True)


def _by_module(values: dict[str, float]) -> Tensor:
    """One number per slot."""
    return torch.cat([torch.full((end - first,), values[name]) for name, (first, end) in MODULES.items()])


def _pictures(pictures: NDArray[np.uint8]) -> Tensor:
    return torch.from_numpy(pictures).permute(0, 3, 1, 2).float() / 127.5 - 1


def embedded(pictures: Tensor) -> Tensor:
    """What the recogniser sees in pictures in [-1, 1]."""
    embedding: Tensor = face_recognizer()(arcface_crop((pictures + 1) / 2))
    return embedding


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("--minutes", type=float, default=40)
    parser.add_argument("--examples", type=int, default=500)
    options = parser.parse_args()
    options.run.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    held_out = make(options.run, HELD_OUT, held_out=True)
    training = Training(options.run, make(options.run, options.examples), options.minutes)
    train(training, held_out)


if __name__ == "__main__":
    main()
