"""AnonFACES measured as in its paper: information loss, Rank-1, re-identification and the risk loop.

    python -m benchmarks.anonfaces [--part loss|synthesis|rank1|loop|chance …] [--set lfw|ffhq] [--k 2 4 8] [--json F]

Data is looked for in FACEVEIL_DATA or ../shared/data. The judge (--judge) takes part neither in grouping nor in
the loop; dlib by default, since the encoder reads MobileFaceNet.

loss       information loss (definition 3.2) of group means by embedding × grouper × k, in the judge's embedding, and
           how many groups are of one gender and how far ages are from their group's mean (as classifiers see them);
           on LFW or FFHQ
synthesis  the same for the face that is drawn, by synthesis space, groups alike (MobileNet's, `best`); and the
           Fréchet distance of MobileNetV2's features to the originals, for naturalness
rank1      Table 1, on LFW: 50 people per run, their faces replaced, the gallery one other photo of each and one
           photo of everyone else. Re-identified: the nearest photo of the gallery is the person's own. Matched: that
           photo is under the judge's threshold
loop       the same people with and without the risk loop: groups with u = 0, the loop's price in information loss,
           and who gets a face of their own gender and age, as classifiers see them
chance     how often the strangers themselves, who share only gender, age and origin with a group, are taken for its
           people: all from whom they are drawn, for HELD_OUT people of LFW of whom no other part makes use; and
           how many of them wear glasses or a beard and are of the origin that most of the group have
"""

import argparse
import json
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from benchmarks.aligned import data_folder, faces_of
from training.taught import is_unseen, told

from faceveil.evaluation.fidelity import frechet
from faceveil.evaluation.intervals import share_by_person
from faceveil.faces import FaceSet
from faceveil.faces.attributes import OLDEST
from faceveil.faces.crops import face_set
from faceveil.grouping import group
from faceveil.methods import method
from faceveil.methods.anonfaces import AnonFaces
from faceveil.methods.likeness import LOOKS, WORN, beside
from faceveil.methods.sets import draw_means
from faceveil.methods.strangers import likest, margins_of_pool
from faceveil.methods.styleid.targets import LABELS, ORIGINS, pool
from faceveil.models.mobilenetv2 import features
from faceveil.models.recognizers import RECOGNIZERS, WATCHING
from faceveil.spaces import space
from faceveil.spaces.embedding import EmbeddingSpace

PEOPLE = 50
HELD_OUT = 300
SETTLED = slice(250, 550)  # places of the people on whom the weights of likeness and of strangers were chosen
GROUPERS = ("best", "hierarchical", "ksame", "same-size-kmeans", "mondrian", "random")
METHODS = ("k-same-pixel", "k-same-m", "miku", "anonfaces")
A, B = "mobilenet.facelib", "dlib-resnet.v1"
DRAWN_IN = ("pixel", "eigen", "mesh", "latent")


@dataclass(frozen=True)
class Lfw:
    """`first`: a photo of everybody who has two; `second`: the other one; `others`: a photo of everybody else."""

    first: FaceSet
    second: FaceSet
    others: FaceSet


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--part", nargs="*", default=list(PARTS))
    parser.add_argument("--set", default="lfw", choices=["lfw", "ffhq"], help="for loss and synthesis")
    parser.add_argument("--k", nargs="*", type=int, default=[2, 4, 8])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--methods", nargs="*", default=METHODS)
    parser.add_argument("--judge", default=B, choices=RECOGNIZERS)
    parser.add_argument("--most", type=int, default=400, help="people with two photos, and as many others")
    parser.add_argument("--unseen", action="store_true", help="only people whom no network was taught with")
    parser.add_argument("--cache", type=Path, help="keep the aligned faces in this folder")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    results: dict[str, object] = {}
    for name in options.part:
        results[name] = PARTS[name](options)
        if options.json:
            options.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


def load(options: argparse.Namespace) -> Lfw:
    """The same people at every run."""
    return load_part(None if options.unseen else 0, options.most, options.cache)


def apart(people: list[list[Path]]) -> list[list[Path]]:
    """Those whom no network was taught with, and on whom no setting was chosen either (SETTLED)."""
    return [
        files
        for files in people[: SETTLED.start] + people[SETTLED.stop :]
        if is_unseen(files[0], data_folder())
    ]


