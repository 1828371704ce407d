"""Make the pool of targets: python -m training.targets PAIRS MEASURES

Of the generated faces in PAIRS (see `training.pairs`) those of one draw and truncation under 0.85 are measured and
kept in MEASURES, which `training.control` reads too, with some mixed ones. Faces with glasses, hats and fringes are
left out: three classifiers, trained here on a few hundred faces labelled by eye (target-labels.json), find them.
"""

import argparse
import json
from pathlib import Path

import cv2
import numpy as np
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_predict
from sklearn.preprocessing import StandardScaler

from faceveil.faces.attributes import attributes, skin_angle
from faceveil.methods.styleid import targets
from faceveil.methods.styleid.around import ring
from faceveil.methods.styleid.check import embeddings
from faceveil.methods.styleid.fit import with_forehead
from faceveil.methods.styleid.looks import face_in_crop, looks, lower_face_shade
from faceveil.models.mobilestylegan import STYLE_DIM
from faceveil.models.recognizers import RECOGNIZERS
from faceveil.models.wspace import w_space
from training.pairs import SEED, SIZE, open_pairs

NATURAL = 0.85  # truncation up to which faces are taken
MIXED = 5000  # faces up to this index are measured whatever they are
LABELS = Path(__file__).with_name("target-labels.json")
COORDINATES = 300
# Where each is looked for in the upright crop (rows, columns), the grid, and the score from which it counts.
PLACES = {
    "glasses": (slice(48, 78), slice(26, 102), (19, 10), -0.5),
    "fringe": (slice(26, 56), slice(30, 98), (17, 8), -0.3),
    "hat": (slice(0, 50), slice(10, 118), (18, 9), -0.3),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pairs", type=Path)
    parser.add_argument("measures", type=Path)
    options = parser.parse_args()
    images, latents, done = open_pairs(options.pairs)
    if not options.measures.exists():
        np.savez(options.measures, **measure(images, np.flatnonzero(done)))
    with np.load(options.measures) as stored:
        faces = dict(stored)
    whole = (faces["parts"] == 1) & (faces["psi"] < NATURAL) & np.isfinite(faces["skin"])
    faces = {name: values[whole] for name, values in faces.items()}
    coordinates = w_space().whiten(latents[faces["index"], 0].astype(np.float32), COORDINATES)
    kept = without_accessories(images, faces, coordinates)
    faces = {name: values[kept] for name, values in faces.items()}
    pack({**faces, **around(images, faces), "coordinates": coordinates[kept], "embeddings": faces["emb"]})


def draw(index: int) -> tuple[int, float]:
    """How many draws were joined in this pair, and its truncation: the law of `training.latents`."""
    rng = np.random.default_rng([SEED, index])
    parts = int(rng.integers(1, 4))
    rng.standard_normal((parts, STYLE_DIM), np.float32)
    return parts, float(rng.uniform(0.7, 1.0))


def measure(images: np.ndarray, indices: np.ndarray) -> dict[str, np.ndarray]:
    rows = []
    for index in indices:
        parts, psi = draw(index)
        if index >= MIXED and not (parts == 1 and psi < NATURAL):
            continue
        crop = np.array(images[index])
        face = face_in_crop(crop)
        if (face.presence or 0) < 0.9:
            continue
        seen = attributes(crop, face)
        vectors = np.stack(list(embeddings(crop, face, list(RECOGNIZERS)).values()))
        rows.append({
            "index": index, "parts": parts, "psi": psi, "looks": looks(crop, face), "age": seen.age,
            "female": seen.female, "expression": seen.expression, "skin": skin_angle(crop, face),
            "mesh": face.mesh.astype(np.float32), "emb": vectors,
        })  # fmt: skip
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def without_accessories(
    images: np.ndarray, faces: dict[str, np.ndarray], coordinates: np.ndarray
) -> np.ndarray:
    """Which faces have neither glasses nor hat nor fringe."""
    labels = json.loads(LABELS.read_text())
    lab = upright(images, faces)
    kept = np.ones(len(lab), bool)
    for name, (rows, columns, grid, limit) in PLACES.items():
        part = (
            edges(lab)
            if name == "glasses"
            else lab - np.median(lab[:, 70:80, 40:52], axis=(1, 2), keepdims=True)
        )
        cells = np.stack(
            [cv2.resize(one[rows, columns], grid, interpolation=cv2.INTER_AREA).ravel() for one in part]
        )
        cells = PCA(40, random_state=0).fit_transform(StandardScaler().fit_transform(cells))
        x = StandardScaler().fit_transform(np.hstack([cells, coordinates[:, :60]]))
        yes, no = (np.isin(faces["index"], labels[name][answer]) for answer in ("yes", "no"))
        model = LogisticRegression(C=0.02, class_weight="balanced", max_iter=2000)
        known = yes | no
        guess = cross_val_predict(model, x[known], yes[known], cv=8, method="decision_function")
        score = model.fit(x[known], yes[known]).decision_function(x)
        auc = roc_auc_score(yes[known], guess)
        print(
            f"{name}: {yes.sum()} of {known.sum()} labelled, AUC {auc:.3f} cross-validated, "
            f"{(score > limit).sum()} left out"
        )
        kept &= score <= limit
    return kept


def upright(images: np.ndarray, faces: dict[str, np.ndarray]) -> np.ndarray:
    """The faces in Lab with eyes and chin at the same places."""
    places = [33, 263, 152]
    mean = faces["mesh"][:, places, :2].mean(0)
    out = []
    for index, mesh in zip(faces["index"], faces["mesh"], strict=True):
        matrix = cv2.getAffineTransform(mesh[places, :2], mean)
        turned = cv2.warpAffine(images[index], matrix, (SIZE, SIZE), borderMode=cv2.BORDER_REFLECT)
        out.append(cv2.cvtColor(turned, cv2.COLOR_RGB2LAB))
    return np.stack(out).astype(np.float32)


def edges(lab: np.ndarray) -> np.ndarray:
    light = lab[..., 0]
    steps = [np.abs(np.diff(light, axis=axis, prepend=0)) for axis in (1, 2)]
    return np.stack(steps, axis=-1)


def around(images: np.ndarray, faces: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What is seen of beard, hair and the rest of AttrNet's labels."""
    rows = []
    for index, mesh in zip(faces["index"], faces["mesh"], strict=True):
        crop, mesh = np.array(images[index]), with_forehead(mesh.astype(np.float64))
        rows.append((lower_face_shade(crop, mesh), targets.labels(crop), ring(crop, mesh)))
    columns = zip(*rows, strict=True)
    return {name: np.array(values) for name, values in zip(("shade", "labels", "ring"), columns, strict=True)}


def pack(faces: dict[str, np.ndarray]) -> None:
    """Write the pool as it ships."""
    scale = np.abs(faces["embeddings"]).max(axis=(0, 2))
    steps = np.rint(faces["embeddings"] / scale[:, None] * targets.EMBEDDING_STEPS)
    numbers = {name: faces[name].astype(np.float16) for name in ("coordinates", *targets.NUMBERS)}
    np.savez_compressed(
        targets.DATA,
        embeddings=steps.astype(np.int8),
        embedding_scale=scale,
        labels=np.rint(faces["labels"] * 255).astype(np.uint8),
        ring=np.clip(np.rint(faces["ring"]), -128, 127).astype(np.int8),
        **numbers,
    )
    print(f"{len(steps)} targets, {targets.DATA.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
