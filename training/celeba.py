"""Train on CelebA's 40 labels as the papers do: python -m training.celeba CELEBA OUT.npz [--trunk resnet50]

CELEBA is the folder in its usual layout:

    img_align_celeba/000001.jpg …     178 × 218, aligned by its authors
    list_attr_celeba.txt              count; the labels' names; then per photo its name and 1 or -1 for each
    list_eval_partition.txt           per photo 0 (train), 1 (validate) or 2 (test); without it all are trained on

`resnet50` is the network of MIKU and StyleID: ResNet-50 with a head of 1024, 1024 and one output per label;
`mobilenetv2+mobilefacenet` is AttrNet's own form, a tenth of the size, `mobilenetv2` the same without the
recogniser. All: binary cross-entropy, SGD with momentum 0.9 and learning rate 0.01. ResNet-50 starts from chance,
or from torchvision's file with --start; MobileNetV2 from ImageNet; the recogniser stays as it is.
The result is read by `faceveil attributes --attrnet OUT.npz` and by `AttrNet(path)`.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional as F

from faceveil.errors import UsageError
from faceveil.faces import Face, align_ffhq
from faceveil.models.attrnet import INPUT_SIZE, LAYERS, Output
from faceveil.models.torch.attrnet import AttrNet
from faceveil.models.unpickle import read_torch
from training.data import to_tensor

SIZE_WH = (178, 218)
# Eyes, nose and mouth corners where CelebA's alignment puts them.
POINTS = np.array([[69.5, 111.5], [107.5, 111.5], [88.5, 131.5], [72.5, 152.5], [105.5, 152.5]])
TRAIN, TEST = 0, 2
MOMENTUM, LEARNING_RATE = 0.9, 0.01

Images = NDArray[np.uint8]


@dataclass(frozen=True)
class CelebA:
    """Photos, and their labels as rows of 0 and 1."""

    paths: tuple[Path, ...]
    labels: tuple[str, ...]
    targets: NDArray[np.float32]

    def take(self, rows: NDArray[np.intp]) -> "CelebA":
        return CelebA(tuple(self.paths[i] for i in rows), self.labels, self.targets[rows])


def read_celeba(folder: Path, partition: int | None = None) -> CelebA:
    """The photos of one partition, or all of them."""
    lines = _lines(folder / "list_attr_celeba.txt")
    labels = tuple(name.replace("_", " ").lower() for name in lines[1])
    rows = lines[2:]
    if int(lines[0][0]) != len(rows) or any(len(row) != len(labels) + 1 for row in rows):
        raise UsageError(
            f"{folder / 'list_attr_celeba.txt'} is not whole: it announces {lines[0][0]} photos with "
            f"{len(labels)} labels each. Download it again."
        )
    values = np.array([row[1:] for row in rows], int).reshape(len(rows), len(labels))
    photos = CelebA(
        tuple(folder / "img_align_celeba" / row[0] for row in rows), labels, (values > 0).astype(np.float32)
    )
    if partition is None or not (folder / "list_eval_partition.txt").exists():
        return photos
    of = {name: int(part) for name, part in _lines(folder / "list_eval_partition.txt")}
    return photos.take(np.flatnonzero([of.get(path.name) == partition for path in photos.paths]))


def _lines(path: Path) -> list[list[str]]:
    try:
        return [line.split() for line in path.read_text().splitlines() if line.strip()]
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror}). See CelebA's usual layout.") from error


def crop(path: Path) -> Images:
    """A photo as users' photos reach the network: in FFHQ's alignment, which lies within CelebA's frame."""
    image = cv2.imread(str(path))
    if image is None:
        raise UsageError(f"{path} cannot be read, but CelebA's list names it.")
    scale = np.array(image.shape[1::-1]) / SIZE_WH
    face = Face(np.zeros(4), POINTS * scale, 1.0, "celeba")
    return align_ffhq(face, INPUT_SIZE).crop(np.ascontiguousarray(image[..., ::-1]))


def batches(
    photos: CelebA, size: int, rng: np.random.Generator
) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """One pass in random order, half of the photos mirrored."""
    order = rng.permutation(len(photos.paths))
    for start in range(0, len(order), size):
        rows = order[start : start + size]
        images = [crop(photos.paths[i]) for i in rows]
        images = [image[:, ::-1] if rng.random() < 0.5 else image for image in images]
        yield to_tensor(images), torch.from_numpy(photos.targets[rows])


def make_network(trunk: str, outputs: int, start: Path | None = None) -> AttrNet:
    """The network before training."""
    if trunk != "resnet50":
        return AttrNet.with_pretrained_trunk(outputs, trunk)
    network = AttrNet(outputs, trunk)
    if start is not None:
        stored = {name: torch.from_numpy(array.copy()) for name, array in read_torch(start).items()}
        network.trunk.load_state_dict({k: v for k, v in stored.items() if not k.startswith("fc.")})
    return network


def train(network: AttrNet, photos: CelebA, epochs: int, batch: int, seed: int = 0) -> list[float]:
    """The mean loss of each epoch."""
    rng, losses = np.random.default_rng(seed), []
    first, _ = next(batches(photos, max(batch, 32), np.random.default_rng(seed)))
    network.eval().standardise(first)  # or SGD at this rate would overshoot on thousands of features
    optimiser = torch.optim.SGD(network.parameters(), LEARNING_RATE, MOMENTUM)
    network.train()
    for epoch in range(epochs):
        parts = []
        for images, targets in batches(photos, batch, rng):
            loss = F.binary_cross_entropy_with_logits(network(images), targets)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            parts.append(loss.item())
        losses.append(float(np.mean(parts)))
        print(f"epoch {epoch + 1} of {epochs}: loss {losses[-1]:.4f}", flush=True)
    network.eval()
    return losses


@torch.no_grad()
def accuracies(network: AttrNet, photos: CelebA) -> dict[str, float]:
    """The share of right answers per label."""
    logits = torch.cat([network(to_tensor([crop(path)])) for path in photos.paths]).numpy()
    right = ((logits > 0) == (photos.targets > 0.5)).mean(axis=0)
    return dict(zip(photos.labels, map(float, right), strict=True))


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("celeba", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--trunk", choices=list(LAYERS), default="resnet50")
    parser.add_argument("--start", type=Path, help="torchvision's resnet50 weights (.pth).")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch", type=int, default=64)
    options = parser.parse_args(arguments)
    torch.manual_seed(0)
    photos = read_celeba(options.celeba, TRAIN)
    network = make_network(options.trunk, len(photos.labels), options.start)
    train(network, photos, options.epochs, options.batch)
    network.save(options.output, [Output(label, "", True) for label in photos.labels])
    if (options.celeba / "list_eval_partition.txt").exists():
        for label, right in accuracies(network, read_celeba(options.celeba, TEST)).items():
            print(f"{label}: {100 * right:.1f} % right on the test photos")


if __name__ == "__main__":
    main()
