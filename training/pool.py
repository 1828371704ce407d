"""Widen the pool of targets: python -m training.pool FACES [--draws 8000] [--each 70]

`training.targets` takes faces as the generator draws them, of which few are old or dark. Here many codes are drawn,
what they would show is guessed from their coordinates by a regression on the pool, and of each rare kind those
that promise most are rendered and measured. Of all faces, old and new, AttrNet's labels and the hair around the face
are taken, and those with a hat or glasses, unsure of their gender or turned too far are left out. FACES keeps what
was measured.
"""

import argparse
from pathlib import Path

import cv2
import numpy as np

from faceveil.faces.attributes import attributes, skin_angle
from faceveil.methods.styleid import targets
from faceveil.methods.styleid.around import ring
from faceveil.methods.styleid.check import embeddings
from faceveil.methods.styleid.fit import with_forehead
from faceveil.methods.styleid.looks import face_in_crop, looks, lower_face_shade
from faceveil.models.generator import Generator
from faceveil.models.recognizers import RECOGNIZERS
from faceveil.models.wspace import w_space
from training.control import ridge
from training.targets import pack

COORDINATES = 300
SIZE, SMALL = 128, 64  # px of the renders: where all is measured, and only what is around the face
SEED = 71
KINDS = ("old", "Black", "Asian", "Indian", "bearded")  # rare among plain draws
LEAST_PRESENCE, MOST_YAW = 0.9, 30.0
MOST_SEEN = 0.25  # probability of glasses and of a hat
Faces = dict[str, np.ndarray]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("faces", type=Path)
    parser.add_argument("--draws", type=int, default=8000)
    parser.add_argument("--each", type=int, default=70)
    options = parser.parse_args()
    if not options.faces.exists():
        generator, old = Generator(), shipped()
        new = measured(generator, rare(generator, old, options.draws, options.each))
        faces = {name: np.concatenate([old[name], new[name]]) for name in old}
        np.savez(options.faces, **faces, **surrounded(generator, faces["coordinates"]))
    with np.load(options.faces) as stored:
        faces = dict(stored)
    kept = suitable(faces)
    print(f"{kept.sum()} of {len(kept)} kept")
    pack({name: values[kept] for name, values in faces.items()})


def shipped() -> Faces:
    with np.load(targets.DATA) as stored:
        faces = {name: stored[name].astype(np.float32) for name in ("coordinates", *targets.NUMBERS)}
        vectors = stored["embeddings"] * (stored["embedding_scale"] / targets.EMBEDDING_STEPS)[:, None]
        return {**faces, "embeddings": vectors.astype(np.float32)}


def rare(generator: Generator, old: Faces, draws: int, each: int) -> np.ndarray:
    """Coordinates of new codes: of each rare kind and gender the most promising, none twice."""
    rng = np.random.default_rng(SEED)
    psi = rng.uniform(0.7, 0.85, (draws, 1)).astype(np.float32)
    mean, w = w_space().mean, generator.mapping(generator.sample_z(draws, rng))
    new = w_space().whiten(mean + psi * (w - mean), COORDINATES)
    with np.load(targets.DATA) as stored:
        origins = stored["labels"][:, 1:4] / 255  # all but White
    known = np.column_stack([old["age"], *origins.T, old["shade"], old["female"]]).astype(np.float64)
    codes = old["coordinates"]
    guess = (new - codes.mean(0)) @ ridge(codes, known) + known.mean(0)
    chosen: list[int] = []
    for column, kind in enumerate(KINDS):
        for female in (False, True):
            if kind == "bearded" and female:
                continue
            fit = np.flatnonzero((guess[:, -1] > 0.5) == female)
            order = fit[np.argsort(-guess[fit, column])]
            chosen += [int(i) for i in order if int(i) not in chosen][:each]
    return new[chosen]


def measured(generator: Generator, codes: np.ndarray) -> Faces:
    """The same numbers as of the shipped ones."""
    rows = []
    for code in codes:
        crop = generator.render(w_space().unwhiten(code)[None], SIZE)[0]
        face = face_in_crop(crop)
        if (face.presence or 0) < LEAST_PRESENCE:
            continue
        seen = attributes(crop, face)
        rows.append({
            "coordinates": code, "looks": looks(crop, face), "age": seen.age, "female": seen.female,
            "skin": skin_angle(crop, face), "expression": seen.expression,
            "shade": lower_face_shade(crop, with_forehead(face.mesh)),
            "embeddings": np.stack(list(embeddings(crop, face, list(RECOGNIZERS)).values())),
        })  # fmt: skip
    print(f"{len(rows)} new ones", flush=True)
    return {name: np.array([row[name] for row in rows], np.float32) for name in rows[0]}


def surrounded(generator: Generator, codes: np.ndarray) -> Faces:
    """AttrNet's labels, and the ring around the face."""
    rings, labels = [], []
    for number, code in enumerate(codes):
        small = generator.render(w_space().unwhiten(code)[None], SMALL)[0]
        crop = np.asarray(cv2.resize(small, (SIZE, SIZE), interpolation=cv2.INTER_CUBIC), np.uint8)
        rings.append(ring(crop, with_forehead(face_in_crop(crop).mesh)))
        labels.append(targets.labels(crop))
        if number % 200 == 0:
            print(f"{number} of {len(codes)}", flush=True)
    return {"ring": np.array(rings, np.float32), "labels": np.array(labels, np.float32)}


def suitable(faces: Faces) -> np.ndarray:
    """Which faces may stand for others."""
    shown = dict(zip(targets.LABELS, faces["labels"].T, strict=True))
    sure = (faces["female"] > targets.SURE) | (faces["female"] < 1 - targets.SURE)
    upright = np.abs(faces["looks"][:, 0]) < MOST_YAW
    return (
        sure
        & upright
        & (shown["glasses"] < MOST_SEEN)
        & (shown["hat"] < MOST_SEEN)
        & np.isfinite(faces["skin"])
    )


if __name__ == "__main__":
    main()
