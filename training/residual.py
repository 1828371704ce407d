"""Train the network that joins a new face to its photo: python -m training.residual FACES RUN [--minutes 60]

FACES is the folder of `parsed.py`; RUN holds checkpoint.pt, log.csv and residual.npz. A run that was stopped goes on;
one with --start begins with the weights of a file that was packed.

The network sees the photo with only the light on its skin where its face is, and the generator's 64-px map of the new
face, and says what to add to that map. Two kinds of faces teach it: the photo's own code, from which the photo is
asked back, and a code whose identity slots are another's (one of `swapped.py`, or another photo's), which must keep
its own detail, take the photo's slow colours, meet the photo where the face ends, and pass for a photo: a critic
(`training/critic.py`) learns to tell pasted faces from photos. What of the face is to be replaced is hidden from
both.
"""

import argparse
import csv
import json
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import cv2
import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from faceveil.faces.light import SKINS, around, light_of
from faceveil.methods.styleid.paste import STAYS, grown
from faceveil.models.generator import synthesis
from faceveil.models.parser import FACE, GLASSES
from faceveil.models.torch.lpips import Lpips
from faceveil.models.torch.mobilestylegan import Synthesis, _first, _last, cut, haar_up
from faceveil.models.torch.residual import Residual
from faceveil.models.windows import WHOLE, Window
from training.critic import Critic
from training.losses import any_window

SLOTS = slice(2, 13)  # of identity
AVERAGE = 0.999
WEIGHTS = {
    "pixels": 1.0,
    "lpips": 1.0,
    "detail": 1.0,
    "outside": 1.0,
    "slow": 2.0,
    "own detail": 1.5,
    "seam": 1.0,
    "seam detail": 1.0,
    "critic": 0.1,
    "size": 0.003,
}
CRITIC_RATE = 4e-4
WARM = 100  # steps of the critic alone, before it counts


class Generator(nn.Module):
    """The generator up to its 64-px map and on from it."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.net = Synthesis(synthesis(size))

    def start(self, wplus: Tensor) -> Tensor:
        return self.net.map_after(4, wplus.to(self.net.kernel.dtype)).float()

    def finish(self, x: Tensor, wplus: Tensor, window: Window = WHOLE) -> Tensor:
        net, shown = self.net, WHOLE.part(64)
        x, wplus = x.to(net.kernel.dtype), wplus.to(net.kernel.dtype)
        wanted = window.part(64, net.margins[3])
        x, shown = cut(x, wanted, shown), wanted
        for block, size, margin in zip(net.blocks[4:], net.sizes[4:], net.margins[4:], strict=True):
            wanted = window.part(size, margin)
            x, shown = block(x, wplus, shown, wanted), wanted
        x = cut(x, window.part(net.sizes[-1]), shown) * net.style(wplus)
        rgb = _first(F.linear(_last(x), net.kernel[:, :, 0, 0], net.bias)).float()
        return haar_up(rgb, torch.ones_like(rgb[:1, :, :1, :1])) if rgb.shape[1] == 12 else rgb


class Faces:
    """Photos, what their pixels show, and their codes; held-out people are apart."""

    def __init__(self, folder: Path) -> None:
        with np.load(folder / "parsed.npz") as parsed:
            ids, labels = parsed["ids"], parsed["lab"]
            self.codes = parsed["codes"].astype(np.float32)
        self.swapped = {}
        if (folder / "swapped.npz").exists():
            with np.load(folder / "swapped.npz") as swapped:
                self.swapped = dict(zip(swapped["ids"].tolist(), swapped["codes"], strict=True))
        self.ids = ids.tolist()
        photos, masks = (np.load(folder / f"{name}.npy", mmap_mode="r") for name in ("real", "mask"))
        self.images, self.inside = [photos[i] for i in ids], [masks[i] for i in ids]
        every = json.loads((folder / "real.json").read_text())
        records = [every[i] for i in ids]
        self.labels, self.records = labels, records
        apart = np.array([r["held_out"] for r in records])
        shares = {"ffhq": 0.35, "lfw": 0.35, "utkface": 0.15, "portraits-cc0": 0.15}
        face = np.array([np.isin(lab, FACE).mean() for lab in labels])
        good = face > 0.08
        sets = np.array([r["set"] for r in records])
        self.weights = np.zeros(len(records))
        for name, share in shares.items():
            rows = (sets == name) & ~apart & good
            if rows.any():
                self.weights[rows] = share / rows.sum()
        self.weights /= self.weights.sum()
        self.test = np.flatnonzero(apart & good)
        small = np.stack(
            [
                cv2.resize(
                    np.isin(lab, (*FACE, GLASSES)).astype(np.uint8) * 255,
                    (32, 32),
                    interpolation=cv2.INTER_AREA,
                )
                for lab in labels
            ]
        )
        eyes = np.stack(
            [
                cv2.resize(
                    np.isin(lab, (2, 3, 4, 5, 11, 12, 13)).astype(np.uint8) * 255,
                    (32, 32),
                    interpolation=cv2.INTER_AREA,
                )
                for lab in labels
            ]
        )
        self.shape = (
            np.concatenate([small.reshape(len(small), -1), 2.0 * eyes.reshape(len(small), -1)], 1).astype(
                np.float32
            )
            / 255
        )

    def new_code(self, i: int, rng: np.random.Generator) -> np.ndarray:
        """The photo's own code with the features of another face: the program's choice, or another photo's."""
        code, chosen = self.codes[i].copy(), self.swapped.get(self.ids[i])
        other = self.codes[self.partner(i, rng)] if chosen is None or rng.random() < 0.25 else chosen
        code[SLOTS] = other[SLOTS].astype(np.float32)
        return code

    def partner(self, i: int, rng: np.random.Generator) -> int:
        """Another face whose parts lie about where this one's do."""
        few = rng.choice(len(self.weights), 60, p=self.weights)
        few = few[few != i]
        return int(few[np.abs(self.shape[few] - self.shape[i]).mean(1).argmin()])


