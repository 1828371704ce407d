"""How steeply the projector's loss curves along W+: python -m training.curvature DATA [--faces 30]

                                                     → src/faceveil/models/data/projector-axes.npz

The loss is a sum of squares: of pixels, of LPIPS' weighted maps, of the recognisers' embeddings. For a random vector
v of unit variance the gradient of v · (what is squared) has the covariance JᵀJ, half of the Gauss-Newton matrix. Some
of these at the encoder's codes of training faces are enough to know each slot's matrix on average. Its
eigenvectors and eigenvalues, in whitened coordinates, are what ships (of a loss that asked MobileFaceNet alone).
"""

import argparse
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

import cv2
import numpy as np
import torch
from torch import Tensor

from faceveil.models.encoder import Encoder
from faceveil.models.memory import keep_freed_memory
from faceveil.models.mobilestylegan import SLOTS
from faceveil.models.torch.lpips import Lpips
from faceveil.models.torch.projector import FREE, QUARTERS, REFINE, View, draw, enlarged, who
from faceveil.models.wspace import DATA, w_space
from faceveil.photos import read_photo
from training.real_faces import SIZE, align, list_faces

SEED = 5
DRAWS = 4  # of v, for each face and view
WHOLE = 0.75  # what the whole at 64 px weighs; a quarter at 256 px weighs the rest


def training_faces(data: Path, set_: str, count: int) -> np.ndarray:
    """One photo each of people who are not held out, drawn by chance."""
    people = {face.person: path for path, face in list_faces(data) if face.set == set_ and not face.held_out}
    crops: list[np.ndarray] = []
    for person in np.random.default_rng(SEED).permutation(sorted(people)):
        photo = read_photo(people[person]).pixels
        if set_ == "ffhq":
            crops.append(cv2.resize(photo, (SIZE, SIZE), interpolation=cv2.INTER_AREA))
        elif found := align(photo):
            crops.append(found[0])
        if len(crops) == count:
            break
    return np.stack(crops)


def squared(image: Tensor, view: View, network: Lpips) -> Tensor:
    """What the loss squares and sums, each with the root of its weight."""
    parts = [image.flatten() / image.numel() ** 0.5]
    for tap, head in zip(network.taps(enlarged(image)), network.heads, strict=True):
        weight = REFINE.look_weight * head / (tap.shape[2] * tap.shape[3])
        parts.append((weight.sqrt() * tap).flatten())
    if view not in QUARTERS:
        parts.append((REFINE.identity / 2) ** 0.5 * who(image, view).flatten())
    return torch.cat(parts)


def sketches(code: np.ndarray, view: View, network: Lpips, rng: torch.Generator) -> Iterator[Tensor]:
    """Gradients of random sums, 23 × 200 in whitened coordinates."""
    space = w_space()
    basis = torch.from_numpy(space.spread[:FREE, None] * space.axes[:FREE])
    moved = torch.zeros(1, SLOTS, FREE, requires_grad=True)
    features = squared(draw(torch.from_numpy(code[None]) + moved @ basis, view), view, network)
    for _ in range(DRAWS):
        total = (features * torch.randn(features.shape, generator=rng)).sum()
        yield torch.autograd.grad(total, moved, retain_graph=True)[0][0]


def curvature(crops: np.ndarray) -> np.ndarray:
    """The mean Gauss-Newton matrix of each slot, 23 × 200 × 200."""
    rng, quarters = torch.Generator().manual_seed(SEED), cycle(QUARTERS)
    network, mean = Lpips(), torch.zeros(SLOTS, FREE, FREE)
    for number, code in enumerate(Encoder().encode(crops)):
        for view, share in ((View(64), WHOLE), (next(quarters), 1 - WHOLE)):
            for row in sketches(code, view, network, rng):
                mean += 2 * share / (DRAWS * len(crops)) * row[:, :, None] * row[:, None, :]
        print(f"{number + 1} of {len(crops)}", flush=True)
    return mean.numpy()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--faces", type=int, default=30, help="Of FFHQ, and as many of LFW.")
    options = parser.parse_args()
    torch.set_num_threads(1)
    keep_freed_memory()
    crops = np.concatenate([training_faces(options.data, set_, options.faces) for set_ in ("ffhq", "lfw")])
    values, vectors = np.linalg.eigh(curvature(crops))
    np.savez(
        DATA / "projector-axes.npz",
        axes=vectors.transpose(0, 2, 1).astype(np.float16),  # one unit vector per row
        curvature=values.clip(0).astype(np.float32),
    )


if __name__ == "__main__":
    main()
