"""Render (image, W+) pairs: python -m training.pairs DIR [--count 40000] [--worker 0 --workers 2]

    DIR/images.npy    count × 128 × 128 × 3   uint8, RGB
    DIR/latents.npy   count × 23 × 512        float16, W+
    DIR/done.npy      count                   bool

Each index gives the same pair wherever and whenever it is rendered; a run that was stopped goes on where it
was.
"""

import argparse
from pathlib import Path

import numpy as np
from numpy.lib.format import open_memmap
from numpy.typing import NDArray

from faceveil.models.generator import Generator
from faceveil.models.mobilestylegan import SLOTS, STYLE_DIM
from training.latents import mixed_wplus

SIZE = 128
SEED = 2
CHUNK = 32


def open_pairs(folder: Path, count: int | None = None) -> tuple[NDArray, NDArray, NDArray]:
    """The three arrays, mapped; made when `count` is given and they are not there yet."""
    shapes = {
        "images": (np.uint8, (SIZE, SIZE, 3)),
        "latents": (np.float16, (SLOTS, STYLE_DIM)),
        "done": (np.bool_, ()),
    }
    arrays = []
    for name, (dtype, shape) in shapes.items():
        path = folder / f"{name}.npy"
        if not path.exists() and count is not None:
            folder.mkdir(parents=True, exist_ok=True)
            open_memmap(path, "w+", dtype, (count, *shape))
        arrays.append(open_memmap(path, "r+" if count is not None else "r"))
    images, latents, done = arrays
    return images, latents, done


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=40_000)
    parser.add_argument("--worker", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args()
    images, latents, done = open_pairs(options.folder, options.count)
    generator = Generator()
    for chunk in range(options.worker, -(-options.count // CHUNK), options.workers):
        indices = range(chunk * CHUNK, min((chunk + 1) * CHUNK, options.count))
        rows = slice(indices.start, indices.stop)
        if done[rows].all():
            continue
        wplus = mixed_wplus(generator, SEED, indices)
        images[rows] = generator.render(wplus, SIZE)
        latents[rows] = wplus
        done[rows] = True


if __name__ == "__main__":
    main()
