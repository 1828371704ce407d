"""StyleID over a whole set: are new people apart, and do photos of one person show one new person?

    python benchmarks/company.py [--people 10] [--levels medium,medium-consistent,high] [--sheet FILE.png]

Two photos of each of some people of LFW, kept apart from all training here, are anonymised as one set with
recognisers A and C in the check; B, which takes no part, judges the files that were written. `together`: the share of
people whose two new faces B takes for one person; `strangers`: the share of new faces of two people that it does.
"""

import argparse
import os
import shutil
import tempfile
import time
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import cv2
import numpy as np
from training.taught import unseen

from faceveil import Settings, anonymize
from faceveil.faces import find_faces
from faceveil.faces.attributes import attributes
from faceveil.methods import method
from faceveil.methods.styleid.check import embeddings
from faceveil.models.recognizers import recognizer
from faceveil.photos import read_photo

CHECKED, JUDGE = ("mobilenet.facelib", "mobilefacenet.facesdk"), "dlib-resnet.v1"
PHOTOS = 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--people", type=int, default=10)
    parser.add_argument("--levels", default="medium,medium-consistent,high")
    parser.add_argument("--sheet", type=Path)
    options = parser.parse_args()
    root = Path(os.environ.get("FACEVEIL_DATA", Path(__file__).parents[2] / "shared" / "data")) / "lfw"
    if not (root / "images").exists():
        raise SystemExit(f"LFW is not in {root}; set FACEVEIL_DATA to the folder that holds lfw/.")
    with tempfile.TemporaryDirectory() as folder:
        originals = Path(folder) / "originals"
        copy_people(root, originals, options.people)
        before = read(originals)
        rows = [picture_row(originals, originals)]
        for level in options.levels.split(","):
            out = Path(folder) / level
            privacy, _, consistent = level.partition("-")
            chosen = method("styleid", privacy=privacy, consistent=bool(consistent))
            settings = Settings(method=replace(chosen, recognizers=CHECKED), seed=1, subjects="folder")
            started = time.process_time()
            anonymize(originals, out, settings=settings)
            report(level, before, read(out), time.process_time() - started)
            rows.append(picture_row(originals, out))
    if options.sheet:
        cv2.imwrite(str(options.sheet), cv2.cvtColor(np.vstack(rows), cv2.COLOR_RGB2BGR))


def copy_people(root: Path, folder: Path, count: int) -> None:
    """The first people with several photos."""
    found = 0
    for person in sorted((root / "images").iterdir()):
        photos = unseen(sorted(person.glob("*.jpg"))[:PHOTOS], root.parent)
        if len(photos) < PHOTOS or found == count:
            continue
        found += 1
        (folder / f"{found:02d}").mkdir(parents=True)
        for number, photo in enumerate(photos):
            shutil.copy(photo, folder / f"{found:02d}" / f"{number}.jpg")


def read(folder: Path) -> dict[tuple[str, str], tuple[np.ndarray, float, float]]:
    """Of each photo with a face in its middle: the judge's embedding, age, gender."""
    found = {}
    for path in sorted(folder.rglob("*.jpg")):
        image = read_photo(path).pixels
        faces = find_faces(image, mesh=True)
        middle = np.array(image.shape[1::-1]) / 2
        near = [face for face in faces if np.hypot(*(face.centre - middle)) < 0.2 * image.shape[0]]
        if near:
            face = max(near, key=lambda one: float(np.prod(one.size_wh)))
            seen = attributes(image, face)
            who = embeddings(image, face, [JUDGE])[JUDGE]
            found[path.parent.name, path.name] = (who, seen.age, seen.female)
    return found


def report(level: str, before: dict, after: dict, seconds: float) -> None:
    judge = recognizer(JUDGE)
    to_source = [float(judge.distance(after[key][0], before[key][0])) for key in after if key in before]
    same, other = [], []
    for (one, a), (two, b) in combinations(after.items(), 2):
        (same if one[0] == two[0] else other).append(float(judge.distance(a[0], b[0])))
    others = [
        float(judge.distance(new[0], old[0]))
        for key, new in after.items()
        for name, old in before.items()
        if name[0] != key[0]
    ]
    years = [abs(after[key][1] - before[key][1]) for key in after if key in before]
    gender = [(after[key][2] > 0.5) == (before[key][2] > 0.5) for key in after if key in before]
    print(
        f"{level}: {len(after)} of {len(before)} faces replaced; to the source {np.mean(to_source):.2f}; "
        f"together {share(same)}, strangers {share(other)}, taken for another original {share(others)}; "
        f"gender kept {np.mean(gender):.0%}, age {np.mean(years):.1f} years off; "
        f"{seconds / len(before):.2f} s of the processor per photo",
        flush=True,
    )


def share(distances: list[float]) -> str:
    """How many the judge takes for one person."""
    near = [distance < recognizer(JUDGE).threshold for distance in distances]
    return f"{np.mean(near):.0%} of {len(near)}" if near else "–"


def picture_row(originals: Path, folder: Path) -> np.ndarray:
    """The middle of every photo; black where it was not released."""
    row = []
    for path in sorted(originals.rglob("*.jpg")):
        there = folder / path.relative_to(originals)
        photo = read_photo(there).pixels if there.exists() else np.zeros((250, 250, 3), np.uint8)
        row.append(cv2.resize(photo[50:200, 50:200], (120, 120)))
    return np.hstack(row)


if __name__ == "__main__":
    main()
