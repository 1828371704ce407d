"""The encoder's start: reduced-rank ridge regression from frozen features to W+.

Fitted on generated faces, where W+ is known; how strong the penalty is and how much the recogniser's features
weigh is chosen on real faces of the training set, which the regression never saw, by the loss that training
goes on with.
"""

from itertools import product

import numpy as np
import torch
from scipy.linalg import cho_factor, cho_solve
from torch import Tensor

from faceveil.models.mobilestylegan import SLOTS
from faceveil.models.torch.encoder import COORDINATES, RANK, RECOGNIZER_FEATURES, Encoder
from faceveil.models.wspace import w_space
from training.data import HELD_OUT_PAIRS, Batch, GeneratedFaces, RealFaces, to_tensor
from training.losses import WEIGHTS, ImageLoss, StyleLoss

PENALTIES = (0.1, 0.3, 1.0)  # times the number of pairs
EMPHASES = (1.0, 2.0, 4.0)  # of the recogniser's features, as a factor of their scale
MOST_PAIRS = 20_000
JUDGES = 100  # real faces


def fit_ridge(
    encoder: Encoder,
    faces: GeneratedFaces,
    real: RealFaces,
    style_loss: StyleLoss,
    image_loss: ImageLoss,
) -> None:
    """Set the encoder's head; prints the errors for each choice."""
    train, test = faces.indices[:MOST_PAIRS], np.flatnonzero(faces.done[:HELD_OUT_PAIRS])
    x, y = _features(encoder, faces, train), _targets(faces, train)
    mean, scale, bias = x.mean(0), x.std(0) + 1e-3, y.mean(0)
    x -= mean
    x /= scale
    y -= bias
    gram, cross, count = x.T @ x, x.T @ y, len(x)
    del x, y  # a few gigabytes
    judges, _, _ = real.draw(JUDGES, image_loss.size, np.random.default_rng(4))
    images = torch.cat([to_tensor([faces.images[i]]) for i in test])
    truth = torch.from_numpy(faces.latents[test].astype(np.float32))
    best, kept = np.inf, encoder.state_dict()
    for penalty, emphasis in product(PENALTIES, EMPHASES):
        factor = np.ones(len(gram), np.float32)
        factor[-RECOGNIZER_FEATURES:] = emphasis
        narrow, widen = _solve(gram * factor * factor[:, None], cross * factor[:, None], penalty, count)
        encoder.set_linear(mean, scale / factor, narrow, widen / _units()[:, None], bias / _units())
        with torch.no_grad():
            style = style_loss(_encode(encoder, images), truth).item()
            error = _judge(encoder, judges, image_loss)
        print(
            f"ridge on {count} pairs, penalty {penalty}, emphasis {emphasis}: "
            f"style {style:.4f}, real faces {error:.4f}",
            flush=True,
        )
        if error < best:
            best, kept = error, {name: value.clone() for name, value in encoder.state_dict().items()}
    encoder.load_state_dict(kept)


def _judge(encoder: Encoder, batch: Batch, image_loss: ImageLoss) -> float:
    renders = torch.cat([image_loss.generator(part) for part in _encode(encoder, batch.inputs).split(10)])
    losses = image_loss.compare(renders, batch.targets, batch.masks)
    return sum(WEIGHTS[name] * loss.item() for name, loss in losses.items())


def _encode(encoder: Encoder, images: Tensor) -> Tensor:
    return torch.cat([encoder(part) for part in images.split(20)])


def _solve(gram: np.ndarray, cross: np.ndarray, penalty: float, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The ridge's slopes, as the best product of two maps of rank 512.

    Its leading directions are those of what the full map predicts, found by subspace iteration.
    """
    penalized = gram + np.float32(penalty * count) * np.eye(len(gram), dtype=np.float32)
    slopes = cho_solve(cho_factor(penalized, overwrite_a=True, check_finite=False), cross, check_finite=False)
    directions = np.random.default_rng(0).standard_normal((slopes.shape[1], RANK), np.float32)
    for _ in range(4):
        directions = np.linalg.qr(slopes.T @ (gram @ (slopes @ directions)))[0]
    narrow = slopes @ directions
    size = np.sqrt(np.einsum("ij,ij->j", narrow, gram @ narrow) / count) + 1e-6
    return (narrow / size).T, directions * size  # each bottleneck unit has variance 1


def _units() -> np.ndarray:
    """Targets are coordinates times their spread, so that the rank is spent where W varies."""
    return np.tile(w_space().spread[:COORDINATES], SLOTS)


def _targets(faces: GeneratedFaces, indices: np.ndarray) -> np.ndarray:
    space = w_space()
    return np.concatenate(
        [
            ((faces.latents[part].astype(np.float32) - space.mean) @ space.axes[:COORDINATES].T).reshape(
                len(part), -1
            )
            for part in np.array_split(indices, -(-len(indices) // 500))
        ]
    )


@torch.no_grad()
def _features(encoder: Encoder, faces: GeneratedFaces, indices: np.ndarray) -> np.ndarray:
    parts = np.array_split(indices, -(-len(indices) // 50))
    return np.concatenate(
        [encoder.features(to_tensor([faces.images[i] for i in part])).numpy() for part in parts]
    )
