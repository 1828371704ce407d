"""Fit the directions that move a face's pose and expression: python -m training.control PAIRS RUN

They are learned from the pool of targets (`training.pool`). Few of its faces look angry, sad or surprised, or shout,
as people in the news do, so renders of the encoder's codes of LFW's photos (in PAIRS, without those held out) are
measured besides, and kept in RUN. Writes methods/styleid/data/control.npz and prints how much of each measure the
held-out faces' codes explain.
"""

import argparse
from pathlib import Path

import numpy as np

from faceveil.methods.styleid import control
from faceveil.methods.styleid.looks import TRAITS, face_in_crop, odds, traits
from faceveil.methods.styleid.targets import LABELS, ORIGINS, WORN_LABELS, kind_of, labels, pool
from faceveil.models.generator import Generator
from faceveil.models.mobilestylegan import SLOTS
from faceveil.models.wspace import w_space
from training.measures import SIZE, Measures, measured
from training.people import codes_of

KEPT = ("skin", *ORIGINS)
COORDINATES = 120
# Slots that move together; those beyond 12 hold colour and light, which a pose must not change.
GROUPS = ((0, 1), (1, 4), (4, 7), (7, 10), (10, 13), (13, 23))
MOVED = 5
PENALTY = 300.0
DAMPING = 0.1
HELD_OUT = 800
MESHES = 400


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pairs", type=Path)
    parser.add_argument("run", type=Path)
    options = parser.parse_args()
    x, y = _of_pool()
    photos = _of_photos(options.pairs, options.run)
    mean, deviation = y.mean(0), y.std(0)
    # Each kind around its own mean: photos are softer, and a mood must not lead there.
    x = np.concatenate([x - x.mean(0), photos[0] - photos[0].mean(0)])
    y = np.concatenate([y - mean, photos[1] - photos[1].mean(0)]) / deviation
    explained(x, y)
    slopes = ridge(x, y)
    kept = of_traits()
    identity, identity_mean = away(kept)
    np.savez_compressed(
        control.DATA,
        moves=moves(slopes).astype(np.float16),
        mean=mean[: len(TRAITS)],
        deviation=deviation[: len(TRAITS)],
        identity=identity.astype(np.float16),
        identity_mean=identity_mean,
        kept=kept.astype(np.float16),
        mesh=mean_mesh().astype(np.float32),
    )


def _of_pool() -> tuple[np.ndarray, np.ndarray]:
    x = np.stack([_coordinates(pool().codes[row]) for row in range(len(pool()))])
    return x, _outcomes(vars(pool()), pool().labels)


def _of_photos(pairs: Path, run: Path) -> tuple[np.ndarray, np.ndarray]:
    cache = run / "photo-codes.npy"
    if not cache.exists():
        np.save(cache, codes_of(pairs, "lfw").astype(np.float16))
    codes = np.load(cache).astype(np.float32)
    measures = measured(codes, run / "photos.npz")
    x = np.stack([_coordinates(codes[row]) for row in measures["code"]])
    return x, _outcomes(measures, np.stack([labels(picture) for picture in measures["picture"]]))


def _coordinates(wplus: np.ndarray) -> np.ndarray:
    white = w_space().whiten(wplus.astype(np.float32), COORDINATES)
    return np.concatenate([white[first:last].mean(0) for first, last in GROUPS])


def _outcomes(measures: Measures, seen: np.ndarray) -> np.ndarray:
    """The traits, and what a change of traits must leave alone (KEPT)."""
    skin = np.where(np.isnan(measures["skin"]), np.nanmean(measures["skin"]), measures["skin"])
    kinds = map(kind_of, seen, measures["female"])
    rows = zip(measures["looks"], measures["age"], kinds, measures["expression"], strict=True)
    wanted = np.stack([traits(*row) for row in rows])
    return np.column_stack([wanted, skin, odds(seen[:, : len(ORIGINS)])])


def ridge(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    centred = x - x.mean(0)
    gram = centred.T @ centred + PENALTY * np.eye(x.shape[1])
    return np.linalg.solve(gram, centred.T @ (y - y.mean(0)))


def explained(x: np.ndarray, y: np.ndarray) -> None:
    order = np.random.default_rng(0).permutation(len(x))
    test, train = order[:HELD_OUT], order[HELD_OUT:]
    guess = (x[test] - x[train].mean(0)) @ ridge(x[train], y[train])
    share = 1 - ((guess - y[test]) ** 2).mean(0) / y[test].var(0)
    print(f"{len(x)} faces; share of variance explained on {HELD_OUT} held out:")
    for name, value in zip((*TRAITS, *KEPT), share, strict=True):
        print(f"  {name:14} {value:.2f}")


def moves(slopes: np.ndarray) -> np.ndarray:
    """For each trait the shortest whitened step that raises it by one and leaves every other measure, in W+.

    Moods and the mouth's shape go together, so that to move one alone would take a very long step; damping makes it
    a compromise.
    """
    part = slopes[: MOVED * COORDINATES]
    gram = part.T @ part
    steps = part @ np.linalg.inv(gram + DAMPING * np.diag(np.diag(gram)))
    space, out = w_space(), np.zeros((len(TRAITS), SLOTS, 512))
    for number, (first, last) in enumerate(GROUPS[:MOVED]):
        white = steps[number * COORDINATES : (number + 1) * COORDINATES, : len(TRAITS)].T
        out[:, first:last] = ((white * space.spread[:COORDINATES]) @ space.axes[:COORDINATES])[:, None]
    return out


def of_traits() -> np.ndarray:
    """The codes' axes × measures, orthonormal: all that changes a trait or anything else that was measured."""
    faces = pool()
    known = _outcomes(vars(faces), faces.labels)
    more = [label for label in range(len(ORIGINS), len(LABELS)) if label not in WORN_LABELS]  # known already
    y = np.column_stack([known, faces.expression, faces.shade, odds(faces.labels[:, more])])
    return np.linalg.qr(ridge(faces.codes.coordinates, (y - y.mean(0)) / y.std(0)))[0]


def away(kept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each recogniser the slopes of its embedding on the codes' axes, and its mean, over the pool of targets.

    What leads away from a man leads to women and children first, or to a beard and glasses, so the part of the slopes
    that changes age, gender, origin or anything else that was measured (`kept`) is taken out.
    """
    faces = pool()
    slopes = [ridge(faces.codes.coordinates, vectors) for vectors in faces.embeddings.values()]
    means = np.stack([vectors.mean(axis=0) for vectors in faces.embeddings.values()])
    return np.stack([one - kept @ (kept.T @ one) for one in slopes]), means


def mean_mesh() -> np.ndarray:
    """Of some of the targets, in sides of the picture."""
    pictures = Generator().render(pool().codes[:MESHES], SIZE)
    meshes = [face_in_crop(np.asarray(picture)).mesh for picture in pictures]
    return np.mean([mesh[:, :2] for mesh in meshes if mesh is not None], axis=0) / SIZE


if __name__ == "__main__":
    main()
