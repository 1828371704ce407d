"""AnonFACES measured as in its paper: information loss, Rank-1, re-identification and the risk loop, on LFW.

    python -m benchmarks.anonfaces [--part loss|rank1|loop …] [--k 2 4 8] [--runs 3] [--judge ID] [--json FILE]

LFW (images/) is looked for in FACEVEIL_DATA/lfw or ../shared/data/lfw.

loss    information loss (definition 3.2) of group means by embedding × grouper × k, in the judge's embedding, and
        how many groups are of one gender (as a classifier sees it)
rank1   Table 1: 50 people per run, their faces replaced, the gallery one other photo of each of them and one photo of
        everyone else; the judge took part neither in grouping nor in the loop. Re-identified: the nearest
        photo of the gallery is the person's own. Matched: that photo is under the judge's threshold
loop    the same people with and without the risk loop: groups with u = 0, and the loop's price in information loss
"""

import argparse
import json
import os
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from faceveil.evaluation.intervals import share_by_person
from faceveil.faces import FaceSet, align_ffhq, find_faces
from faceveil.faces.crops import face_set
from faceveil.grouping import group
from faceveil.methods import method
from faceveil.models.recognizers import RECOGNIZERS
from faceveil.photos import read_photo
from faceveil.spaces import space
from faceveil.spaces.embedding import EmbeddingSpace

PEOPLE = 50
GROUPERS = ("best", "hierarchical", "ksame", "same-size-kmeans", "mondrian", "random")
METHODS = ("k-same-pixel", "k-same-m", "miku", "anonfaces")
MIDDLE = np.array([125.0, 125.0])


@dataclass(frozen=True)
class Lfw:
    """`first`: a photo of everybody who has two; `second`: the other one; `others`: a photo of everybody else."""

    first: FaceSet
    second: FaceSet
    others: FaceSet


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--part", nargs="*", default=["loss", "rank1", "loop"])
    parser.add_argument("--k", nargs="*", type=int, default=[2, 4, 8])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--methods", nargs="*", default=METHODS)
    parser.add_argument("--judge", default="mobilefacenet.facesdk", choices=RECOGNIZERS)
    parser.add_argument("--most", type=int, default=400, help="people with two photos, and as many others")
    parser.add_argument("--cache", type=Path, help="keep the aligned faces in this folder")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    lfw = load(options.most, options.cache)
    print(f"{len(lfw.first)} people with two photos, {len(lfw.others)} others", flush=True)
    parts = {"loss": loss, "rank1": rank1, "loop": loop}
    results: dict[str, object] = {}
    for name in options.part:
        results[name] = parts[name](lfw, options)
        if options.json:
            options.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


def load(most: int, cache: Path | None) -> Lfw:
    data = Path(os.environ.get("FACEVEIL_DATA", Path(__file__).parents[2] / "shared" / "data"))
    folders = sorted((data / "lfw" / "images").iterdir())
    photos = [sorted(folder.iterdir()) for folder in folders]
    np.random.default_rng(0).shuffle(photos)
    twice = [files for files in photos if len(files) > 1][:most]
    once = [files for files in photos if len(files) == 1][:most]
    first, second = (faces_of([files[i] for files in twice], cache, f"view{i}-{most}") for i in (0, 1))
    both = np.intersect1d(first.subjects, second.subjects)
    others = faces_of([files[0] for files in once], cache, f"others-{most}")
    return Lfw(
        first.take(np.flatnonzero(np.isin(first.subjects, both))),
        second.take(np.flatnonzero(np.isin(second.subjects, both))),
        FaceSet(others.crops, others.points, others.meshes, others.subjects + most),
    )


def faces_of(files: list[Path], cache: Path | None, name: str) -> FaceSet:
    """The face nearest to the middle of each photo; photos without one are left out."""
    path = cache / f"{name}.npz" if cache else None
    if path is None or not path.exists():
        found = {row: crop for row, file in enumerate(files) if (crop := aligned(file)) is not None}
        faces = face_set(np.array(list(found.values())), np.array(list(found)))
        if path is None:
            return faces
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez(path, crops=faces.crops, points=faces.points, meshes=faces.meshes, subjects=faces.subjects)
    with np.load(path) as stored:
        return FaceSet(stored["crops"], stored["points"], stored["meshes"], stored["subjects"])


def aligned(file: Path) -> np.ndarray | None:
    image = read_photo(file).pixels
    faces = find_faces(image)
    if not faces:
        return None
    main_face = min(faces, key=lambda face: np.hypot(*(face.centre - MIDDLE)) - max(face.size_wh))
    return align_ffhq(main_face, 256).crop(image)


