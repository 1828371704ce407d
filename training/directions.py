"""Find the directions of W+ along which a face turns or smiles, from generated pairs.

    python -m training.directions PAIRS [--count 3000]        → src/faceveil/models/data/directions.npz

Of each generated face (training/pairs.py) the yaw, the pitch, the probability of a smile and how far the mouth is
open are read, and regressed (ridge) on whitened coordinates of the slots that carry them. `read` measures a code,
`move` changes it by one unit of what is read and, among all changes that do, is the shortest in whitened W+.
"""

import argparse
from pathlib import Path

import numpy as np

from faceveil.faces import pose
from faceveil.faces.attributes import attributes
from faceveil.faces.crops import as_face, locate
from faceveil.models.attributes import EXPRESSIONS
from faceveil.models.mobilestylegan import SLOTS
from faceveil.models.wspace import w_space

OUT = Path(__file__).parents[1] / "src" / "faceveil" / "models" / "data" / "directions.npz"
COMPONENTS = 100
# What is read, and the slots that may move: coarse ones turn the head, middle ones shape the mouth.
TARGETS = {"pose": (("yaw", "pitch"), range(5)), "expression": (("smile", "mouth open"), range(3, 13))}
UPPER_LIP, LOWER_LIP, FOREHEAD, CHIN = 13, 14, 10, 152


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("pairs", type=Path)
    parser.add_argument("--count", type=int, default=3000)
    options = parser.parse_args()
    images = np.load(options.pairs / "images.npy", mmap_mode="r")
    latents = np.load(options.pairs / "latents.npy", mmap_mode="r")
    readings = np.array([read(images[i]) for i in range(options.count)])
    codes = np.asarray(latents[: options.count], np.float32)
    arrays = {}
    for name, (targets, slots) in TARGETS.items():
        columns = readings[:, :2] if name == "pose" else readings[:, 2:]
        read_, move, explained = directions(codes, columns, list(slots))
        arrays |= {f"{name}.read": read_.astype(np.float16), f"{name}.move": move.astype(np.float16)}
        for target, share in zip(targets, explained, strict=True):
            print(f"{name}: {target}: {share:.2f} of the variance of held-out faces")
    np.savez_compressed(OUT, **arrays)


def read(image: np.ndarray) -> list[float]:
    """Yaw and pitch in degrees, probability of a smile, opening of the mouth in parts of the face's height."""
    found = locate(image[None])
    face = as_face(found.points[0], found.meshes[0])
    turned = pose(face)
    mesh = found.meshes[0]
    opening = np.linalg.norm(mesh[LOWER_LIP] - mesh[UPPER_LIP]) / np.linalg.norm(mesh[CHIN] - mesh[FOREHEAD])
    smile = attributes(image, face).expression[EXPRESSIONS.index("happy")]
    return [turned.yaw, turned.pitch, float(smile), float(opening)]


def directions(codes: np.ndarray, targets: np.ndarray, slots: list[int]) -> tuple[np.ndarray, ...]:
    """`read` and `move` (targets × 23 × 512), and the share of variance explained on the last fifth."""
    space = w_space()
    features = space.whiten(codes[:, slots], COMPONENTS).reshape(len(codes), -1).astype(np.float64)
    cut = len(codes) * 4 // 5
    mean = targets[:cut].mean(axis=0)
    best, scores = None, np.full(targets.shape[1], -np.inf)
    for strength in (100, 300, 1000, 3000):
        gram = features[:cut].T @ features[:cut] + strength * np.eye(features.shape[1])
        slope = np.linalg.solve(gram, features[:cut].T @ (targets[:cut] - mean)).T
        rest = targets[cut:] - mean - features[cut:] @ slope.T
        share = 1 - rest.var(axis=0) / targets[cut:].var(axis=0)
        if share.sum() > scores.sum():
            best, scores = slope, share
    assert best is not None
    back = best.T @ np.linalg.inv(best @ best.T)  # features × targets: the shortest change by one unit
    shape = len(best), len(slots), COMPONENTS
    axes, spread = space.axes[:COMPONENTS], space.spread[:COMPONENTS]
    read_, move = (np.zeros((len(best), SLOTS, 512)) for _ in range(2))
    read_[:, slots] = (best.reshape(shape) / spread) @ axes
    move[:, slots] = (back.T.reshape(shape) * spread) @ axes
    return read_, move, scores


if __name__ == "__main__":
    main()
