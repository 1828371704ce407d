"""Train the encoder: python -m training.encoder PAIRS RUN [--hours 6] [--workers 2]

PAIRS is the folder of `pairs.py` and `real_faces.py`; RUN holds checkpoint.pt, log.csv and encoder.npz (the
averaged weights as they ship). A run that was stopped goes on from its checkpoint. `README.md` has the
recipe.
"""

import argparse
import csv
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from faceveil.models import layers
from faceveil.models.layers import in_bytes
from faceveil.models.memory import keep_freed_memory
from faceveil.models.torch.encoder import Encoder
from faceveil.models.torch.mobilenet import face_recognizer
from training.data import Batch, GeneratedFaces, RealFaces
from training.grow import grown
from training.losses import WEIGHTS, DetailLoss, ImageLoss, StyleLoss, any_window
from training.ridge import fit_ridge
from training.team import Team, run_team

AVERAGE = 0.998
FROZEN = (
    7  # blocks of the backbone, down to 1/8 of the picture: a third of a step's time, and they hardly move
)


@dataclass(frozen=True)
class Options:
    """How much of what goes into one step."""

    generated: int = 8  # faces with known W+: loss in style space
    rendered: int = 0  # how many of them are also rendered and compared
    real: int = 8  # faces without W+: rendered and compared
    size: int = 64  # of the exit they are rendered through
    detailed: int = 8  # of the real faces: also compared at 256 px, in a window
    rate: float = 2e-4
    warm_up: int = 50
    checkpoint_minutes: float = 5
    evaluation_minutes: float = 20


