"""What a release of a whole set costs, by stage, and how that grows: anonfaces -k 5 on photos of LFW.

    python -m benchmarks.set_time [--photos 250 500 1000] [--alone 1000 2000 …] [--json FILE]

Seconds are CPU time of one process (engine serial), so that a busy machine does not count; two cores take about half
of that on the clock. Photos are the first of as many people; data as in the other benchmarks.

photos   end to end: looking (find, align, embed), grouping (people, groups, faces), replacing (put in, look again)
alone    all that looks at the whole set at once, by itself: who is who, groups (each photo a person) by a recogniser
         and looks, the checks of the decision, the journal, the record, and finding out who lost a group. Embeddings
         are MobileFaceNet's of faces of LFW and UTKFace, each set cut by one alignment; looks are drawn from those of
         SAMPLE of them
"""

import argparse
import json
import resource
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
from benchmarks.aligned import data_folder

from faceveil import Settings, anonymize
from faceveil.faces import Alignment
from faceveil.faces.align import similarity
from faceveil.faces.crops import TYPICAL_POINTS, face_set
from faceveil.grouping import Partition, group
from faceveil.methods import method
from faceveil.methods.likeness import LOOKS, beside
from faceveil.methods.sets import shared
from faceveil.models.recognizers import TEMPLATES, recognizer
from faceveil.photos import read_photo
from faceveil.pipeline.decide import Decision, check_release, decided, keep, shuffled_numbers, withdrawn
from faceveil.pipeline.journal import Journal, Outcome
from faceveil.pipeline.plan import make_plan
from faceveil.pipeline.settings import SUBJECT_RECOGNIZER
from faceveil.pipeline.subjects import FALSE_MATCHES, same_person
from faceveil.privacy.record import GroupSize, ReleaseRecord, ReplacedFace, name_key

SAMPLE = 500
LOST = 0.01  # of the photos fail when they are looked at again
# Where the five points lie in LFW's 250 px and in UTKFace's 200 px: medians of 40 photos each.
LFW = np.array([[102.4, 113.3], [146.1, 112.2], [125.4, 138.0], [106.7, 157.7], [144.4, 156.7]])
UTKFACE = np.array([[56.1, 59.2], [138.6, 59.0], [96.6, 106.2], [63.3, 137.5], [132.7, 137.4]])


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
    embeddings, looks = measured(count)
    photos, spent = np.arange(count), dict[str, float]()
    threshold = recognizer(SUBJECT_RECOGNIZER).operating.at_rate[FALSE_MATCHES]
    with timed(spent, "who"):
        people = same_person(embeddings, photos, threshold)
    by = beside(embeddings, looks, 1.0)
    group(by, k, "best", seed=1)  # the first call of a size may compile; that is no growth
    with timed(spent, "groups"):
        partition = group(by, k, "best", seed=0)
    with timed(spent, "decision"), tempfile.TemporaryDirectory() as folder:
        decision = decided_on(partition, photos, k, Path(folder))
    with timed(spent, "who_lost_a_group"):
        lost = set(np.random.default_rng(1).choice(count, round(LOST * count), replace=False).tolist())
        withdrawn(decision.groups, photos, photos, lost, k)
    with timed(spent, "journal_and_record"), tempfile.TemporaryDirectory() as folder:
        written(decision, k, Path(folder))
    return {"photos": count, "people_found": len(np.unique(people)), "groups": len(partition), **spent}


@contextmanager
def timed(spent: dict[str, float], name: str) -> Iterator[None]:
    began = time.process_time()
    yield
    spent[f"{name}_cpu"] = round(time.process_time() - began, 2)


@cache
def every_photo() -> list[tuple[Path, np.ndarray]]:
    """Photos with the places of their five points, those of LFW first."""
    lfw, utkface = (data_folder() / name for name in ("lfw", "utkface"))
    return [(file, LFW) for file in sorted(lfw.glob("images/*/*.jpg"))] + [
        (file, UTKFACE) for file in sorted(utkface.glob("*.jpg"))
    ]


def cut_out(number: int, template: np.ndarray, size: int) -> np.ndarray:
    file, points = every_photo()[number]
    return Alignment(similarity(points, template), size).crop(read_photo(file).pixels)


@cache
def embedded(number: int) -> np.ndarray:
    network = recognizer(SUBJECT_RECOGNIZER)
    return np.asarray(network.embed(cut_out(number, TEMPLATES[network.template], network.size)[None])[0])


@cache
def some_looks() -> np.ndarray:
    some = np.random.default_rng(0).choice(len(every_photo()), SAMPLE, replace=False)
    return LOOKS.encode(face_set(np.array([cut_out(number, TYPICAL_POINTS * 256, 256) for number in some])))


def measured(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Embeddings and looks of as many faces."""
    looks = some_looks()[np.random.default_rng(0).integers(SAMPLE, size=count)]
    return np.array([embedded(number) for number in range(count)]), looks


def decided_on(partition: Partition, photos: np.ndarray, k: int, folder: Path) -> Decision:
    """What follows a method's release: it is checked, numbered, kept and read again."""
    crops = np.zeros((len(partition), 256, 256, 3), np.uint8)
    released = shared(partition, crops)
    check_release(released, photos, method("miku", k=k).guarantee)
    numbers = shuffled_numbers(released.groups, np.random.default_rng(0))
    keep(Decision(photos, numbers, released.pictures), crops, folder)
    found = decided(folder)
    assert found is not None
    return found


def written(decision: Decision, k: int, folder: Path) -> None:
    """A line of the journal for each photo, and run.json's record of all."""
    shutil.copy(every_photo()[0][0], folder / "one.jpg")
    names = [f"photo-{number}.jpg" for number in range(len(decision.groups))]
    settings = Settings(method=method("miku", k=k))
    plan = make_plan([folder / "one.jpg"], folder / "out")
    with Journal.open(plan, settings, resume=False, overwrite=False) as journal:
        for name in names:
            journal.add(Outcome(name, "protected", 1))
    place = Alignment(np.eye(2, 3), 256)
    sizes = {int(number): GroupSize(k, k) for number in np.unique(decision.groups)}
    faces = {
        name_key(name): (ReplacedFace(int(number), place),)
        for name, number in zip(names, decision.groups, strict=True)
    }
    (folder / "run.json").write_text(json.dumps(ReleaseRecord("photos", k, sizes, faces).to_json(), indent=2))


def growth(rows: list[dict[str, float]]) -> None:
    """The exponent of each column between one size and the next: 1 is linear."""
    for before, after in pairwise(rows):
        size = next(iter(before))
        for name in (name for name in before if name.endswith("_cpu") and before[name] > 0):
            power = np.log(after[name] / before[name]) / np.log(after[size] / before[size])
            print(f"{name}: {before[size]} to {after[size]}, exponent {power:.2f}")


if __name__ == "__main__":
    main()
