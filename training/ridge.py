"""The encoder's start: reduced-rank ridge regression from frozen features to W+."""

import numpy as np
import torch

from faceveil.models.mobilestylegan import SLOTS
from faceveil.models.torch.encoder import COORDINATES, RANK, Encoder
from faceveil.models.wspace import w_space
from training.data import HELD_OUT_PAIRS, GeneratedFaces, to_tensor
from training.losses import StyleLoss

PENALTIES = (0.3, 1.0, 3.0)  # times the number of pairs
MOST_PAIRS = 12_000


def fit_ridge(encoder: Encoder, faces: GeneratedFaces, style_loss: StyleLoss) -> None:
    """Set the encoder's head; prints the style error on held-out pairs for each penalty."""
    train, test = faces.indices[:MOST_PAIRS], np.flatnonzero(faces.done[:HELD_OUT_PAIRS])
    x, y = _features(encoder, faces, train), _targets(faces, train)
    mean, scale, bias = x.mean(0), x.std(0) + 1e-3, y.mean(0)
    x = (x - mean) / scale
    y -= bias
    gram, cross = x.T @ x, x.T @ y
    truth = torch.from_numpy(faces.latents[test].astype(np.float32))
    images = [to_tensor([faces.images[i]]) for i in test]
    best = np.inf
    for penalty in PENALTIES:
        slopes = np.linalg.solve(gram + penalty * len(x) * np.eye(len(gram), dtype=np.float32), cross)
        narrow, widen = _reduce_rank(slopes, gram, len(x))
        before = {name: value.clone() for name, value in encoder.state_dict().items()}
        encoder.set_linear(mean, scale, narrow, widen / _units()[:, None], bias / _units())
        with torch.no_grad():
            error = style_loss(torch.cat([encoder(image) for image in images]), truth).item()
        print(f"ridge on {len(x)} pairs, penalty {penalty}: style error {error:.4f}", flush=True)
        if error >= best:
            encoder.load_state_dict(before)
        best = min(best, error)


def _reduce_rank(slopes: np.ndarray, gram: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The best map of rank 512: leading directions of what the full one predicts, by subspace iteration."""
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
