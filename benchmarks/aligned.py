"""What benchmarks on aligned faces share: where the data is, and the main face of each photo, cut out once."""

import os
from pathlib import Path

import numpy as np
from training.taught import told, unseen

from faceveil.faces import FaceSet, align_ffhq, find_faces
from faceveil.faces.crops import face_set
from faceveil.photos import read_photo


def data_folder() -> Path:
    """FACEVEIL_DATA, or ../shared/data beside the project."""
    folder = Path(os.environ.get("FACEVEIL_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not folder.is_dir():
        raise SystemExit(
            f"{folder} does not exist. Set FACEVEIL_DATA to the folder of lfw, ffhq and utkface."
        )
    return folder


def files_of(name: str, count: int) -> list[Path]:
    """One photo each of people whom no network here was taught with, the same at every run."""
    folder = data_folder() / name
    if name == "ffhq":
        files = sorted(folder.glob("*.jpg"))
    else:
        files = [min(person.iterdir()) for person in sorted((folder / "images").iterdir())]
    files = unseen(files, data_folder())
    rows = np.random.default_rng(0).permutation(len(files))[:count]
    chosen = [files[row] for row in np.sort(rows)]
    print(f"{name}: {told(chosen, data_folder())}", flush=True)
    return chosen


def faces_of(files: list[Path], cache: Path | None, name: str) -> FaceSet:
    """The main face of each photo; photos without one are left out. The subject is the photo's place in `files`."""
    path = cache / f"{name}.npz" if cache else None
    if path is None or not path.exists():
        found = {row: crop for row, file in enumerate(files) if (crop := main_face(file)) is not None}
        faces = face_set(np.array(list(found.values())), np.array(list(found)))
        if path is None:
            return faces
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez(path, crops=faces.crops, points=faces.points, meshes=faces.meshes, subjects=faces.subjects)
    with np.load(path) as stored:
        return FaceSet(stored["crops"], stored["points"], stored["meshes"], stored["subjects"])


def main_face(file: Path) -> np.ndarray | None:
    """The large face nearest to the middle of the photo, in FFHQ's alignment."""
    image = read_photo(file).pixels
    faces = find_faces(image)
    if not faces:
        return None
    middle = np.array(image.shape[1::-1]) / 2
    chosen = min(faces, key=lambda face: np.hypot(*(face.centre - middle)) - max(face.size_wh))
    return align_ffhq(chosen, 256).crop(image)
