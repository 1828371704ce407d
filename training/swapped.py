"""New faces for real photos, as the program chooses, moves and pushes them: python -m training.swapped FOLDER

FOLDER is that of `real_faces.py`; the photos are those of `parsed.py`, in its order (the first `--count` of them).
`residual.py` teaches the network that joins face and photo on these codes, since it is such that it will be given.

    FOLDER/swapped.npz    ids, rows of real.npy; codes, N × 23 × 512 float16, a new face's for each
    FOLDER/swapped/       the same in parts: a run that was stopped goes on behind the last one that is whole
"""

import argparse
import json
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import islice
from pathlib import Path

import cv2
import numpy as np

from faceveil.faces import find_faces
from faceveil.methods.styleid.choice import CHOICES, TRIED, shortlists
from faceveil.methods.styleid.measure import measure
from faceveil.methods.styleid.method import StyleId
from faceveil.methods.styleid.move import promising
from training.parsed import PART, chosen, save

FIRST = 0.7  # of the faces take a target of the first choice, the others one of the later ones


def new_code(crop: np.ndarray, row: int) -> np.ndarray | None:
    """Of a photo's face; None where the program would cover it unseen."""
    found = find_faces(crop)
    if not found:
        return None
    way = StyleId()
    middle = np.array(crop.shape[1::-1]) / 2
    face = min(found, key=lambda one: float(np.linalg.norm(one.centre - middle) - one.size_wh[0]))
    source = measure(crop, face, way.recognizers)
    if source is None:
        return None
    rng = np.random.default_rng([3, row])
    turn = 0 if rng.random() < FIRST else int(rng.integers(1, len(CHOICES)))
    few = next(islice(shortlists(source.person, source.embeddings, rng), turn, None))
    target = next(promising(source, few, turn))
    return way.code(source, target, TRIED * turn).astype(np.float16)


def part_of(folder: Path, rows: np.ndarray) -> Path:
    path = folder / "swapped" / f"{rows[0]:05}-{len(rows)}.npz"
    if not path.exists():
        cv2.setNumThreads(1)
        photos = np.load(folder / "real.npy", mmap_mode="r")
        codes = [new_code(np.ascontiguousarray(photos[row]), int(row)) for row in rows]
        there = [number for number, code in enumerate(codes) if code is not None]
        save(path, {"ids": rows[there], "codes": np.stack([codes[number] for number in there])})
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=1200, help="of the photos, the first ones alone")
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args()
    (options.folder / "swapped").mkdir(exist_ok=True)
    rows = chosen(json.loads((options.folder / "real.json").read_text()))[: options.count]
    parts = [rows[first : first + PART] for first in range(0, len(rows), PART)]
    found = []
    with ProcessPoolExecutor(options.workers) as pool:
        for done, path in enumerate(pool.map(partial(part_of, options.folder), parts), 1):
            with np.load(path) as stored:
                found.append(dict(stored))
            arrays = {name: np.concatenate([part[name] for part in found]) for name in found[0]}
            save(options.folder / "swapped.npz", arrays)
            print(f"{done} of {len(parts)} parts", flush=True)


if __name__ == "__main__":
    main()
