"""Real faces in FFHQ's alignment, with people kept apart: python -m training.real_faces DATA DIR

    DIR/real.npy      count × 256 × 256 × 3   uint8, RGB; beyond the photo's border it is mirrored
    DIR/mask.npy      count × 64 × 64         uint8, the share of each cell that lies in the photo, of 255
    DIR/real.json     set, name, person and whether held out, in the same order

Held out are the 60 FFHQ faces and the 500 LFW people whose names have the smallest SHA-256: nothing to
remember, and no one can move a face across by accident.
"""

import argparse
import hashlib
import json
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from faceveil.faces import align_ffhq, find_faces, with_mesh

SIZE = 256
MASK_SIZE = 64
HELD_OUT = {"ffhq": 60, "lfw": 500, "utkface": 0, "portraits-cc0": 0}


@dataclass(frozen=True)
class RealFace:
    """One photo of a data set."""

    set: str
    name: str
    person: str
    held_out: bool


def list_faces(data: Path) -> Iterator[tuple[Path, RealFace]]:
    """Every photo of the sets with its person: the folder in LFW, the file elsewhere."""
    for name in HELD_OUT:
        paths = sorted((data / name).rglob("*.jpg"))
        people = {path: _person(path) if name == "lfw" else path.stem for path in paths}
        apart = held_out(set(people.values()), HELD_OUT[name])
        for path in paths:
            yield path, RealFace(name, path.name, people[path], people[path] in apart)


def held_out(people: set[str], count: int) -> set[str]:
    """The `count` people whose names have the smallest hash."""
    return set(sorted(people, key=lambda person: hashlib.sha256(person.encode()).hexdigest())[:count])


def _person(path: Path) -> str:
    """LFW files are Name_Surname_0001.jpg."""
    return path.stem.rsplit("_", 1)[0]


def align(photo: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], NDArray[np.uint8]] | None:
    """The face in the middle, cut out as the program cuts it, and its mask; None where no face is found."""
    middle = np.array(photo.shape[1::-1]) / 2
    found = find_faces(photo, mesh=False)
    if not found:
        return None
    face = min(found, key=lambda face: float(np.linalg.norm(face.centre - middle) - face.size_wh[0]))
    alignment = align_ffhq(with_mesh(photo, [face])[0], SIZE)
    inside = np.full(photo.shape[:2], 255, np.uint8)
    return alignment.crop(photo), _shrink(cv2.warpAffine(inside, alignment.to_crop, (SIZE, SIZE)), MASK_SIZE)


def _shrink(image: NDArray[np.uint8], size: int) -> NDArray[np.uint8]:
    return cv2.resize(image, (size, size), interpolation=cv2.INTER_AREA)


def seen(listed: tuple[Path, RealFace]) -> tuple[NDArray[np.uint8], NDArray[np.uint8]] | None:
    """A photo's face and its mask; None where no face is found."""
    path, record = listed
    photo = cv2.cvtColor(cv2.imread(str(path)), cv2.COLOR_BGR2RGB)
    if record.set == "ffhq":  # aligned already
        return _shrink(photo, SIZE), np.full((MASK_SIZE, MASK_SIZE), 255, np.uint8)
    return align(photo)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args()
    listed = list(list_faces(options.data))
    images, masks, records = [], [], []
    with ProcessPoolExecutor(options.workers) as pool:
        crops = pool.map(seen, listed, chunksize=64)
    for (_, record), crop in zip(listed, crops, strict=True):
        if crop is not None:
            images.append(crop[0])
            masks.append(crop[1])
            records.append(asdict(record))
    options.folder.mkdir(parents=True, exist_ok=True)
    np.save(options.folder / "real.npy", np.stack(images))
    np.save(options.folder / "mask.npy", np.stack(masks))
    (options.folder / "real.json").write_text(json.dumps(records, indent=0))
    print(f"{len(images)} faces, {sum(r['held_out'] for r in records)} held out")


if __name__ == "__main__":
    main()