def face_mask(labels: np.ndarray, grow: float, feather: float) -> np.ndarray:
    """1 where a new face goes, 0 where the photo stays, as the program pastes it."""
    return grown(np.isin(labels, (*FACE, GLASSES)), np.isin(labels, STAYS), grow, feather)


class Sample:
    def __init__(
        self, faces: Faces, i: int, rng: np.random.Generator, swap: bool, plain: bool = False
    ) -> None:
        image, labels, inside = np.asarray(faces.images[i]), faces.labels[i], np.asarray(faces.inside[i])
        code = faces.new_code(i, rng) if swap else faces.codes[i]
        mask = face_mask(labels, 4 if plain else rng.uniform(0, 8), 1.5 if plain else rng.uniform(0.5, 3))
        if not plain:
            if rng.random() < 0.3:  # a thing before the face
                mask = mask * (1 - blob(rng))
            if rng.random() < 0.3:  # more than the face is unknown
                mask = np.maximum(mask, blob(rng) * (0.5 + 0.5 * (mask > 0.5)))
            gain = np.exp(rng.normal(0, 0.06, 3)).astype(np.float32)
            image = np.clip(image * gain, 0, 255)
        self.swap = swap
        self.photo = _tensor(image) * 2 - 1
        self.seen = _tensor(around(image, 1 - mask, light_of(image, np.isin(labels, SKINS)))) * 2 - 1
        self.mask = torch.from_numpy(np.ascontiguousarray(mask, np.float32))[None, None]
        there = cv2.resize(inside, (256, 256)).astype(np.float32) / 255
        self.there = torch.from_numpy((there > 0.99).astype(np.float32))[None, None]
        self.code = torch.from_numpy(code)[None]


def blob(rng: np.random.Generator) -> np.ndarray:
    shape = np.zeros((256, 256), np.uint8)
    centre = tuple(int(v) for v in rng.uniform(40, 216, 2))
    axes = tuple(int(v) for v in rng.uniform(8, 55, 2))
    cv2.ellipse(shape, centre, axes, rng.uniform(0, 180), 0, 360, 255, -1)
    return cv2.GaussianBlur(shape, (0, 0), 1.0).astype(np.float32) / 255


def _tensor(image: np.ndarray) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(image.transpose(2, 0, 1)[None], dtype=np.float32)) / 255


