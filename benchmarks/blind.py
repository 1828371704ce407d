"""Blind sheets: outputs and untouched photos, numbered and shuffled, for a reader who has seen neither pairs nor key.

    python -m benchmarks.blind make OUTPUTS UNTOUCHED SHEETS [--each 60] [--side 380] [--seed 0]
    python -m benchmarks.blind count SHEETS/key.json FLAGGED...      # numbers, or a file of them

OUTPUTS and UNTOUCHED are folders of pictures of different people. `make` writes sheets of twelve and `key.json`; the
reader gets the sheets alone and flags the numbers that look manipulated. `count` compares with the key:
what counts is by how much more often outputs are flagged than untouched photos, with a 95 % interval (Newcombe 1998).
"""

import argparse
import json
import re
from pathlib import Path

import cv2
import numpy as np

from faceveil.photos import read_photo

COLUMNS, ROWS, MARGIN, LABEL = 4, 3, 8, 26
SUFFIXES = {".jpg", ".jpeg", ".png", ".webp"}


def make(outputs: Path, untouched: Path, sheets: Path, each: int, side: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    chosen = [
        (path, changed)
        for changed, folder in ((True, outputs), (False, untouched))
        for path in some(folder, each, rng)
    ]
    order = rng.permutation(len(chosen))
    sheets.mkdir(parents=True, exist_ok=True)
    key = {}
    for first in range(0, len(order), COLUMNS * ROWS):
        rows = order[first : first + COLUMNS * ROWS]
        numbers = range(first + 1, first + 1 + len(rows))
        cells = [cell(chosen[row][0], side, number) for row, number in zip(rows, numbers, strict=True)]
        for row, number in zip(rows, numbers, strict=True):
            key[number] = {"file": chosen[row][0].name, "changed": chosen[row][1]}
        cv2.imwrite(str(sheets / f"sheet-{first // (COLUMNS * ROWS) + 1:02}.png"), laid_out(cells)[..., ::-1])
    (sheets / "key.json").write_text(json.dumps(key, indent=1) + "\n")
    print(f"{len(order)} pictures, {COLUMNS * ROWS} a sheet, in {sheets}; keep key.json from the reader")


def some(folder: Path, count: int, rng: np.random.Generator) -> list[Path]:
    found = sorted(path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES)
    return [found[row] for row in rng.permutation(len(found))[:count]]


def cell(path: Path, side: int, number: int) -> np.ndarray:
    """The picture within a square, with its number above."""
    image = read_photo(path).pixels
    scale = side / max(image.shape[:2])
    size = tuple(max(1, round(length * scale)) for length in image.shape[1::-1])
    small = cv2.resize(image, size, interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC)
    canvas = np.full((side + LABEL, side, 3), 255, np.uint8)
    cv2.putText(canvas, str(number), (6, 20), cv2.FONT_HERSHEY_SIMPLEX, 0.7, (0, 0, 0), 2, cv2.LINE_AA)
    canvas[LABEL : LABEL + size[1], : size[0]] = small
    return canvas


def laid_out(cells: list[np.ndarray]) -> np.ndarray:
    height, width = cells[0].shape[:2]
    rows = -(-len(cells) // COLUMNS)
    sheet = np.full((rows * (height + MARGIN), COLUMNS * (width + MARGIN), 3), 255, np.uint8)
    for place, one in enumerate(cells):
        top, left = place // COLUMNS * (height + MARGIN), place % COLUMNS * (width + MARGIN)
        sheet[top : top + height, left : left + width] = one
    return sheet


def count(key: dict[str, dict[str, object]], flagged: set[int]) -> dict[str, object]:
    """How many of each kind were flagged, and the difference in points."""
    unknown = flagged - {int(number) for number in key}
    if unknown:
        raise SystemExit(f"no pictures of these numbers are in the key: {sorted(unknown)}")
    hits = {
        changed: [int(n) in flagged for n, entry in key.items() if entry["changed"] is changed]
        for changed in (True, False)
    }
    (a, n), (b, m) = ((sum(hits[changed]), len(hits[changed])) for changed in (True, False))
    difference, low, high = newcombe(a, n, b, m)
    return {
        "outputs_flagged": a, "outputs": n, "untouched_flagged": b, "untouched": m,
        "points": round(100 * difference, 1), "interval": [round(100 * low, 1), round(100 * high, 1)],
    }  # fmt: skip


def newcombe(a: int, n: int, b: int, m: int) -> tuple[float, float, float]:
    """The difference of two shares and its 95 % interval, by Wilson's intervals of each (Newcombe's method 10)."""
    p, q = a / n, b / m
    (l1, u1), (l2, u2) = wilson(p, n), wilson(q, m)
    return p - q, p - q - np.hypot(p - l1, u2 - q), p - q + np.hypot(u1 - p, q - l2)


def wilson(share: float, n: int, z: float = 1.96) -> tuple[float, float]:
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return middle - half, middle + half


def numbers_in(words: list[str]) -> set[int]:
    """Numbers given one by one, or in a file."""
    text = " ".join(Path(word).read_text() if Path(word).is_file() else word for word in words)
    return {int(number) for number in re.findall(r"\d+", text)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("make")
    for name in ("outputs", "untouched", "sheets"):
        one.add_argument(name, type=Path)
    one.add_argument("--each", type=int, default=60)
    one.add_argument("--side", type=int, default=380)
    one.add_argument("--seed", type=int, default=0)
    two = commands.add_parser("count")
    two.add_argument("key", type=Path)
    two.add_argument("flagged", nargs="+")
    options = parser.parse_args()
    if options.command == "make":
        make(options.outputs, options.untouched, options.sheets, options.each, options.side, options.seed)
    else:
        print(json.dumps(count(json.loads(options.key.read_text()), numbers_in(options.flagged)), indent=2))


if __name__ == "__main__":
    main()
