"""What the pixels of real photos show, and the photos' codes: python -m training.parsed FOLDER [--count N]

FOLDER is that of `real_faces.py`. All photos of FFHQ and the portraits are read first, then one of each person of LFW
and 1,400 of UTKFace, mixed; the choice is the same each time.

    FOLDER/parsed.npz     ids, rows of real.npy; lab, N × 256 × 256 uint8, the likeliest of the parser's classes;
                          codes, N × 23 × 512 float16, as the encoder reads them
    FOLDER/mapstats.npz   centre and scale, 512 each: mean and deviation of the channels of the generator's 64-px map
    FOLDER/parsed/        the photos in parts of 100: a run that was stopped goes on behind the last one that is whole
"""

import argparse
import json
from pathlib import Path

import cv2
import numpy as np
import torch

from faceveil.models.encoder import Encoder
from faceveil.models.parser import parse
from training.residual import Generator

UTKFACE = 1400  # photos of it
PART = 100  # photos
MAPS = 60  # of which means and deviations are taken
SEED = 0


def chosen(records: list[dict]) -> np.ndarray:
    """The rows to read, in this order."""
    rng = np.random.default_rng(SEED)
    mixed = rng.permutation(len(records))
    ffhq, portraits, lfw, utkface = (
        [row for row in mixed if records[row]["set"] == name]
        for name in ("ffhq", "portraits-cc0", "lfw", "utkface")
    )
    one_each = {records[row]["person"]: row for row in lfw}
    large = rng.permutation([*one_each.values(), *utkface[:UTKFACE]])
    return np.array([*ffhq, *portraits, *large], np.int64)


def part_of(photos: np.ndarray, rows: np.ndarray, path: Path) -> dict[str, np.ndarray]:
    """What was read of these photos; read now where the file does not hold it."""
    if path.exists():
        with np.load(path) as stored:
            if np.array_equal(stored["ids"], rows):
                return dict(stored)
    crops, encoder = [np.ascontiguousarray(photos[row]) for row in rows], Encoder()
    labels = [parse(crop).argmax(axis=0).astype(np.uint8) for crop in crops]
    codes = [encoder.encode(crop[None])[0].astype(np.float16) for crop in crops]
    found = {"ids": rows, "lab": np.stack(labels), "codes": np.stack(codes)}
    save(path, found)
    return found


@torch.no_grad()
def map_stats(codes: np.ndarray) -> dict[str, np.ndarray]:
    """Of each channel of the map at 64 px, over these codes (N × 23 × 512) and all places."""
    generator = Generator(128)
    maps = (generator.start(torch.from_numpy(code[None].astype(np.float32))) for code in codes)
    sums = [(one.double().mean((0, 2, 3)), one.double().square().mean((0, 2, 3))) for one in maps]
    centre, squares = (torch.stack(each).mean(0) for each in zip(*sums, strict=True))
    scale = (squares - centre.square()).sqrt()
    return {"scale": scale.float().numpy(), "centre": centre.float().numpy()}


def save(path: Path, arrays: dict[str, np.ndarray]) -> None:
    """Whole or not at all."""
    part = path.with_suffix(".part")
    with part.open("wb") as file:
        np.savez_compressed(file, **arrays)
    part.replace(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, help="of the photos, the first ones alone")
    options = parser.parse_args()
    cv2.setNumThreads(1)
    torch.set_num_threads(1)
    folder, parts = options.folder, options.folder / "parsed"
    parts.mkdir(exist_ok=True)
    records = json.loads((folder / "real.json").read_text())
    photos = np.load(folder / "real.npy", mmap_mode="r")
    rows = chosen(records)[: options.count]
    found = []
    for first in range(0, len(rows), PART):
        found.append(part_of(photos, rows[first : first + PART], parts / f"{first:05}.npz"))
        print(f"{min(first + PART, len(rows))} of {len(rows)}", flush=True)
    arrays = {name: np.concatenate([part[name] for part in found]) for name in found[0]}
    save(folder / "parsed.npz", arrays)
    taught = [number for number, row in enumerate(rows) if not records[row]["held_out"]]
    save(folder / "mapstats.npz", map_stats(arrays["codes"][taught[:MAPS]]))


if __name__ == "__main__":
    main()