def blur(x: Tensor, sigma: float) -> Tensor:
    r = int(3 * sigma)
    k = torch.exp(-0.5 * (torch.arange(-r, r + 1, dtype=torch.float32) / sigma) ** 2)
    k = k / k.sum()
    c = x.shape[1]
    x = F.conv2d(F.pad(x, (r, r, 0, 0), "replicate"), k.view(1, 1, 1, -1).expand(c, 1, 1, -1), groups=c)
    return F.conv2d(F.pad(x, (0, 0, r, r), "replicate"), k.view(1, 1, -1, 1).expand(c, 1, -1, 1), groups=c)


def down(x: Tensor) -> Tensor:
    return F.avg_pool2d(x, 2)


def mean(maps: Iterable[Tensor]) -> Tensor:
    return torch.stack([places.mean() for places in maps]).mean()


def half() -> torch.autocast:
    return torch.autocast("cpu", torch.bfloat16)


class View:
    """A render of a joined map beside its photo: whole and small, or a part of it closely."""

    def __init__(
        self,
        training: "Training",
        y: Tensor,
        sample: Sample,
        shown: Callable[[Tensor], Tensor],
        window: Window,
    ) -> None:
        generator = training.g128 if window is WHOLE else training.g256
        self.photo, self.mask = shown(sample.photo), shown(sample.mask)
        there = (shown(sample.there) > 0.99).float()
        found = generator.finish(y, sample.code, window)
        self.found = there * found + (1 - there) * self.photo
        self.pasted = self.mask * self.found + (1 - self.mask) * self.photo
        soft = blur(self.mask, 4.0)
        self.band = 4 * soft * (1 - soft)
        with half():
            self.taps_found = training.lpips.taps(self.found)
            self.taps_pasted = training.lpips.taps(self.pasted)
            with torch.no_grad():
                self.taps_photo = training.lpips.taps(self.photo)


