"""What codes of people are like: the principal axes of W+ over the encoder's codes of real photos.

Draws of z resemble each other more than people do. A draw along these axes is as different from the next as codes of
real photos are, and is nobody: every axis is made of thousands of photos. The encoder's codes of soft photos are of
soft faces, so the sharpest third is asked alone, and draws lie around W's mean, where the generator is at its best,
and not around the mean of the codes.
"""

import json
from pathlib import Path

import cv2
import numpy as np
from sklearn.decomposition import PCA

from faceveil.methods.styleid.targets import Codes
from faceveil.models.encoder import COORDINATES, Encoder
from faceveil.models.wspace import w_space

AXES = 384
SHARPEST = 1 / 3  # of the photos
# Frame and pose, features, colour and light: a face of the pool shall be plainly seen, and unlike others.
SPREAD = np.repeat([0.8, 1.0, 0.5], [4, 9, 10])


def codes_of_people(pairs: Path, cache: Path) -> np.ndarray:
    """N × 23 × 300, whitened, of the sharpest photos in PAIRS that are not held out; kept in a file."""
    if not cache.exists():
        records = json.loads((pairs / "real.json").read_text())
        photos, encoder = np.load(pairs / "real.npy", mmap_mode="r"), Encoder()
        rows = [row for row, record in enumerate(records) if not record["held_out"]]
        sharp = np.array([sharpness(photos[row]) for row in rows])
        chosen = np.array(rows)[sharp > np.quantile(sharp, 1 - SHARPEST)]
        codes = [w_space().whiten(encoder.encode(photos[row][None])[0], COORDINATES) for row in chosen]
        np.save(cache, np.array(codes, np.float16))
    return np.load(cache).astype(np.float32)


def codes_of(pairs: Path, set_: str) -> np.ndarray:
    """W+ (N × 23 × 512) of a set's photos in PAIRS that are not held out."""
    records = json.loads((pairs / "real.json").read_text())
    photos, encoder = np.load(pairs / "real.npy", mmap_mode="r"), Encoder()
    rows = [row for row, one in enumerate(records) if one["set"] == set_ and not one["held_out"]]
    return np.concatenate([encoder.encode(photos[row][None]) for row in rows])


def sharpness(photo: np.ndarray) -> float:
    """How much fine detail the face of an aligned photo shows."""
    side = photo.shape[0]
    face = photo[side // 4 : side * 7 // 8, side * 3 // 16 : side * 13 // 16]
    return float(cv2.Laplacian(cv2.cvtColor(face, cv2.COLOR_RGB2GRAY), cv2.CV_32F).var())


def draws(people: np.ndarray, count: int, seed: int) -> Codes:
    """Codes of nobody, spread as these are (N × 23 × 300)."""
    found = PCA(AXES, svd_solver="randomized", random_state=0).fit(people.reshape(len(people), -1))
    axes = found.components_ * np.sqrt(found.explained_variance_)[:, None]
    axes = axes.reshape(AXES, *people.shape[1:]).swapaxes(0, 1) * SPREAD[:, None, None]
    coordinates = np.random.default_rng(seed).standard_normal((count, AXES))
    return Codes(axes.astype(np.float32), coordinates.astype(np.float32))