def load_part(start: int | None, most: int, cache: Path | None) -> Lfw:
    """People from this one on, in an order drawn once; with None those who are `apart`."""
    folders = sorted((data_folder() / "lfw" / "images").iterdir())
    photos = [sorted(folder.iterdir()) for folder in folders]
    np.random.default_rng(0).shuffle(photos)
    twice, once = ([files for files in photos if (len(files) > 1) is several] for several in (True, False))
    if start is None:
        twice, once = (apart(files)[:most] for files in (twice, once))
    else:
        twice, once = twice[start : start + most], once[start : start + most]
    print(f"LFW: {told([files[0] for files in (*twice, *once)], data_folder())}", flush=True)
    part = "unseen" if start is None else start
    first, second = (faces_of([files[i] for files in twice], cache, f"view{i}-{part}-{most}") for i in (0, 1))
    both = np.intersect1d(first.subjects, second.subjects)
    others = faces_of([files[0] for files in once], cache, f"others-{part}-{most}")
    print(f"LFW: {len(both)} people with two photos, {len(others)} others", flush=True)
    return Lfw(
        first.take(np.flatnonzero(np.isin(first.subjects, both))),
        second.take(np.flatnonzero(np.isin(second.subjects, both))),
        FaceSet(others.crops, others.points, others.meshes, others.subjects + most),
    )


def faces_to_group(options: argparse.Namespace) -> FaceSet:
    if options.set == "lfw":
        return load(options).first
    files = sorted((data_folder() / "ffhq").glob("*.jpg"))
    faces = faces_of(files, options.cache, "ffhq-all")
    print(f"FFHQ: {len(faces)} faces", flush=True)
    return faces


def loss(options: argparse.Namespace) -> list[dict[str, object]]:
    faces = faces_to_group(options)
    judge = EmbeddingSpace(options.judge).encode(faces)
    age, gender = space("attribute", names=["age", "gender"]).encode(faces).T
    female, years, looks = gender > 0.5, age * OLDEST, LOOKS.encode(faces)
    spaces = {name: EmbeddingSpace(name) for name in WATCHING}
    spaces |= {"eigen": space("eigen"), "latent": space("latent"), "attribute": space("attribute")}
    every = {name: where.fit(faces).encode(faces) for name, where in spaces.items()}
    every |= {f"{name} and looks": beside(every[name], looks, AnonFaces.looks) for name in (A, B)}
    rows = []
    for name, vectors in every.items():
        for grouper in GROUPERS if name in (A, B) else ("best",):
            for k in options.k:
                partition = group(vectors, k, grouper, seed=0)
                alike = np.mean([len(np.unique(female[members])) == 1 for members in partition.groups])
                apart = [np.abs(years[members] - years[members].mean()) for members in partition.groups]
                rows.append(
                    {
                        "set": options.set, "faces": len(faces), "space": name, "grouper": grouper, "k": k,
                        "loss_in_judge": partition.information_loss(judge), "one_gender": float(alike),
                        "years_apart": float(np.concatenate(apart).mean()),
                    }
                )  # fmt: skip
                print(rows[-1], flush=True)
    return rows


def synthesis(options: argparse.Namespace) -> list[dict[str, object]]:
    faces = faces_to_group(options)
    judge = EmbeddingSpace(options.judge)
    known, by = judge.encode(faces), EmbeddingSpace(A).encode(faces)
    before = np.array([features(crop) for crop in faces.crops], np.float64)
    rows = []
    for name in DRAWN_IN:
        there = space(name, **({"background": "kept"} if name == "pixel" else {})).fit(faces)
        for k in options.k:
            partition = group(by, k, "best", seed=0)
            drawn = draw_means(there, faces, partition)
            seen = judge.encode(face_set(drawn))[partition.labels]
            after = np.array([features(crop) for crop in drawn], np.float64)[partition.labels]
            far = judge.network.distance(known, seen)
            rows.append(
                {
                    "set": options.set, "faces": len(faces), "drawn_in": name, "k": k,
                    "loss_in_judge": float(np.linalg.norm(known - seen, axis=1).mean()),
                    "judge_matches": float((far < judge.network.threshold).mean()),
                    "frechet_mobilenetv2": frechet(before, after),
                }
            )  # fmt: skip
            print(rows[-1], flush=True)
    return rows


