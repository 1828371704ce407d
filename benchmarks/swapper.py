"""StyleID's swaps in latent space against each other: how much identity goes, how much of the rest stays?

    python benchmarks/swapper.py [--pairs 40] [--photos 20] [--sheet FILE.png]

Generated: sources whose codes are exact, each with one suitable target that the swapper was not trained with; every
swap gets the same pairs. Photos: people of LFW kept apart from all training here, codes from the encoder, one target
each, laid into the photo, without the check, so that every swap is seen as it is. Judges are recognisers A and B: C
(MobileFaceNet) is in the encoder and in the swapper's loss. Distances of A are cosine, of B Euclidean.
"""

import argparse
import os
from collections.abc import Callable, Mapping
from pathlib import Path

import cv2
import numpy as np
from training.swapper_examples import source_code, suitable
from training.taught import unseen

from faceveil.faces import Face, find_faces
from faceveil.faces.attributes import attribute_vector
from faceveil.faces.face import Image
from faceveil.methods.styleid.channels import best, read_table
from faceveil.methods.styleid.check import embeddings
from faceveil.methods.styleid.looks import face_in_crop
from faceveil.methods.styleid.measure import measure
from faceveil.methods.styleid.method import STYLEID
from faceveil.methods.styleid.move import choose
from faceveil.methods.styleid.render import PREVIEW, generator, in_photo
from faceveil.methods.styleid.swapper import mixed
from faceveil.methods.styleid.targets import pool
from faceveil.models.mobilestylegan import Floats
from faceveil.models.recognizers import recognizer
from faceveil.photos import read_photo

JUDGES = {"A": "mobilenet.facelib", "B": "dlib-resnet.v1"}
SEED = 2026
BORDER = 0.1  # of the picture's side: surroundings
Swap = Callable[[Floats, Floats], Floats]
Reading = tuple[Mapping[str, Floats], Floats]


def layers(first: int, last: int) -> Swap:
    def swap(source: Floats, target: Floats) -> Floats:
        new = source.copy()
        new[first : last + 1] = target[first : last + 1]
        return new

    return swap


def channels(count: int) -> Swap:
    def swap(source: Floats, target: Floats) -> Floats:
        new = source.copy()
        for slots, columns in best(read_table(), count):
            new[slots, columns] = target[slots, columns]
        return new

    return swap


SWAPS: dict[str, Swap] = {
    "slots 9-10": layers(9, 10),
    "slots 7-12": layers(7, 12),
    "slots 4-12": layers(4, 12),
    "1,024 channels": channels(1024),
    "2,048 channels": channels(2048),
    "3,584 channels": channels(3584),
    "swapper": mixed,
    "the whole target": lambda source, target: target,
}


def read(image: Image, face: Face) -> Reading:
    return embeddings(image, face, list(JUDGES.values())), attribute_vector(image, face)


def compared(one: Reading, other: Reading) -> list[float]:
    """Distances by A and B, and of attributes."""
    far = [float(recognizer(name).distance(one[0][name], other[0][name])) for name in JUDGES.values()]
    return [*far, float(np.linalg.norm(one[1] - other[1]))]


def on_generated(pairs: int) -> None:
    rows: dict[str, list[list[float]]] = {name: [] for name in SWAPS}
    for number in range(pairs):
        rng = np.random.default_rng([SEED, number])
        code = source_code(rng)
        picture = np.asarray(generator().render(code[None], PREVIEW)[0])
        source = measure(picture, face_in_crop(picture), ())
        if source is None:
            continue
        target = pool().codes[suitable(source.person, rng, held_out=True)]
        before = read(picture, face_in_crop(picture))
        for name, swap in SWAPS.items():
            after = np.asarray(generator().render(swap(code, target)[None], PREVIEW)[0])
            around = surroundings(picture, after)
            rows[name].append([*compared(before, read(after, face_in_crop(after))), around])
    print(f"{len(rows['swapper'])} generated pairs")
    print_rows(rows, ("A", "B", "attributes", "surroundings"))


def surroundings(one: Image, other: Image) -> float:
    """Mean difference of the outer pixels, in grey values."""
    rim = round(BORDER * one.shape[0])
    gap = np.abs(one.astype(np.float64) - other).mean(axis=2)
    gap[rim:-rim, rim:-rim] = np.nan
    return float(np.nanmean(gap))


def on_photos(root: Path, count: int, sheet: Path | None) -> None:
    names = ("styleid-layers", "styleid-channels", "styleid-swapper")
    rows: dict[str, list[list[float]]] = {name: [] for name in names}
    pictures = []
    for number, path in enumerate(people(root, count)):
        photo = read_photo(path).pixels
        face = max(find_faces(photo, mesh=True), key=lambda one: float(np.prod(one.size_wh)))
        source = measure(photo, face, ())  # the judges take no part in choosing
        if source is None:
            continue
        target = choose(source, np.random.default_rng([SEED, number]), 1)[0]
        before, shown = read(source.image, source.face), [source.crop]
        for name in names:
            after = in_photo(source, STYLEID[name].code(source, target, 0))
            rows[name].append(compared(before, read(after, source.face)))
            shown.append(source.alignment.crop(after))
        pictures.append(np.vstack([cv2.resize(crop, (160, 160)) for crop in shown]))
    print(f"{len(rows['styleid-swapper'])} photos of LFW")
    print_rows(rows, ("A", "B", "attributes"))
    for name in names:
        beyond = [
            np.mean([row[column] > recognizer(judge).threshold for row in rows[name]])
            for column, judge in enumerate(JUDGES.values())
        ]
        print(f"{name}: beyond the threshold of A {beyond[0]:.0%}, of B {beyond[1]:.0%}")
    if sheet:
        cv2.imwrite(str(sheet), cv2.cvtColor(np.hstack(pictures), cv2.COLOR_RGB2BGR))


def people(root: Path, count: int) -> list[Path]:
    """One photo of each of the first people whom no network here was taught with."""
    folders = sorted(path for path in (root / "images").iterdir() if path.is_dir())
    return unseen((sorted(folder.glob("*.jpg"))[0] for folder in folders), root.parent)[:count]


def print_rows(rows: dict[str, list[list[float]]], columns: tuple[str, ...]) -> None:
    print(f"| swap | {' | '.join(columns)} |")
    print("| --- " * (len(columns) + 1) + "|")
    for name, values in rows.items():
        mean = np.mean(values, axis=0)
        print(f"| {name} | {' | '.join(f'{value:.2f}' for value in mean)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=40)
    parser.add_argument("--photos", type=int, default=20)
    parser.add_argument("--sheet", type=Path)
    options = parser.parse_args()
    if options.pairs:
        on_generated(options.pairs)
    root = Path(os.environ.get("FACEVEIL_DATA", Path(__file__).parents[2] / "shared" / "data")) / "lfw"
    if not (root / "images").exists():
        raise SystemExit(f"LFW is not in {root}; set FACEVEIL_DATA to the folder that holds lfw/.")
    on_photos(root, options.photos, options.sheet)


if __name__ == "__main__":
    main()
