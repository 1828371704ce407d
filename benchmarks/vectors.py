"""Embeddings of real photos for `grouping.py --vectors`: python -m benchmarks.vectors real.npy [--most 10000]

The face in the middle of each UTKFace and LFW photo (in the folder FACEVEIL_DATA), in the order of their names, as
the dlib recogniser sees it; photos in which YuNet finds none are passed over. The rows are shuffled.
"""

import argparse
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import cv2
import numpy as np
from benchmarks.aligned import data_folder
from benchmarks.recognizers import align, five_points

from faceveil.models.recognizers import Recognizer, recognizer


def crops(judge: Recognizer) -> Iterator[np.ndarray]:
    """The aligned faces, one after the other."""
    for folder in ("utkface", "lfw"):
        for path in sorted((data_folder() / folder).rglob("*.jpg"), key=str):
            image = cv2.cvtColor(cv2.imread(str(path)), cv2.COLOR_BGR2RGB)
            try:
                yield align(image, five_points(image), judge)
            except LookupError:
                continue


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("output", type=Path)
    parser.add_argument("--most", type=int, default=10_000, help="faces to embed")
    arguments = parser.parse_args()
    judge = recognizer("dlib-resnet.v1")
    found = islice(crops(judge), arguments.most)
    rows = []
    while some := list(islice(found, 200)):
        rows.append(judge.embed(np.stack(some)))
    X = np.concatenate(rows)
    np.save(arguments.output, X[np.random.default_rng(0).permutation(len(X))])


if __name__ == "__main__":
    main()
