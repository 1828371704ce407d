"""Refined codes of faces, each kept in a file of its own: a long run can be stopped and gone on with.

    python -m benchmarks.refined CACHE --people 256 --refine 20 [--set lfw|ffhq]

The folder's name has the encoder's hash in it, so that codes of another encoder are never taken for these.
"""

import argparse
from hashlib import sha256
from pathlib import Path

import numpy as np
from benchmarks.aligned import faces_of, files_of

from faceveil.faces import FaceSet
from faceveil.models.encoder import WEIGHTS
from faceveil.spaces.latent import LatentSpace

AT_A_TIME = 4


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("cache", type=Path)
    parser.add_argument("--people", type=int, default=256)
    parser.add_argument("--set", default="lfw", choices=["lfw", "ffhq"])
    parser.add_argument("--refine", type=int, default=20)
    options = parser.parse_args()
    faces = faces_of(
        files_of(options.set, options.people), options.cache, f"{options.set}-{options.people}-unseen"
    )
    refined(faces, options.refine, options.cache)


def refined(faces: FaceSet, steps: int, cache: Path) -> None:
    """Let the set know the refined codes of its faces; those that no file has are found now."""
    from faceveil.models.memory import keep_freed_memory

    keep_freed_memory()
    folder = cache / f"refined-{steps}-{sha256(WEIGHTS.read_bytes()).hexdigest()[:12]}"
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / f"{sha256(crop.tobytes()).hexdigest()[:20]}.npy" for crop in faces.crops]
    space = LatentSpace(refine=steps)
    missing = [row for row, file in enumerate(files) if not file.exists()]
    for start in range(0, len(missing), AT_A_TIME):
        rows = missing[start : start + AT_A_TIME]
        for row, code in zip(rows, space.encode(faces.take(np.array(rows))), strict=True):
            half_done = files[row].with_suffix(".part.npy")
            np.save(half_done, code)
            half_done.replace(files[row])
        print(f"refined {start + len(rows)} of {len(missing)}", flush=True)
    faces.known[space.key] = np.array([np.load(file) for file in files])


if __name__ == "__main__":
    main()
