"""What is measured of generated faces, for the pool of targets and for the directions of control."""

from pathlib import Path

import numpy as np

from faceveil.faces.attributes import attributes, skin_angle
from faceveil.methods.styleid.check import embeddings
from faceveil.methods.styleid.looks import face_in_crop, looks, lower_face_shade
from faceveil.methods.styleid.measure import hair_colour
from faceveil.models.generator import Generator
from faceveil.models.mobilestylegan import Floats
from faceveil.models.parser import parse
from faceveil.models.recognizers import WATCHING

SIZE = 128  # px of the renders
LEAST_PRESENCE = 0.9
CHUNK = 400  # faces after which the file is written
Measures = dict[str, np.ndarray]


def measured(codes: Floats, path: Path) -> Measures:
    """The numbers of each face with its picture; `code` is its row in `codes`. A run that was stopped goes on."""
    rows = _read(path)
    generator = Generator()
    for number in range(int(rows[-1]["code"]) + 1 if rows else 0, len(codes)):
        row = _measure(np.asarray(generator.render(codes[number][None], SIZE)[0]))
        if row is not None:
            rows.append({"code": np.int64(number), **row})
        if number % CHUNK == CHUNK - 1:
            np.savez(path, **_columns(rows))
            print(f"{number + 1} of {len(codes)}", flush=True)
    np.savez(path, **_columns(rows))
    return _columns(rows)


def _measure(picture: np.ndarray) -> Measures | None:
    face = face_in_crop(picture)
    if face.mesh is None or (face.presence or 0) < LEAST_PRESENCE:
        return None
    seen = attributes(picture, face)
    return {
        "picture": picture,
        "looks": looks(picture, face),
        "age": np.float64(seen.age),
        "female": np.float64(seen.female),
        "expression": seen.expression,
        "skin": np.float64(skin_angle(picture, face)),
        "shade": np.float64(lower_face_shade(picture, face.mesh)),
        "hair": hair_colour(picture, parse(picture)),
        "mesh": face.mesh.astype(np.float32),
        "embeddings": np.stack(list(embeddings(picture, face, WATCHING).values())),
    }


def _columns(rows: list[Measures]) -> Measures:
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def _read(path: Path) -> list[Measures]:
    if not path.exists():
        return []
    with np.load(path) as stored:
        columns = dict(stored)
    return [{name: values[i] for name, values in columns.items()} for i in range(len(columns["code"]))]
