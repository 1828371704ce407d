"""What codes of people are like: the principal axes of W+ over the encoder's codes of real photos.

Draws of z resemble each other more than people do. A draw from these axes is as different from the next as codes of
real photos are, and is nobody: every axis is made of thousands of photos.
"""

import json
from pathlib import Path

import numpy as np
from sklearn.decomposition import PCA

from faceveil.methods.styleid.targets import Codes
from faceveil.models.encoder import COORDINATES, Encoder
from faceveil.models.wspace import w_space

AXES = 384
# Frame and pose, features, colour and light: a face of the pool shall be plainly seen, and unlike others.
SPREAD = np.repeat([0.8, 1.0, 0.5], [4, 9, 10])


def codes_of_people(pairs: Path, cache: Path) -> np.ndarray:
    """N × 23 × 300, whitened, of the photos in PAIRS that are not held out; kept in a file."""
    if not cache.exists():
        records = json.loads((pairs / "real.json").read_text())
        photos, encoder = np.load(pairs / "real.npy", mmap_mode="r"), Encoder()
        rows = [row for row, record in enumerate(records) if not record["held_out"]]
        codes = [w_space().whiten(encoder.encode(photos[row][None])[0], COORDINATES) for row in rows]
        np.save(cache, np.array(codes, np.float16))
    return np.load(cache).astype(np.float32)


def draws(people: np.ndarray, count: int, seed: int) -> Codes:
    """Codes of nobody, spread as these are (N × 23 × 300)."""
    found = PCA(AXES, svd_solver="randomized", random_state=0).fit(people.reshape(len(people), -1))
    axes = found.components_ * np.sqrt(found.explained_variance_)[:, None]
    axes = axes.reshape(AXES, *people.shape[1:]).swapaxes(0, 1) * SPREAD[:, None, None]
    coordinates = np.random.default_rng(seed).standard_normal((count, AXES))
    return Codes(
        found.mean_.reshape(people.shape[1:]), axes.astype(np.float32), coordinates.astype(np.float32)
    )
