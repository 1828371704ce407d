"""Make the pool of targets: python -m training.pool RUN [--draws 40000] [--plain 1200] [--each 90]

Faces as the generator draws them are mostly young or middle-aged and light-skinned. So some plain draws are measured,
a regression on their codes guesses what others would show, and of very many draws as many are taken of each
gender, age and origin. Those with a hat, unsure of gender or glasses, or turned too far are left out.
RUN keeps what was measured; AttrNet's labels are read anew each time.
"""

import argparse
from itertools import product
from pathlib import Path

import numpy as np

from faceveil.methods.styleid import targets
from faceveil.models.generator import Generator
from faceveil.models.wspace import w_space
from training.control import ridge
from training.measures import Measures, measured

COORDINATES = 300
SEED = 71
TRUNCATION = (0.75, 0.95)
AGES = ((0, 14), (14, 28), (28, 42), (42, 56), (56, 100))
LIKELY = 3  # from how many times as many of the likeliest those of a kind are drawn
MOST_YAW = 30.0
UNSURE = 0.25  # probability from which a hat is seen; glasses are neither seen nor not up to 1 − UNSURE


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("--draws", type=int, default=40_000)
    parser.add_argument("--plain", type=int, default=1200)
    parser.add_argument("--each", type=int, default=90)
    options = parser.parse_args()
    options.run.mkdir(parents=True, exist_ok=True)
    codes = draws(options.draws)
    rows = options.run / "chosen.npy"
    if not rows.exists():
        np.save(rows, choose(codes, known(codes[: options.plain], options.run / "plain.npz"), options.each))
    faces = known(codes[np.load(rows)], options.run / "chosen.npz")
    kept = suitable(faces)
    print(f"{kept.sum()} of {len(kept)} kept")
    pack({name: values[kept] for name, values in faces.items()})


def draws(count: int) -> np.ndarray:
    """Whitened coordinates of random codes."""
    rng = np.random.default_rng(SEED)
    generator = Generator()
    psi = rng.uniform(*TRUNCATION, (count, 1)).astype(np.float32)
    mean, w = w_space().mean, generator.mapping(generator.sample_z(count, rng))
    return w_space().whiten(mean + psi * (w - mean), COORDINATES)


def known(codes: np.ndarray, path: Path) -> Measures:
    """What is measured of these codes, with the codes themselves and AttrNet's labels."""
    faces = measured(np.stack([w_space().unwhiten(code) for code in codes]), path)
    labels = np.stack([targets.labels(picture) for picture in faces["picture"]])
    return {**faces, "coordinates": codes[faces["code"]], "labels": labels}


def choose(codes: np.ndarray, plain: Measures, each: int) -> np.ndarray:
    """Rows of codes: of each gender, age and origin as many, at random among the likeliest, none twice."""
    rng = np.random.default_rng(SEED)
    shown = np.column_stack([plain["age"], plain["female"], plain["labels"][:, : len(targets.ORIGINS)]])
    x = plain["coordinates"]
    guess = (codes - x.mean(0)) @ ridge(x, shown) + shown.mean(0)
    age, female, origins = guess[:, 0], guess[:, 1], guess[:, 2:]
    free = np.ones(len(codes), bool)
    chosen: list[int] = []
    for (low, high), woman, origin in product(AGES, (False, True), range(origins.shape[1])):
        beyond = np.maximum(0, np.maximum(low - age, age - high)) / 10
        against = np.abs(female - woman) + 2 * (1 - origins[:, origin]) + beyond
        likely = np.argsort(np.where(free, against, np.inf))[: LIKELY * each]
        taken = rng.permutation(likely)[:each]
        free[taken] = False
        chosen += taken.tolist()
    return np.array(chosen)


def suitable(faces: Measures) -> np.ndarray:
    """Which faces may stand for others."""
    shown = dict(zip(targets.LABELS, faces["labels"].T, strict=True))
    sure = (faces["female"] > targets.SURE) | (faces["female"] < 1 - targets.SURE)
    upright = np.abs(faces["looks"][:, 0]) < MOST_YAW
    glasses = np.abs(shown["glasses"] - 0.5) > 0.5 - UNSURE
    return np.asarray(sure & upright & glasses & (shown["hat"] < UNSURE) & np.isfinite(faces["skin"]))


def pack(faces: Measures) -> None:
    """Write the pool as it ships."""
    scale = np.abs(faces["embeddings"]).max(axis=(0, 2))
    steps = np.rint(faces["embeddings"] / scale[:, None] * targets.EMBEDDING_STEPS)
    numbers = {name: faces[name].astype(np.float16) for name in ("coordinates", *targets.NUMBERS)}
    np.savez_compressed(
        targets.DATA,
        embeddings=steps.astype(np.int8),
        embedding_scale=scale,
        labels=np.rint(faces["labels"] * 255).astype(np.uint8),
        **numbers,
    )
    print(f"{len(steps)} targets, {targets.DATA.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
