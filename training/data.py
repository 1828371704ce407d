"""Faces as the encoder's training sees them: degraded inputs, clean targets, and W+ where it is known."""

import json
from dataclasses import dataclass, replace
from pathlib import Path

import cv2
import numpy as np
import torch
from torch import Tensor

from faceveil.models.torch.encoder import INPUT_SIZE
from training.augment import Image, degrade, jitter, relight
from training.pairs import open_pairs
from training.real_faces import SIZE

HELD_OUT_PAIRS = 512  # the first ones
SHARES = {"ffhq": 0.2, "lfw": 0.4, "utkface": 0.3, "portraits-cc0": 0.1}  # of the real faces in a batch


@dataclass(frozen=True)
class Batch:
    """Inputs in [0, 1] at 128 px; targets in [-1, 1] and masks in [0, 1] at the render's size; W+ or None."""

    inputs: Tensor
    targets: Tensor
    masks: Tensor
    wplus: Tensor | None

    def first(self, count: int) -> "Batch":
        wplus = None if self.wplus is None else self.wplus[:count]
        return replace(
            self,
            inputs=self.inputs[:count],
            targets=self.targets[:count],
            masks=self.masks[:count],
            wplus=wplus,
        )


class GeneratedFaces:
    """The pairs that are rendered so far; the first 512 are never trained on."""

    def __init__(self, folder: Path) -> None:
        self.images, self.latents, self.done = open_pairs(folder)
        self.refresh()

    def refresh(self) -> None:
        """Look again at what has been rendered meanwhile."""
        self.indices = np.flatnonzero(self.done[HELD_OUT_PAIRS:]) + HELD_OUT_PAIRS

    def draw(self, count: int, size: int, rng: np.random.Generator) -> Batch:
        self.refresh()
        chosen = rng.choice(self.indices, count, replace=False)
        inputs = [relight(degrade(self.images[i], rng), rng, strength=0.2) for i in chosen]
        return self._batch(chosen, inputs, size)

    def held_out(self, count: int, size: int) -> Batch:
        """Clean pairs that were not trained on."""
        chosen = np.flatnonzero(self.done[:HELD_OUT_PAIRS])[:count]
        return self._batch(chosen, [self.images[i] for i in chosen], size)

    def _batch(self, chosen: np.ndarray, inputs: list[Image], size: int) -> Batch:
        targets = [shrink(self.images[i], size) for i in chosen]
        wplus = torch.from_numpy(self.latents[chosen].astype(np.float32))
        return Batch(
            to_tensor(inputs), 2 * to_tensor(targets) - 1, torch.ones(len(chosen), 1, size, size), wplus
        )


class RealFaces:
    """Photos of real people, without those held out."""

    def __init__(self, folder: Path) -> None:
        self.images = np.load(folder / "real.npy", mmap_mode="r")
        self.masks = np.load(folder / "mask.npy", mmap_mode="r")
        self.records = json.loads((folder / "real.json").read_text())
        self.training = {name: self._indices(name, held_out=False) for name in SHARES}

    def _indices(self, set_: str, held_out: bool) -> list[int]:
        return [i for i, r in enumerate(self.records) if r["set"] == set_ and r["held_out"] == held_out]

    def draw(
        self, count: int, size: int, rng: np.random.Generator, detailed: int = 0
    ) -> tuple[Batch, Tensor, Tensor]:
        """A batch, and of its first faces, `detailed` of them, photos and masks at 256 px."""
        sets = rng.choice(list(SHARES), count, p=list(SHARES.values()))
        faces, masks = [], []
        for set_ in sets:
            index = rng.choice(self.training[set_])
            face, mask = jitter(self.images[index], self.masks[index], rng)
            faces.append(relight(face, rng))
            masks.append(mask)
        inputs = [degrade(shrink(face, INPUT_SIZE), rng) for face in faces]
        batch = self._batch(inputs, faces, masks, size)
        return batch, *self._targets(faces[:detailed], masks[:detailed], SIZE)

    def one_of_each(self, set_: str) -> list[int]:
        """One photo of each person that is held out."""
        people = {self.records[i]["person"]: i for i in reversed(self._indices(set_, held_out=True))}
        return sorted(people.values())

    def held_out(self, set_: str, count: int, size: int) -> Batch:
        """Clean photos of people that were not trained on."""
        chosen = self.one_of_each(set_)[:count]
        faces = [self.images[i] for i in chosen]
        inputs = [shrink(face, INPUT_SIZE) for face in faces]
        return self._batch(inputs, faces, [self.masks[i] for i in chosen], size)

    def _batch(self, inputs: list[Image], faces: list[Image], masks: list[Image], size: int) -> Batch:
        return Batch(to_tensor(inputs), *self._targets(faces, masks, size), None)

    def _targets(self, faces: list[Image], masks: list[Image], size: int) -> tuple[Tensor, Tensor]:
        """Photos in [-1, 1] and masks in [0, 1]."""
        if not faces:
            return torch.zeros(0, 3, size, size), torch.zeros(0, 1, size, size)
        photos = to_tensor([shrink(face, size) for face in faces])
        return 2 * photos - 1, to_tensor([cv2.resize(mask, (size, size))[..., None] for mask in masks])


def shrink(image: Image, size: int) -> Image:
    if image.shape[0] == size:
        return image
    return cv2.resize(image, (size, size), interpolation=cv2.INTER_AREA)


def to_tensor(images: list[Image]) -> Tensor:
    """N × channels × side × side in [0, 1]."""
    return torch.from_numpy(np.stack(images).transpose(0, 3, 1, 2).astype(np.float32) / 255)
