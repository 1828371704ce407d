"""Make the pool of targets: python -m training.pool PAIRS RUN [--each 120] [--again]

Codes are drawn as codes of people are spread (`people.py`; PAIRS is `real_faces.py`'s). Most show light-skinned
people of middle age who smile or show nothing. So some are measured as they come, a regression on the codes guesses
what others would show, and of very many draws those are measured that promise what is rare, in rounds: as many of
each gender, age and origin as there are or can be found, and some of each rare expression and with glasses. Those
with a hat, of unsure gender or glasses, or turned too far are left out. RUN keeps what was measured; AttrNet's
labels are read anew each time. With `--again` the pool that ships is kept: looks,
expressions and hair are read anew, as they are read now, and rare moods are looked for along the same axes (none
with `--each 0`).
"""

import argparse
import shutil
from collections.abc import Iterable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import NamedTuple

import cv2
import numpy as np

from faceveil.faces.attributes import attributes
from faceveil.methods.styleid import targets
from faceveil.methods.styleid.looks import NAMES, face_in_crop, looks
from faceveil.methods.styleid.measure import hair_colour
from faceveil.methods.styleid.render import PREVIEW, SKETCH
from faceveil.models.attributes import EXPRESSIONS
from faceveil.models.generator import Generator
from faceveil.models.parser import parse
from faceveil.models.recognizers import WATCHING, recognizer
from training.control import ridge
from training.measures import CHUNK, Measures, measured
from training.people import codes_of_people, draws

SEED = 71
KNOWN = (*targets.NUMBERS, "labels", "embeddings", "coordinates")


class Kind(NamedTuple):
    """What targets are wanted: an age, a gender, and an origin, an expression or glasses (a column of `traits`)."""

    ages: tuple[int, int]
    female: float
    column: int


DRAWS = 120_000
PLAIN = 1000  # measured first, as they come
AGES = ((0, 14), (14, 28), (28, 42), (42, 56), (56, 100))
GENDERS = (0.0, 1.0)
ORIGIN, EXPRESSION = 2, 2 + len(targets.ORIGINS)  # first columns of `traits`
GLASSES = EXPRESSION + len(EXPRESSIONS)
RARE = ("angry", "fear", "sad", "surprise")
OF_ORIGIN = [Kind(*kind) for kind in product(AGES, GENDERS, range(ORIGIN, EXPRESSION))]
OF_MOOD = [
    Kind(*kind) for kind in product(AGES[1:], GENDERS, (EXPRESSION + EXPRESSIONS.index(m) for m in RARE))
]
WITH_GLASSES = [Kind(*kind) for kind in product(AGES[1:], GENDERS, (GLASSES,))]
ROUNDS = (
    (OF_ORIGIN, 1.0),
    (OF_ORIGIN, 1.0),
    (OF_MOOD, 0.6),
    (WITH_GLASSES, 0.6),
)  # what is looked for, and how many of each
AGAIN = ((OF_MOOD, 0.5), (OF_MOOD, 0.5))
LIKELY = 3  # from how many times as many of the likeliest those of a kind are drawn
MOST_YAW = 30.0
UNSURE = 0.25  # probability from which a hat is seen; glasses are neither seen nor not up to 1 − UNSURE


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pairs", type=Path)
    parser.add_argument("run", type=Path)
    parser.add_argument("--each", type=int, default=120)
    parser.add_argument("--again", action="store_true", help="Go on from the pool that ships.")
    options = parser.parse_args()
    options.run.mkdir(parents=True, exist_ok=True)
    begun = shipped(options.run) if options.again else None
    if begun is None:
        people = codes_of_people(options.pairs, options.run / "people.npy")
        codes, rounds, first = draws(people, DRAWS, SEED), ROUNDS, PLAIN
    else:
        codes, rounds, first = more_along(begun.codes, DRAWS), AGAIN, 0
    done = sorted(options.run.glob("round-*.npy"))
    rows = np.concatenate([np.arange(first), *(np.load(path) for path in done)]).astype(np.intp)
    faces = known(codes, rows, options.run / "faces.npz", begun)
    for number, (kinds, share) in enumerate(rounds):
        if number < len(done):
            continue
        more = choose(codes.coordinates, rows, faces, kinds, round(share * options.each))
        np.save(options.run / f"round-{number}.npy", more)
        rows = np.concatenate([rows, more])
        faces = known(codes, rows, options.run / "faces.npz", begun)
    kept = suitable(faces)
    print(f"{kept.sum()} of {len(kept)} kept")
    faces = {name: values[kept] for name, values in faces.items()}
    pack(faces, targets.Codes(codes.axes, faces["coordinates"]))


def known(codes: targets.Codes, rows: np.ndarray, path: Path, begun: targets.Pool | None) -> Measures:
    """What is known of the pool that it begins with, and measured of these codes, with AttrNet's labels."""
    found = [] if begun is None else [of_pool(begun)]
    if len(rows):
        faces = measured(codes[rows], path)
        labels = np.stack([targets.labels(picture) for picture in faces["picture"]])
        coordinates = codes.coordinates[rows[faces["code"]]]
        found.append({**faces, "coordinates": coordinates, "labels": labels})
    return {name: np.concatenate([faces[name] for faces in found]) for name in KNOWN}


