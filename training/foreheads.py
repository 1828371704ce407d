"""Where the hair of the targets hangs into their faces: python -m training.foreheads [--workers 2]

A target whose fringe falls where a photo's face shows skin brings strands with it that belong to no hair of the
photo. So of each target of the pool that ships it is kept which cells of its crop show hair (`Pool.hairy`):

    src/faceveil/methods/styleid/data/hairy.npz     hairy, N × 32 uint8: 16 × 16 bits
"""

import argparse
from concurrent.futures import ProcessPoolExecutor

import cv2
import numpy as np

from faceveil.methods.styleid.render import small
from faceveil.methods.styleid.targets import HAIRY, in_cells, pool
from faceveil.models.parser import HAIR, parse

CHUNK = 100


def hairy(rows: range) -> np.ndarray:
    """Of these targets, as small renders show them."""
    cv2.setNumThreads(1)
    shares = [parse(small(pool().codes[row]))[HAIR] for row in rows]
    return np.packbits(np.stack([in_cells(share) for share in shares]) > 0.5, axis=1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args()
    parts = [range(first, min(first + CHUNK, len(pool()))) for first in range(0, len(pool()), CHUNK)]
    found = []
    with ProcessPoolExecutor(options.workers) as workers:
        for part in workers.map(hairy, parts):
            found.append(part)
            print(f"{sum(map(len, found))} of {len(pool())}", flush=True)
    np.savez_compressed(HAIRY, hairy=np.concatenate(found))


if __name__ == "__main__":
    main()