def settings(name: str, k: int, judge: str) -> dict[str, object]:
    """Options that keep the judge out."""
    if name != "anonfaces":
        return {"k": k}
    watch = tuple(one for one in WATCHING if one != judge)
    by = B if judge != B else A
    return {"k": k, "recognizer": by, "recognizers": watch}


def rank1(options: argparse.Namespace) -> list[dict[str, object]]:
    lfw = load(options)
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


def loop(options: argparse.Namespace) -> list[dict[str, object]]:
    rows = []
    lfw, looks = load(options), space("attribute", names=["gender", "age"])
    faces = lfw.first.take(np.arange(min(100, len(lfw.first))))
    female, age = looks.encode(faces).T
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
            made_female, made_age = looks.encode(face_set(release.crops))[release.pictures[kept]].T
            rows.append(
                {
                    "k": k, "loop": watch, **release.figures, "released": len(kept) / len(faces),
                    "judge_matches": float((far < judge.network.threshold).mean()), "one_in_k": 1 / k,
                    "own_gender": float(((made_female > 0.5) == (female[kept] > 0.5)).mean()),
                    "years_off": float(np.median(np.abs(made_age - age[kept])) * 100),
                }
            )  # fmt: skip
            print(rows[-1], flush=True)
    return rows


def chance(options: argparse.Namespace) -> list[dict[str, object]]:
    lfw, judge, made_up = (
        load_part(options.most, HELD_OUT, options.cache),
        EmbeddingSpace(options.judge),
        pool(),
    )
    gallery = np.concatenate([judge.encode(lfw.second), judge.encode(lfw.others)])
    names = np.concatenate([lfw.second.subjects, lfw.others.subjects])
    far = np.array([judge.network.distance(one, gallery) for one in made_up.embeddings[options.judge]])
    nearest = names[far.argmin(axis=1)]
    rows = []
    for k in options.k:
        chosen = AnonFaces(**settings("anonfaces", k, options.judge))
        known = {name: EmbeddingSpace(name).encode(lfw.first) for name in chosen.recognizers}
        looks = LOOKS.encode(lfw.first)
        by = beside(EmbeddingSpace(chosen.recognizer).encode(lfw.first), looks, chosen.looks)
        partition = group(by, k, chosen.grouper, seed=0)
        taken, matched, alike = [], [], []
        for members in partition.groups:
            margins = margins_of_pool({name: all_[members] for name, all_ in known.items()})
            like = likest(looks[members], margins)
            alike.append(likeness(made_up.labels[like], looks[members]))
            for who in lfw.first.subjects[members]:
                taken.append(np.mean(nearest[like] == who))
                matched.append(np.mean(far[like][:, names == who] < judge.network.threshold))
        rows.append(
            {
                "k": k, "judge": options.judge, "people": len(lfw.first), "gallery": len(gallery),
                "rank1": float(np.mean(taken)), "matched": float(np.mean(matched)),
                **{name: float(np.mean([one[name] for one in alike])) for name in alike[0]},
            }
        )  # fmt: skip
        print(rows[-1], flush=True)
    return rows


def likeness(labels: np.ndarray, looks: np.ndarray) -> dict[str, float]:
    """Shares of strangers (rows of the pool's labels) with glasses, a beard and the origin that most members have."""
    seen = {name: labels[:, LABELS.index(name)] for name in (*ORIGINS, *WORN)}
    origin = looks.mean(axis=0)[[LOOKS.names.index(name) for name in ORIGINS]].argmax()
    same = np.array([seen[name] for name in ORIGINS]).argmax(axis=0) == origin
    return {name: float((seen[name] > 0.5).mean()) for name in WORN} | {"own_origin": float(same.mean())}


PARTS = {"loss": loss, "synthesis": synthesis, "rank1": rank1, "loop": loop, "chance": chance}

if __name__ == "__main__":
    main()