class Training:
    """The encoder, its running average, the optimiser and the step."""

    def __init__(
        self, pairs: Path, run: Path, options: Options, start: Path | None = None, team: Team | None = None
    ) -> None:
        self.run, self.options = run, options
        self.team = team or Team(0, 1, run)
        self.generated, self.real = GeneratedFaces(pairs), RealFaces(pairs)
        self.encoder = Encoder.with_pretrained_backbone().eval()  # batch statistics stay ImageNet's
        self.style_loss, self.image_loss = StyleLoss(), ImageLoss(options.size)
        self.detail_loss = DetailLoss()
        for network in (self.encoder, self.image_loss, face_recognizer()):
            network.to(memory_format=torch.channels_last)  # a fifth faster on a CPU
        self.encoder.backbone.features[:FROZEN].requires_grad_(False)
        narrow = list(self.encoder.narrow.parameters())
        others = [
            p for n, p in self.encoder.named_parameters() if p.requires_grad and not n.startswith("narrow")
        ]
        # Each bottleneck unit sums 10,000 inputs: the same step there is a far larger change.
        groups = [{"params": others, "share": 1.0}, {"params": narrow, "share": 0.2}]
        self.optimizer = torch.optim.AdamW(groups, lr=options.rate, weight_decay=1e-4)
        self.step, self.seconds = 0, 0.0
        self.average: dict[str, Tensor] = {}
        if self.team.leads and not (run / "checkpoint.pt").exists():
            self._begin(start)
        self.team.wait()
        self.resume()

    def _begin(self, start: Path | None) -> None:
        """The first checkpoint: from shipped weights, or else a ridge regression."""
        if start is None:
            fit_ridge(self.encoder, self.generated, self.real, self.style_loss, self.image_loss)
        else:
            self.encoder.load_state_dict(grown(read_weights(start), self.encoder, self.real))
        self.average = {name: value.clone() for name, value in self.encoder.state_dict().items()}
        self.save()

    def one_step(self, left: float = 1.0) -> dict[str, float]:
        """One step of the optimiser; `left` is the share of the run that lies ahead, with which the rate falls."""
        rng = np.random.default_rng([3, self.step, self.team.rank])
        options = self.options
        for group in self.optimizer.param_groups:
            rise = min(1.0, (self.step + 1) / options.warm_up)
            group["lr"] = group["share"] * options.rate * rise * max(0.05, left)
        generated = self.generated.draw(options.generated, options.size, rng)
        real, photos, masks = self.real.draw(options.real, options.size, rng, options.detailed)
        inputs = torch.cat([generated.inputs, real.inputs]).contiguous(memory_format=torch.channels_last)
        coordinates = self.encoder.coordinates(inputs)
        wplus = self.encoder.mean + coordinates @ self.encoder.basis
        found, truth = wplus[: options.generated], generated.wplus
        assert truth is not None
        losses = {"style": self.style_loss(found, truth)}
        losses["spread"] = spread(coordinates[options.generated :])
        losses |= self._image_losses(
            found[: options.rendered], generated.first(options.rendered), "generated"
        )
        losses |= self._image_losses(wplus[options.generated :], real, "real")
        if options.detailed:
            seen = wplus[options.generated :][: options.detailed]
            losses["real detail"] = self.detail_loss(seen, photos, masks, any_window(rng))
        total = (
            losses["style"] + 0.01 * losses["spread"] + sum(losses[k] * w for k, w in self._weights(losses))
        )
        self.optimizer.zero_grad()
        total.backward()
        self.team.average_gradients(self.encoder.parameters())
        torch.nn.utils.clip_grad_norm_(self.encoder.parameters(), 1.0)
        self.optimizer.step()
        self.step += 1
        keep = min(AVERAGE, (self.step + 1) / (self.step + 10))
        for name, value in self.encoder.state_dict().items():
            if value.is_floating_point():
                self.average[name].lerp_(value, 1 - keep)
        return {name: loss.item() for name, loss in losses.items()}

    def _image_losses(self, wplus: Tensor, batch: Batch, kind: str) -> dict[str, Tensor]:
        if len(wplus) == 0:
            return {}
        losses = self.image_loss(wplus, batch.targets, batch.masks)
        return {f"{kind} {name}": loss for name, loss in losses.items()}

    def _weights(self, losses: dict[str, Tensor]) -> list[tuple[str, float]]:
        share = {"generated": self.options.rendered, "real": self.options.real}
        whole = sum(share.values())
        image = [name.split() for name in losses if " " in name]
        return [(f"{kind} {name}", WEIGHTS[name] * share[kind] / whole) for kind, name in image]

    def averaged(self) -> Encoder:
        """The encoder with the running average of its weights."""
        encoder = Encoder().eval().requires_grad_(False)
        encoder.load_state_dict(self.average)
        return encoder

    @torch.no_grad()
    def evaluate(self) -> dict[str, float]:
        """The averaged encoder on people it never saw, through the exit; `evaluate.py` renders fully."""
        encoder, scores = self.averaged(), {}
        for name, batch in {
            "ffhq": self.real.held_out("ffhq", 60, self.options.size),
            "lfw": self.real.held_out("lfw", 60, self.options.size),
            "generated": self.generated.held_out(120, self.options.size),
        }.items():
            wplus = torch.cat([encoder(part) for part in batch.inputs.split(20)])
            if batch.wplus is not None:
                scores[f"held-out {name} style"] = self.style_loss(wplus, batch.wplus).item()
                continue
            renders = torch.cat([self.image_loss.generator(part) for part in wplus.split(10)])
            losses = self.image_loss.compare(renders, batch.targets, batch.masks)
            scores |= {f"held-out {name} {key}": value.item() for key, value in losses.items()}
        return scores

    def save(self) -> None:
        """The whole state, and beside it the averaged weights as they will ship."""
        state = {
            "encoder": self.encoder.state_dict(),
            "average": self.average,
            "optimizer": self.optimizer.state_dict(),
            "step": self.step,
            "seconds": self.seconds,
        }
        partial = self.run / "checkpoint.partial"
        torch.save(state, partial)
        partial.replace(self.run / "checkpoint.pt")
        np.savez(self.run / "encoder.npz", **packed(self.average))

    def resume(self) -> None:
        state = torch.load(self.run / "checkpoint.pt", weights_only=True)
        self.encoder.load_state_dict(state["encoder"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.average, self.step, self.seconds = state["average"], state["step"], state["seconds"]


def packed(weights: dict[str, Tensor]) -> dict[str, np.ndarray]:
    """As they ship: the head's matrices in bytes, row by row, everything else in half precision."""
    arrays: dict[str, np.ndarray] = {}
    for name, value in weights.items():
        if value.ndim == 2:
            arrays |= in_bytes(name, value.numpy())
        else:
            arrays[name] = value.half().numpy() if value.is_floating_point() else value.numpy()
    return arrays


def read_weights(path: Path) -> dict[str, Tensor]:
    """What `save` wrote to encoder.npz, in single precision."""
    return {name: torch.from_numpy(value) for name, value in layers.read_weights(path).items()}


def spread(coordinates: Tensor) -> Tensor:
    """How far codes of real faces lie from W: their length, and the slots' distance from their mean."""
    common = coordinates.mean(1, keepdim=True)
    return coordinates.square().mean() + (coordinates - common).square().mean()


class Log:
    """log.csv: one row per report, with the mean of each loss since the last one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: list[dict[str, float]] = []

    def add(self, losses: dict[str, float]) -> None:
        self.rows.append(losses)

    def report(self, training: Training, scores: dict[str, float]) -> None:
        means = {
            k: float(np.mean([row[k] for row in self.rows])) for k in (self.rows[0] if self.rows else {})
        }
        self.rows = []
        with self.path.open("a", newline="") as file:
            for name, value in (means | scores).items():
                csv.writer(file).writerow([training.step, round(training.seconds), name, f"{value:.5f}"])
        shown = "  ".join(f"{k} {v:.4f}" for k, v in (means | scores).items())
        print(f"step {training.step}, {training.seconds / 60:.0f} min: {shown}", flush=True)


def train(team: Team, arguments: argparse.Namespace) -> None:
    keep_freed_memory()
    options = Options(size=arguments.size, rate=arguments.rate)
    training = Training(arguments.pairs, arguments.run, options, arguments.start, team)
    log = Log(arguments.run / "log.csv")
    end = time.monotonic() + 3600 * arguments.hours
    saved = evaluated = -np.inf
    while not team.agree(time.monotonic() > end):
        started = time.monotonic()
        if team.leads and started - saved > 60 * options.checkpoint_minutes:
            training.save()
            due = started - evaluated > 60 * options.evaluation_minutes
            log.report(training, training.evaluate() if due else {})
            saved = time.monotonic()
            evaluated = saved if due else evaluated
        log.add(training.one_step((end - started) / (3600 * arguments.hours)))
        training.seconds += time.monotonic() - started
    if team.leads:
        training.save()
        log.report(training, training.evaluate())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pairs", type=Path)
    parser.add_argument("run", type=Path)
    parser.add_argument("--hours", type=float, default=6)
    parser.add_argument("--workers", type=int, default=1, help="Processes of one thread each.")
    parser.add_argument("--size", type=int, default=64, choices=(64, 128))
    parser.add_argument("--rate", type=float, default=2e-4)
    parser.add_argument("--start", type=Path, help="An encoder.npz to start from instead of the ridge.")
    arguments = parser.parse_args()
    arguments.run.mkdir(parents=True, exist_ok=True)
    run_team(train, arguments.workers, arguments)


if __name__ == "__main__":
    main()
