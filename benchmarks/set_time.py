"""What a release of a whole set costs, by stage, and how that grows: anonfaces -k 5 on photos of LFW.

    python -m benchmarks.set_time [--photos 250 500 1000] [--alone 1000 2000 …] [--json FILE]

Seconds are CPU time of one process (engine serial), so that a busy machine does not count; two cores take about half
of that on the clock. Photos are the first of as many people; data as in the other benchmarks.

photos   end to end: looking (find, align, embed), grouping (people, groups, faces), replacing (put in, look again)
alone    what grows faster than the number of photos, by itself, on made-up embeddings: who is who (O(n²)), and groups
"""

import argparse
import json
import resource
import shutil
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
from benchmarks.aligned import data_folder

from faceveil import Settings, anonymize
from faceveil.grouping import group
from faceveil.methods import method
from faceveil.pipeline.subjects import same_person

THRESHOLD = 0.5  # of cosine distance: nobody of the made-up people is joined to another


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--photos", nargs="*", type=int, default=[250, 500, 1000])
    parser.add_argument("--alone", nargs="*", type=int, default=[1000, 2000, 5000, 10000])
    parser.add_argument("-k", type=int, default=5)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    results: dict[str, list[dict[str, float]]] = {"alone": [], "photos": []}
    work = [("alone", alone, count) for count in options.alone]
    work += [("photos", end_to_end, count) for count in options.photos]
    for part, measure, count in work:
        results[part].append(measure(count, options.k))
        print(part, results[part][-1], flush=True)
        if options.json:
            options.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    for rows in results.values():
        growth(rows)


def end_to_end(count: int, k: int) -> dict[str, float]:
    people = sorted((data_folder() / "lfw" / "images").iterdir())[:count]
    with tempfile.TemporaryDirectory() as folder:
        photos = Path(folder) / "photos"
        photos.mkdir()
        for person in people:
            shutil.copy(min(person.iterdir()), photos)
        settings = Settings(method=method("anonfaces", k=k), seed=0)
        spent: dict[str, float] = {}
        said, last = [""], [time.process_time()]

        def progress(stage: str) -> None:
            """Book the time since the last call; grouping is announced when it begins, so it ends with the next."""
            now, name = time.process_time(), said[0] if said[0].startswith("grouping") else stage
            spent[name] = spent.get(name, 0.0) + now - last[0]
            said[0], last[0] = stage, now

        summary = anonymize(photos, Path(folder) / "out", settings=settings, progress=progress)
    return {
        "photos": count, **{f"{stage}_cpu": round(value, 1) for stage, value in spent.items()},
        "released": summary.counts()["protected"], "groups": summary.counts()["groups"],
        "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }  # fmt: skip


def alone(count: int, k: int) -> dict[str, float]:
    rows = np.random.default_rng(0).normal(size=(count, 128)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    began = time.process_time()
    same_person(rows, np.arange(count), THRESHOLD)
    who = time.process_time()
    group(rows, k, "best", seed=0)
    return {
        "people": count,
        "who_cpu": round(who - began, 2),
        "groups_cpu": round(time.process_time() - who, 2),
    }


def growth(rows: list[dict[str, float]]) -> None:
    """The exponent of each column between one size and the next: 1 is linear."""
    for before, after in pairwise(rows):
        size = next(iter(before))
        for name in (name for name in before if name.endswith("_cpu") and before[name] > 0):
            power = np.log(after[name] / before[name]) / np.log(after[size] / before[size])
            print(f"{name}: {before[size]} to {after[size]}, exponent {power:.2f}")


if __name__ == "__main__":
    main()
