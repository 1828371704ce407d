"""Measure the recognisers on LFW: accuracy of the pairs protocol, thresholds and their false-match rates.

    python benchmarks/recognizers.py [--only ID …] [--folds N] [--json FILE]

LFW (images/ and pairs.txt) is looked for in FACEVEIL_DATA/lfw or ../shared/data/lfw. Faces are found with
YuNet (the one nearest to the middle) and aligned by a similarity transform of its five points to the
recogniser's template. Accuracy: each fold is judged with the best threshold of the other folds. The threshold
that is recorded is the mean of those, or the papers' 0.6 for dlib. False-match rates: over all pairs of
photos of two people (7 million).
"""

import argparse
import json
import os
import time
from pathlib import Path

import cv2
import numpy as np

from faceveil.models import weights
from faceveil.models.recognizers import RECOGNIZERS, TEMPLATES, Recognizer, recognizer

RATES = (1e-2, 1e-3, 1e-4)
FIXED = {"dlib-resnet.v1": 0.6}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", nargs="*", default=list(RECOGNIZERS))
    parser.add_argument(
        "--folds", type=int, default=5, help="only the photos of the first N folds (at least 2)"
    )
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    root = Path(os.environ.get("FACEVEIL_DATA", Path(__file__).parents[2] / "shared" / "data")) / "lfw"
    if not (root / "pairs.txt").exists():
        raise SystemExit(f"LFW is not in {root}; set FACEVEIL_DATA to the folder that holds lfw/.")
    files = photos_of(root, options.folds)
    images = [cv2.cvtColor(cv2.imread(str(file)), cv2.COLOR_BGR2RGB) for file in files]
    points = [five_points(image) for image in images]
    pairs = read_pairs(root, {file.stem: row for row, file in enumerate(files)})
    people = np.unique([file.parent.name for file in files], return_inverse=True)[1]
    results = {}
    for name in options.only:
        results[name] = measure(recognizer(name), images, points, pairs, people)
        print(name, json.dumps(results[name]), flush=True)
    if options.json:
        options.json.write_text(json.dumps(results, indent=2) + "\n")


def measure(judge: Recognizer, images, points, pairs, people) -> dict[str, object]:
    crops = np.stack([align(image, five, judge) for image, five in zip(images, points, strict=True)])
    judge.embed(crops[:2])
    start = time.perf_counter()
    embeddings = judge.embed(crops)
    milliseconds = 1000 * (time.perf_counter() - start) / len(crops)
    first, second, same, fold = pairs
    distances = judge.distance(embeddings[first], embeddings[second])
    accuracy, threshold = cross_validated(distances, same, fold)
    threshold = FIXED.get(judge.id, threshold)
    impostors = np.sort(impostor_distances(judge, embeddings, people))
    return {
        "accuracy": round(accuracy, 4),
        "accuracy_at_threshold": round(float(np.mean((distances < threshold) == same)), 4),
        "threshold": round(threshold, 3),
        "false_match_rate": round(float(np.searchsorted(impostors, threshold) / impostors.size), 5),
        "false_non_match_rate": round(float(np.mean(distances[same] >= threshold)), 4),
        "at_rate": {str(rate): round(float(impostors[int(rate * impostors.size)]), 3) for rate in RATES},
        "strangers": round(mean_square(embeddings, people), 2),
        "impostor_pairs": impostors.size,
        "milliseconds_per_crop": round(milliseconds, 1),
    }


def mean_square(embeddings: np.ndarray, people: np.ndarray) -> float:
    """Of the lengths between vectors of two people: each person's first photo."""
    first = embeddings[np.unique(people, return_index=True)[1]].astype(np.float64)
    return float(2 * len(first) / (len(first) - 1) * first.var(axis=0).sum())


def five_points(image: np.ndarray) -> np.ndarray:
    """YuNet's points of the face nearest to the middle; LookupError where it finds none."""
    height, width = image.shape[:2]
    detector = cv2.FaceDetectorYN.create(str(weights("yunet.2023mar")), "", (width, height), 0.5)
    _, found = detector.detect(cv2.cvtColor(image, cv2.COLOR_RGB2BGR))
    if found is None:
        raise LookupError("no face was found")
    centres = found[:, :2] + found[:, 2:4] / 2
    nearest = np.argmin(np.linalg.norm(centres - [width / 2, height / 2], axis=1))
    return found[nearest, 4:14].reshape(5, 2).astype(np.float64)


def align(image: np.ndarray, points: np.ndarray, judge: Recognizer) -> np.ndarray:
    matrix = similarity(points, TEMPLATES[judge.template])
    return cv2.warpAffine(image, matrix, (judge.size, judge.size), flags=cv2.INTER_LINEAR)


def similarity(source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """The least-squares rotation, scale and shift from points to points (Umeyama 1991), as a 2×3 matrix."""
    a, b = source - source.mean(0), target - target.mean(0)
    u, values, vt = np.linalg.svd(b.T @ a)
    mirror = np.array([1, np.sign(np.linalg.det(u @ vt))])
    turn = u @ np.diag(mirror) @ vt * (values @ mirror) / np.sum(a**2)
    return np.column_stack([turn, target.mean(0) - turn @ source.mean(0)])


def protocol(root: Path) -> list[tuple[str, str, bool, int]]:
    """LFW's pairs: two photos, whether they show one person, and the fold; per fold as many of both kinds."""
    rows = [line.split("\t") for line in (root / "pairs.txt").read_text().splitlines()]
    per_fold = 2 * int(rows[0][1])
    pairs = []
    for number, words in enumerate(rows[1:]):
        other = words[2] if len(words) == 4 else words[0]
        first, second = f"{words[0]}_{int(words[1]):04d}", f"{other}_{int(words[-1]):04d}"
        pairs.append((first, second, len(words) == 3, number // per_fold))
    return pairs


def photos_of(root: Path, folds: int) -> list[Path]:
    wanted = {name for *names, _, fold in protocol(root) if fold < folds for name in names}
    return [file for file in sorted((root / "images").rglob("*.jpg")) if file.stem in wanted]


def read_pairs(root: Path, row_of: dict[str, int]) -> tuple[np.ndarray, ...]:
    """The pairs of which both photos are there, as columns: first row, second row, same person, fold."""
    table = [
        (row_of[first], row_of[second], same, fold)
        for first, second, same, fold in protocol(root)
        if first in row_of and second in row_of
    ]
    first, second, same, fold = (np.array(column) for column in zip(*table, strict=True))
    return first, second, same, fold


def cross_validated(distances: np.ndarray, same: np.ndarray, fold: np.ndarray) -> tuple[float, float]:
    thresholds, rights = [], []
    for held in np.unique(fold):
        threshold = best_threshold(distances[fold != held], same[fold != held])
        thresholds.append(threshold)
        rights.append(np.mean((distances[fold == held] < threshold) == same[fold == held]))
    return float(np.mean(rights)), float(np.mean(thresholds))


def best_threshold(distances: np.ndarray, same: np.ndarray) -> float:
    """The threshold with the most right answers, by one pass over the sorted distances."""
    order = np.argsort(distances)
    gained = np.cumsum(np.where(same[order], 1, -1))
    best = int(np.argmax(gained))
    return float(distances[order][best : best + 2].mean())


def impostor_distances(judge: Recognizer, embeddings: np.ndarray, people: np.ndarray) -> np.ndarray:
    parts = []
    for row in range(len(embeddings) - 1):
        others = embeddings[row + 1 :][people[row + 1 :] != people[row]]
        parts.append(judge.distance(embeddings[row], others))
    return np.concatenate(parts)


if __name__ == "__main__":
    main()