class Training:
    def __init__(self, faces: Path, run: Path, rate: float, start: Path | None = None) -> None:
        self.run, self.rate = run, rate
        self.faces = Faces(faces)
        self.g128, self.g256 = Generator(128), Generator(256)
        self.lpips = Lpips("alexnet")
        torch.manual_seed(0)
        self.net, self.critic = Residual(), Critic()
        stats = np.load(faces / "mapstats.npz")
        self.net.scale.copy_(torch.from_numpy(stats["scale"]).view(1, -1, 1, 1))
        self.net.centre.copy_(torch.from_numpy(stats["centre"]).view(1, -1, 1, 1))
        self.optimizer = torch.optim.AdamW(
            self.net.parameters(), lr=rate, weight_decay=1e-4, betas=(0.9, 0.99)
        )
        self.critic_optimizer = torch.optim.AdamW(
            self.critic.parameters(), lr=CRITIC_RATE, weight_decay=1e-4, betas=(0.5, 0.99)
        )
        self.step, self.seconds = 0, 0.0
        if (run / "checkpoint.pt").exists():
            saved = torch.load(run / "checkpoint.pt", weights_only=True)
            self.net.load_state_dict(saved["net"])
            self.average = saved["average"]
            self.optimizer.load_state_dict(saved["optimizer"])
            self.critic.load_state_dict(saved["critic"])
            self.critic_optimizer.load_state_dict(saved["critic optimizer"])
            self.step, self.seconds = saved["step"], saved["seconds"]
        else:
            if start:
                with np.load(start) as packed:
                    self.net.unpack({k: torch.from_numpy(v.astype(np.float32)) for k, v in packed.items()})
            self.average = {k: v.clone() for k, v in self.net.state_dict().items()}
        for generator in (self.g128, self.g256):
            generator.to(torch.bfloat16)
        for module in (self.net, self.critic, self.g128, self.g256):
            module.to(memory_format=torch.channels_last)

    def save(self) -> None:
        self.run.mkdir(parents=True, exist_ok=True)
        part = self.run / "checkpoint.part"
        torch.save(
            {
                "net": self.net.state_dict(),
                "average": self.average,
                "optimizer": self.optimizer.state_dict(),
                "critic": self.critic.state_dict(),
                "critic optimizer": self.critic_optimizer.state_dict(),
                "step": self.step,
                "seconds": self.seconds,
            },
            part,
        )
        part.replace(self.run / "checkpoint.pt")

    def pack(self, path: Path) -> None:
        """Write the running average as it ships, in half precision."""
        current = {k: v.clone() for k, v in self.net.state_dict().items()}
        self.net.load_state_dict(self.average)
        np.savez(path, **{k: v.detach().numpy().astype(np.float16) for k, v in self.net.packed().items()})
        self.net.load_state_dict(current)

    def losses(self, sample: Sample, rng: np.random.Generator) -> tuple[dict[str, Tensor], Tensor]:
        """Each loss, and the critic's own."""
        with torch.no_grad():
            x = self.g128.start(sample.code)
        with half():
            r = self.net(sample.seen, 1 - sample.mask, x).float()
        y = x + r
        whole = View(self, y, sample, down, WHOLE)
        window = any_window(rng)
        part = window.part(256)
        close = View(self, y, sample, lambda image: cut(image, part), window)
        out = {"size": (r / self.net.scale).square().mean()}
        if sample.swap:
            out |= self.of_new_face(x, sample, whole, close)
        else:
            out |= self.of_own_face(whole, close)
        views = (whole, close)
        out["critic"] = mean(-s for v in views for s in self.critic(v.taps_pasted, v.pasted, v.mask))
        for parameter in self.critic.parameters():
            parameter.requires_grad_(True)
        apart = []
        for v in views:
            made = [tap.detach() for tap in v.taps_pasted], v.pasted.detach()
            apart += [F.relu(1 - places) for places in self.critic(v.taps_photo, v.photo, v.mask)]
            apart += [F.relu(1 + places) for places in self.critic(*made, v.mask)]
        return out, mean(apart)

    def of_own_face(self, whole: "View", close: "View") -> dict[str, Tensor]:
        """The photo is asked back."""
        weight = 0.4 + 0.6 * whole.mask + whole.band
        return {
            "pixels": (weight * (whole.found - whole.photo).abs()).mean(),
            "lpips": self.lpips.distance(whole.taps_found, whole.taps_photo).mean(),
            "detail": self.lpips.distance(close.taps_found, close.taps_photo).mean(),
        }

    def of_new_face(self, x: Tensor, sample: Sample, whole: "View", close: "View") -> dict[str, Tensor]:
        """Around the face the photo, in it the new face's own detail in the photo's slow colours, and no seam."""
        with torch.no_grad():
            plain = self.g128.finish(x, sample.code)
        found, photo, mask = whole.found, whole.photo, whole.mask
        weight = (0.4 + whole.band) * (1 - mask)
        inner = (blur(mask, 2.0) > 0.98).float()
        own = (found - blur(found, 6.0)) - (plain - blur(plain, 6.0))
        return {
            "outside": (weight * (found - photo).abs()).mean(),
            "slow": (mask * (blur(found, 8.0) - blur(photo, 8.0)).abs()).mean(),
            "own detail": (inner * own.abs()).mean(),
            # What is pasted should look like the render that it is cut from.
            "seam": self.lpips.distance(whole.taps_found, whole.taps_pasted).mean(),
            "seam detail": self.lpips.distance(close.taps_found, close.taps_pasted).mean(),
        }

    def one_step(self, batch: int, left: float) -> dict[str, float]:
        rng = np.random.default_rng([7, self.step])
        for optimizer, rate in ((self.optimizer, self.rate), (self.critic_optimizer, CRITIC_RATE)):
            for group in optimizer.param_groups:
                group["lr"] = rate * min(1.0, (self.step + 1) / 30) * max(0.05, left)
            optimizer.zero_grad()
        seen: dict[str, list[float]] = {}
        weights = WEIGHTS | {"critic": WEIGHTS["critic"] * min(1.0, max(0.0, self.step / WARM - 1))}
        for n in range(batch):
            i = int(rng.choice(len(self.faces.weights), p=self.faces.weights))
            for parameter in self.critic.parameters():
                parameter.requires_grad_(False)
            losses, apart = self.losses(Sample(self.faces, i, rng, swap=n % 2 == 1), rng)
            total = sum(weights[k] * v for k, v in losses.items()) + apart
            (total / batch).backward()
            for k, v in losses.items():
                seen.setdefault(k, []).append(float(v.detach()))
            seen.setdefault("told apart", []).append(float(apart.detach()))
        norm = torch.nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
        torch.nn.utils.clip_grad_norm_(self.critic.parameters(), 1.0)
        self.optimizer.step()
        self.critic_optimizer.step()
        self.step += 1
        keep = min(AVERAGE, (self.step + 1) / (self.step + 10))
        with torch.no_grad():
            for k, v in self.net.state_dict().items():
                self.average[k].lerp_(v, 1 - keep)
        return {k: float(np.mean(v)) for k, v in seen.items()} | {"norm": float(norm)}

    @torch.no_grad()
    def evaluate(self, count: int = 24) -> dict[str, float]:
        current = {k: v.clone() for k, v in self.net.state_dict().items()}
        self.net.load_state_dict(self.average)
        rng = np.random.default_rng(5)
        rows = rng.permutation(self.faces.test)[:count]
        seen: dict[str, list[float]] = {}
        for i in rows:
            for swap in (False, True):
                for k, v in self.losses(
                    Sample(self.faces, int(i), np.random.default_rng(int(i)), swap, plain=True),
                    np.random.default_rng(int(i)),
                )[0].items():
                    seen.setdefault(k, []).append(float(v.detach()))
        self.net.load_state_dict(current)
        return {"held " + k: float(np.mean(v)) for k, v in seen.items()}

    @torch.no_grad()
    def sheet(self, path: Path, rows: list[int]) -> None:
        """Photo, own code plain, own code joined and pasted, swapped plain, swapped joined, pasted."""
        current = {k: v.clone() for k, v in self.net.state_dict().items()}
        self.net.load_state_dict(self.average)
        lines = []
        for i in rows:
            line = []
            for swap in (False, True):
                s = Sample(self.faces, i, np.random.default_rng(i), swap, plain=True)
                x = self.g256.start(s.code)
                with half():
                    y = x + self.net(s.seen, 1 - s.mask, x).float()
                found = self.g256.finish(y, s.code)
                pasted = s.mask * found + (1 - s.mask) * s.photo
                line += ([s.photo] if not swap else []) + [self.g256.finish(x, s.code), found, pasted]
            lines.append(torch.cat(line, 3))
        picture = (
            torch.cat(lines, 2)[0].clamp(-1, 1).add(1).mul(127.5).numpy().transpose(1, 2, 0).astype(np.uint8)
        )
        cv2.imwrite(str(path), picture[..., ::-1])
        self.net.load_state_dict(current)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("faces", type=Path)
    parser.add_argument("run", type=Path)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--rate", type=float, default=4e-4)
    parser.add_argument("--batch", type=int, default=6)
    parser.add_argument("--start", type=Path, help="a packed network to begin with")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    training = Training(options.faces, options.run, options.rate, options.start)
    options.run.mkdir(parents=True, exist_ok=True)
    begin = last = looked = time.monotonic()
    log = csv.writer((options.run / "log.csv").open("a"))
    rows = [int(i) for i in training.faces.test[:: max(1, len(training.faces.test) // 6)][:6]]
    while (passed := (time.monotonic() - begin) / 60) < options.minutes:
        seen = training.one_step(options.batch, 1 - passed / options.minutes)
        if training.step % 10 == 0 or training.step < 4:
            print(training.step, f"{passed:.1f}", {k: round(v, 4) for k, v in seen.items()}, flush=True)
        now = time.monotonic()
        if now - last > 240:
            training.save()
            last = now
        if now - looked > 900 or training.step == 1:
            figures = training.evaluate()
            print("  ", {k: round(v, 4) for k, v in figures.items()}, flush=True)
            for k, v in figures.items():
                log.writerow([training.step, round(time.monotonic() - begin), k, round(v, 5)])
            training.sheet(options.run / f"sheet-{training.step}.png", rows)
            looked = time.monotonic()
    training.save()
    training.pack(options.run / "residual.npz")
    figures = training.evaluate()
    print("  ", {k: round(v, 4) for k, v in figures.items()}, flush=True)
    training.sheet(options.run / f"sheet-{training.step}.png", rows)


if __name__ == "__main__":
    main()