def shipped(run: Path) -> targets.Pool:
    """The pool that ships (copied to RUN, for it will be overwritten), its looks, expressions and hair read anew."""
    copy = run / "shipped.npz"
    if not copy.exists():
        shutil.copy(targets.DATA, copy)
    faces = targets.read_pool(copy)
    read = anew(faces.codes, run / "anew.npy")
    looks, expression, hair = np.split(read, [len(NAMES), -3], axis=1)
    return replace(faces, looks=looks, expression=expression, hair=hair)


def anew(codes: targets.Codes, path: Path) -> np.ndarray:
    """N × looks, expressions and the hair's colour, kept in a file as it grows."""
    generator = Generator()
    read = list(np.load(path)) if path.exists() else []
    for number in range(len(read), len(codes.coordinates)):
        small = generator.render(codes[number][None], SKETCH)[0]  # as the program looks at targets
        picture = np.asarray(cv2.resize(small, (PREVIEW, PREVIEW), interpolation=cv2.INTER_CUBIC), np.uint8)
        face = face_in_crop(picture)
        hair = hair_colour(picture, parse(picture))
        read.append([*looks(picture, face), *attributes(picture, face).expression, *hair])
        if number % CHUNK == CHUNK - 1 or number == len(codes.coordinates) - 1:
            np.save(path, np.array(read))
            print(f"{number + 1} of {len(codes.coordinates)} read anew", flush=True)
    return np.array(read)


def of_pool(faces: targets.Pool) -> Measures:
    """The arrays of KNOWN."""
    stacked = np.stack([faces.embeddings[name] for name in WATCHING], axis=1)
    return {**vars(faces), "coordinates": faces.codes.coordinates, "embeddings": stacked}


def more_along(codes: targets.Codes, count: int) -> targets.Codes:
    """Other draws along the same axes."""
    coordinates = np.random.default_rng(SEED + 1).standard_normal((count, codes.axes.shape[1]))
    return replace(codes, coordinates=coordinates.astype(np.float32))


def choose(
    codes: np.ndarray, taken: np.ndarray, faces: Measures, kinds: Iterable[Kind], each: int
) -> np.ndarray:
    """Rows of codes: of each kind as many as are missing, at random among the likeliest."""
    rng = np.random.default_rng(SEED)
    x, shown = faces["coordinates"], traits(faces)
    guess = (codes - x.mean(0)) @ ridge(x, shown) + shown.mean(0)
    free = np.ones(len(codes), bool)
    free[taken] = False
    have = shown[suitable(faces)]
    chosen: list[int] = []
    for kind in kinds:
        missing = each - int((against(have, kind) < 1).sum())
        if missing > 0:
            likely = np.argsort(np.where(free, against(guess, kind), np.inf))[: LIKELY * missing]
            more = rng.permutation(likely)[:missing]
            free[more] = False
            chosen += more.tolist()
    print(f"{len(chosen)} more", flush=True)
    return np.array(chosen, np.intp)


def traits(faces: Measures) -> np.ndarray:
    """Age, gender, origin, expression and glasses of each face."""
    origins = faces["labels"][:, : len(targets.ORIGINS)]
    glasses = faces["labels"][:, targets.LABELS.index("glasses")]
    return np.column_stack([faces["age"], faces["female"], origins, faces["expression"], glasses])


def against(shown: np.ndarray, kind: Kind) -> np.ndarray:
    """How far each face is from being of this kind; under 1 it is."""
    low, high = kind.ages
    beyond = np.maximum(0, np.maximum(low - shown[:, 0], shown[:, 0] - high)) / 10
    return np.asarray(np.abs(shown[:, 1] - kind.female) + 2 * (1 - shown[:, kind.column]) + 3 * beyond)


def suitable(faces: Measures) -> np.ndarray:
    """Which faces may stand for others."""
    shown = dict(zip(targets.LABELS, faces["labels"].T, strict=True))
    sure = (faces["female"] > targets.SURE) & (shown["female"] > 0.5)  # two networks say so
    sure |= (faces["female"] < 1 - targets.SURE) & (shown["female"] < 0.5)
    upright = np.abs(faces["looks"][:, 0]) < MOST_YAW
    glasses = np.abs(shown["glasses"] - 0.5) > 0.5 - UNSURE
    return np.asarray(sure & upright & glasses & (shown["hat"] < UNSURE) & np.isfinite(faces["skin"]))


def alone(embeddings: np.ndarray) -> np.ndarray:
    """N × recognisers: how far each face is from the NEIGHBOUR-th nearest of all, by each recogniser."""
    found = np.empty(embeddings.shape[:2])
    for column, name in enumerate(WATCHING):
        vectors = embeddings[:, column].astype(np.float32)
        for row, vector in enumerate(vectors):
            distances = recognizer(name).distance(vectors, vector)
            found[row, column] = np.partition(distances, targets.NEIGHBOUR)[targets.NEIGHBOUR]
    return found


def pack(faces: Measures, codes: targets.Codes) -> None:
    """Write the pool as it ships."""
    scale = np.abs(faces["embeddings"]).max(axis=(0, 2))
    steps = np.rint(faces["embeddings"] / scale[:, None] * targets.BYTE)
    numbers = {name: faces[name].astype(np.float16) for name in targets.NUMBERS}
    np.savez_compressed(
        targets.DATA,
        alone=alone(faces["embeddings"]).astype(np.float16),
        embeddings=steps.astype(np.int8),
        embedding_scale=scale,
        labels=np.rint(faces["labels"] * 255).astype(np.uint8),
        **numbers,
        **codes.packed(),
    )
    print(f"{len(steps)} targets, {targets.DATA.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
