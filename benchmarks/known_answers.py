"""Is the evaluation itself to be trusted? Answers that are known beforehand, on LFW.

    python benchmarks/known_answers.py [--folds N] [--people N] [--cache FILE]

1. The pairs protocol on unprocessed photos: each recogniser's accuracy against what it is known for.
2. One leaked original among covered ones: is it found and named?
3. Everyone gets a stranger's photo: is the area under the curve one half?
LFW (images/ and pairs.txt) is looked for in FACEVEIL_DATA/lfw or ../shared/data/lfw.
"""

import argparse
import os
import shutil
import tempfile
import time
from pathlib import Path

import cv2
import numpy as np

from faceveil.evaluation import Options, certify, evaluate
from faceveil.evaluation.acquire import look_at_all
from faceveil.evaluation.attackers import attackers
from faceveil.evaluation.cache import Cache
from faceveil.evaluation.people import Pairs, PhotoPair
from faceveil.evaluation.protocol import pairs_accuracy, read_pairs

KNOWN = {"mobilenet.facelib": 0.985, "dlib-resnet.v1": 0.9938, "mobilefacenet.facesdk": 0.99}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--folds", type=int, default=2)
    parser.add_argument("--people", type=int, default=500)
    parser.add_argument("--cache", type=Path)
    options = parser.parse_args()
    root = Path(os.environ.get("FACEVEIL_DATA", Path(__file__).parents[2] / "shared" / "data")) / "lfw"
    if not (root / "pairs.txt").exists():
        raise SystemExit(f"LFW is not in {root}; set FACEVEIL_DATA to the folder that holds lfw/.")
    protocol(root, options.folds, options.cache)
    leak(root, options.people, options.cache)
    strangers(root, options.people, options.cache)


def protocol(root: Path, folds: int, cache: Path | None) -> None:
    pairs = [pair for pair in read_pairs(root / "pairs.txt") if pair.fold < folds]
    names = sorted({name for pair in pairs for name in (pair.first, pair.second)})
    files = [root / "images" / name.rpartition("_")[0] / f"{name}.jpg" for name in names]
    people = Pairs([PhotoPair(n, f, None, f.parent.name) for n, f in zip(names, files, strict=True)], [])
    looks = look_at_all(people, attackers(), Cache(cache), restored=False).main
    row_of = {name: row for row, name in enumerate(names)}
    for one in attackers():
        table = looks.templates("original", one).embeddings

        def distance(a, b, one=one, table=table):
            found = one.recognizer.distance(table[a], table[b]).astype(float)
            return np.where(np.isnan(found), np.inf, found)

        found = pairs_accuracy(pairs, distance, row_of)
        print(
            f"protocol: {one.id} {100 * found.value:.2f} % ± {100 * found.error:.2f} on {found.pairs} pairs of "
            f"{found.folds} folds, {found.failed} failed; known for {100 * KNOWN[one.id]:.1f} %",
            flush=True,
        )


def first_photos(root: Path, people: int) -> list[Path]:
    folders = sorted(folder for folder in (root / "images").iterdir() if folder.is_dir())
    return [sorted(folder.glob("*.jpg"))[0] for folder in folders[:people]]


def leak(root: Path, people: int, cache: Path | None) -> None:
    files = first_photos(root, people)
    leaked = files[people // 3]
    with tempfile.TemporaryDirectory() as folder:
        before, after = Path(folder) / "before", Path(folder) / "after"
        before.mkdir()
        after.mkdir()
        for file in files:
            shutil.copy(file, before)
            image = cv2.imread(str(file))
            if file != leaked:
                image[50:220, 50:200] = 0
                cv2.imwrite(str(after / f"{file.stem}.png"), image)
            else:
                shutil.copy(file, after)
        start = time.perf_counter()
        found = evaluate(
            before, after, Options(subjects="each", cache=cache, utility=False, restoration=False)
        )
        named = [one.photo for one in found.exposed if one.face == 1]
        beside = [one.where for one in found.exposed if one.face > 1]
        print(f"leak: {leaked.name} among {len(files)}; named: {named}; {certify(found, 0.05).sentence}")
        print(f"leak: left bare beside the covered face: {len(beside)}, such as {beside[:3]}")
        print(f"leak: FTA {found.attacks[0].fta}, {time.perf_counter() - start:.0f} s", flush=True)


def strangers(root: Path, people: int, cache: Path | None) -> None:
    files = first_photos(root, people)
    with tempfile.TemporaryDirectory() as folder:
        before, after = Path(folder) / "before", Path(folder) / "after"
        before.mkdir()
        after.mkdir()
        half = len(files) // 2
        for own, other in zip(files[:half], files[half:], strict=False):
            shutil.copy(own, before)
            shutil.copy(other, after / own.name)
        found = evaluate(
            before, after, Options(subjects="each", cache=cache, utility=False, restoration=False)
        )
        for one in found.attacks:
            area = f"{one.auc.value:.3f} ({one.auc.low:.3f}–{one.auc.high:.3f})"
            print(f"strangers: {one.attack} {one.recognizer} AUC {area}, found {one.found}", flush=True)


if __name__ == "__main__":
    main()
