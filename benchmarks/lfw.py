"""People of LFW as the benchmarks meet them: photos with the face in the middle, and all that is read of a face."""

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from training.taught import is_unseen, told

from faceveil.evaluation.protocol import read_pairs
from faceveil.faces import Face, align_ffhq, blendshapes, find_faces, pose
from faceveil.faces.attributes import attributes, skin_angle
from faceveil.methods.styleid.check import embeddings
from faceveil.methods.styleid.looks import closely, looks
from faceveil.methods.styleid.targets import ORIGINS, labels
from faceveil.models.recognizers import RECOGNIZERS
from faceveil.photos import read_photo

ALIGNED = 256  # px of a face for AttrNet


def lfw_root() -> Path:
    root = Path(os.environ.get("FACEVEIL_DATA", Path(__file__).parents[2] / "shared" / "data")) / "lfw"
    if not (root / "pairs.txt").exists():
        raise SystemExit(f"LFW is not in {root}; set FACEVEIL_DATA to the folder that holds lfw/.")
    return root


class Subject:
    """One photo of LFW with the face in its middle, and what is read of it."""

    def __init__(self, root: Path, name: str) -> None:
        self.image = photo(root, name)
        self.face = middle_face(self.image)
        self.read = read(self.image, self.face) if self.face else None
        self.person = person_of(name)


def photo(root: Path, name: str) -> np.ndarray:
    return read_photo(path_of(root, name)).pixels


def path_of(root: Path, name: str) -> Path:
    return root / "images" / person_of(name) / f"{name}.jpg"


def person_of(name: str) -> str:
    return name.rsplit("_", 1)[0]


def same_pairs(root: Path, first: int, last: int, only_unseen: bool = False) -> list[tuple[str, str]]:
    """The pairs of one person, each person once: those from number `first` to `last` of the protocol, if asked
    for of its people whom no network here was taught with."""
    found: dict[str, tuple[str, str]] = {}
    for pair in read_pairs(root / "pairs.txt"):
        if pair.same and not (only_unseen and not is_unseen(path_of(root, pair.first), root.parent)):
            found.setdefault(person_of(pair.first), (pair.first, pair.second))
    chosen = list(found.values())[first:last]
    print(f"LFW: {told([path_of(root, one) for one, _ in chosen], root.parent)}", flush=True)
    return chosen


def middle_face(image: np.ndarray) -> Face | None:
    faces = find_faces(image)
    middle = np.array(image.shape[1::-1]) / 2
    return min(faces, key=lambda face: float(np.hypot(*(face.centre - middle)))) if faces else None


def read(image: np.ndarray, face: Face) -> dict[str, object]:
    """Everything that is judged of one face."""
    seen, head, does = attributes(image, face), pose(face), blendshapes(image, face)
    return {
        "embeddings": embeddings(image, face, list(RECOGNIZERS)),
        "age": seen.age, "female": seen.female, "expression": int(seen.expression.argmax()),
        "pose": np.array([head.yaw, head.pitch, head.roll]), "looks": looks(image, face),
        "close": looks(image, closely(image, face)), "blendshapes": does.values, "gaze": does.gaze,
        "skin": skin_angle(image, face), "origin": origin(image, face),
    }  # fmt: skip


def origin(image: np.ndarray, face: Face) -> np.ndarray:
    """Probabilities of ORIGINS, as AttrNet sees them."""
    return labels(align_ffhq(face, ALIGNED).crop(image))[: len(ORIGINS)]


def gallery(root: Path, people: int, cache: Path | None) -> dict[str, np.ndarray]:
    """First photos of this many people: names, age, gender, skin, origin, embeddings by recogniser."""
    file = cache / f"gallery-{people}-origin.npz" if cache else None
    if file and file.exists():
        with np.load(file) as stored:
            return dict(stored)
    rows = list(_gallery_rows(root, people))
    found = {key: np.array([row[key] for row in rows]) for key in rows[0]}
    if file:
        file.parent.mkdir(parents=True, exist_ok=True)
        np.savez(file, **found)
    return found


def _gallery_rows(root: Path, people: int) -> Iterator[dict[str, object]]:
    names = sorted(path.stem for path in (root / "images").rglob("*_0001.jpg"))
    for name in names[:: max(1, len(names) // people)][:people]:
        image = photo(root, name)
        face = middle_face(image)
        if face is not None:
            seen = attributes(image, face)
            numbers = {"age": seen.age, "female": seen.female, "skin": skin_angle(image, face)}
            numbers["origin"] = origin(image, face)
            yield {"name": name, **numbers, **embeddings(image, face, list(RECOGNIZERS))}