def loss(lfw: Lfw, options: argparse.Namespace) -> list[dict[str, object]]:
    faces = lfw.first
    judge = EmbeddingSpace(options.judge).encode(faces)
    female = space("attribute", names=["gender"]).encode(faces)[:, 0] > 0.5
    spaces = {name: EmbeddingSpace(name) for name in RECOGNIZERS}
    spaces |= {"eigen": space("eigen"), "latent": space("latent"), "attribute": space("attribute")}
    rows = []
    for name, where in spaces.items():
        vectors = where.fit(faces).encode(faces)
        for grouper in GROUPERS:
            for k in options.k:
                partition = group(vectors, k, grouper, seed=0)
                alike = np.mean([len(np.unique(female[members])) == 1 for members in partition.groups])
                rows.append(
                    {
                        "space": name, "grouper": grouper, "k": k,
                        "loss_in_judge": partition.information_loss(judge), "one_gender": float(alike),
                    }
                )  # fmt: skip
                print(rows[-1], flush=True)
    return rows


def settings(name: str, k: int, judge: str) -> dict[str, object]:
    """Options that keep the judge out."""
    if name != "anonfaces":
        return {"k": k}
    watch = tuple(one for one in RECOGNIZERS if one != judge)
    by = "dlib-resnet.v1" if judge != "dlib-resnet.v1" else "mobilenet.facelib"
    return {"k": k, "recognizer": by, "recognizers": watch}


def rank1(lfw: Lfw, options: argparse.Namespace) -> list[dict[str, object]]:
    judge = EmbeddingSpace(options.judge)
    gallery = np.concatenate([judge.encode(lfw.second), judge.encode(lfw.others)])
    names = np.concatenate([lfw.second.subjects, lfw.others.subjects])
    rows = [attacked("original", 1, lfw, options, judge, gallery, names)]
    for name in options.methods:
        rows += [attacked(name, k, lfw, options, judge, gallery, names) for k in options.k]
    return rows


def attacked(
    name: str, k: int, lfw: Lfw, options: argparse.Namespace, judge: EmbeddingSpace, gallery: np.ndarray,
    names: np.ndarray,
) -> dict[str, object]:  # fmt: skip
    """All runs of one method and one k."""
    person, nearest, matched, per_run, safe = [], [], [], [], []
    began = time.perf_counter()
    for run in range(options.runs):
        chosen = np.random.default_rng(100 + run).choice(len(lfw.first), PEOPLE, replace=False)
        faces = lfw.first.take(np.sort(chosen))
        if name == "original":
            probes = faces
        else:
            release = method(name, **settings(name, k, options.judge)).release(
                faces, np.random.default_rng(run)
            )
            kept = np.flatnonzero(release.groups >= 0)
            safe.append(len(kept) / len(faces))
            faces = faces.take(kept)
            probes = face_set(release.crops[release.pictures[kept]], faces.subjects)
        seen = judge.encode(probes)
        far = judge.network.distance(seen[:, None], gallery[None])
        hit = names[far.argmin(axis=1)] == faces.subjects
        own = np.array([row[names == who].min() for row, who in zip(far, faces.subjects, strict=True)])
        person += faces.subjects.tolist()
        nearest += hit.tolist()
        matched += (own < judge.network.threshold).tolist()
        per_run.append(float(hit.mean()))
    everyone = np.unique(person, return_inverse=True)[1]
    kept_all = np.ones(len(person), bool)
    row = {
        "method": name, "k": k, "judge": options.judge, "people": len(person), "gallery": len(gallery),
        "rank1": str(share_by_person(np.array(nearest), everyone, kept_all)),
        "rank1_runs": per_run, "rank1_sd": float(np.std(per_run)),
        "matched": str(share_by_person(np.array(matched), everyone, kept_all)),
        "released": float(np.mean(safe)) if safe else 1.0,
        "seconds_per_run": (time.perf_counter() - began) / options.runs,
    }  # fmt: skip
    print(row, flush=True)
    return row


def loop(lfw: Lfw, options: argparse.Namespace) -> list[dict[str, object]]:
    rows = []
    faces = lfw.first.take(np.arange(min(100, len(lfw.first))))
    for k in options.k:
        for watch in (True, False):
            chosen = settings("anonfaces", k, options.judge)
            if not watch:
                chosen["recognizers"] = ()
            release = method("anonfaces", **chosen).release(faces, np.random.default_rng(0))
            kept = np.flatnonzero(release.groups >= 0)
            judge = EmbeddingSpace(options.judge)
            seen = judge.encode(face_set(release.crops))[release.pictures[kept]]
            far = judge.network.distance(judge.encode(faces.take(kept)), seen)
            rows.append(
                {
                    "k": k, "loop": watch, **release.figures, "released": len(kept) / len(faces),
                    "judge_matches": float((far < judge.network.threshold).mean()), "one_in_k": 1 / k,
                }
            )  # fmt: skip
            print(rows[-1], flush=True)
    return rows


if __name__ == "__main__":
    main()
