"""What AttrNet is worth on real faces it never saw: python benchmarks/attributes.py [--weights FILE] [--json FILE]

Per label, like MIKU's table 4: positive rate, accuracy, precision; and recall, what always saying the commoner
answer would reach, and whether the label is offered. Photos go the way users' photos go: found, aligned, read.

Age, gender and ethnicity: 1,000 photos of UTKFace held out by hash, with UTKFace's labels. The rest: 60 FFHQ
faces and 300 people of LFW held out by hash, labelled by eye from contact sheets (`attributes_labels.csv`; a
face is named by the SHA-256 of `set/file name`, and left out of a label where it was not clear).

And, without labels: how often two photos of one person get the same answer (LFW's held-out people).

`--ship FILE` writes the network with `offered` set for the labels that hold.
"""

import argparse
import json
import os
from pathlib import Path

import cv2
import numpy as np
from training.attribute_labels import COLUMN, TEST_LABELS, face_id, of_utkface, read_labels, utkface_held_out
from training.real_faces import list_faces as find_photos

from faceveil.faces import align_ffhq, find_faces
from faceveil.faces.attributes import attributes
from faceveil.models.attributes import EXPRESSIONS
from faceveil.models.attrnet import WEIGHTS, AttrNet, Output

SIZE = 256
ACCURACY = 0.8  # a label that is less often right is not offered,
ERRORS = 0.75  # nor one with more than this share of the errors of always giving the commoner answer,
POSITIVES = 10  # nor one that was seen on fewer faces


def held_out_faces(data: Path, limit: int | None = None) -> list[tuple[Path, np.ndarray]]:
    """The photos of the test with their targets."""
    hand = read_labels(TEST_LABELS)
    photos = list(find_photos(data))
    apart = utkface_held_out(face.name for _, face in photos if face.set == "utkface")
    found = []
    for path, face in photos:
        if face.set == "utkface" and face.name in apart and (target := of_utkface(face.name)) is not None:
            found.append((path, target))
        elif (labelled := hand.get(face_id(face.set, face.name))) is not None:
            found.append((path, labelled))
    return found if limit is None else [found[i] for i in np.linspace(0, len(found) - 1, limit).astype(int)]


def look(path: Path) -> tuple[np.ndarray, np.ndarray] | None:
    """The aligned face, and what older networks say to two of the questions; None if no face is found."""
    image = cv2.cvtColor(cv2.imread(str(path)), cv2.COLOR_BGR2RGB)
    faces = find_faces(image)
    if not faces:
        return None
    middle = np.array(image.shape[1::-1]) / 2
    face = max(faces, key=lambda f: f.size_wh[0] - np.hypot(*(f.centre - middle)))
    seen = attributes(image, face)
    others = np.array([seen.female, seen.expression[EXPRESSIONS.index("happy")]], np.float32)
    return align_ffhq(face, SIZE).crop(image), others


def look_at(faces: list[tuple[Path, np.ndarray]], cache: Path | None = None) -> dict[str, np.ndarray]:
    """Crops, older networks' opinions and truth of the faces that are found; kept in a file if one is named."""
    if cache is not None and cache.exists():
        with np.load(cache) as stored:
            return {name: stored[name] for name in stored}
    seen = [(look(path), target) for path, target in faces]
    found = [(crop, others, target) for (crop, others), target in ((s, t) for s, t in seen if s is not None)]
    crops, others, truth = (np.stack(column) for column in zip(*found, strict=True))
    table = {"crops": crops, "others": others, "truth": truth, "asked": np.array(len(faces))}
    if cache is not None:
        np.savez(cache, **table)
    return table


def decide(read: np.ndarray, outputs: tuple[Output, ...]) -> np.ndarray:
    """Yes or no per output: over one half, or the most likely of its group."""
    said = read > 0.5
    for group in {output.group for output in outputs} - {""}:
        columns = [column for column, output in enumerate(outputs) if output.group == group]
        said[:, columns] = read[:, columns] == read[:, columns].max(axis=1, keepdims=True)
    return said


def score(said: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    """The figures of one label, over the faces whose truth is known."""
    known = ~np.isnan(truth)
    said, truth = said[known], truth[known] == 1
    right = said & truth
    return {
        "faces": int(known.sum()),
        "positives": int(truth.sum()),
        "positive_rate": float(truth.mean()),
        "accuracy": float((said == truth).mean()),
        "always_the_commoner": float(max(truth.mean(), 1 - truth.mean())),
        "precision": float(right.sum() / said.sum()) if said.any() else float("nan"),
        "recall": float(right.sum() / truth.sum()) if truth.any() else float("nan"),
    }


def holds(row: dict[str, float]) -> bool:
    """Whether a label is good enough to be offered."""
    by_chance = 1 - row["always_the_commoner"]
    return (
        row["accuracy"] >= ACCURACY
        and 1 - row["accuracy"] <= ERRORS * by_chance
        and row["positives"] >= POSITIVES
    )


def measure(net: AttrNet, seen: dict[str, np.ndarray]) -> dict[str, dict[str, float]]:
    truth, said = seen["truth"], decide(net.read_all(seen["crops"]), net.outputs)
    table = {o.label: score(said[:, i], truth[:, COLUMN[o.label]]) for i, o in enumerate(net.outputs)}
    for row in table.values():
        row["holds"] = holds(row)
    for column, (label, card) in enumerate((("female", "gender.v1"), ("smiling", "expression.fer"))):
        table[f"{label}, by {card}"] = score(seen["others"][:, column] > 0.5, truth[:, COLUMN[label]])
    return table


def two_photos_each(data: Path) -> list[tuple[Path, Path]]:
    """Two photos of each held-out person of LFW who has as many."""
    albums: dict[str, list[Path]] = {}
    for path, face in find_photos(data):
        if face.set == "lfw" and face.held_out:
            albums.setdefault(face.person, []).append(path)
    return [(paths[0], paths[1]) for paths in albums.values() if len(paths) > 1]


def agreement(net: AttrNet, pairs: list[tuple[Path, Path]]) -> dict[str, float]:
    """The share of people about whom both photos say the same, per group and label of who somebody is."""
    looks = [[look(path) for path in pair] for pair in pairs]
    both = [[one[0] for one in pair if one is not None] for pair in looks]
    crops = [np.stack(side) for side in zip(*(pair for pair in both if len(pair) == 2), strict=True)]
    first, second = (decide(net.read_all(side), net.outputs) for side in crops)
    same, found = first == second, {"people": float(len(first))}
    for name in ("ethnicity", "age", "female"):
        columns = [column for column, o in enumerate(net.outputs) if name in (o.group, o.label)]
        found[name] = float(same[:, columns].all(axis=1).mean())
    return found


def markdown(table: dict[str, dict[str, float]]) -> str:
    head = [
        "label",
        "faces",
        "positive rate",
        "accuracy",
        "always the commoner",
        "precision",
        "recall",
        "offered",
    ]
    lines = ["| " + " | ".join(head) + " |", "| " + " | ".join(["---"] * len(head)) + " |"]
    for label, row in table.items():
        shares = ("positive_rate", "accuracy", "always_the_commoner", "precision", "recall")
        cells = [f"{100 * row[name]:.1f} %" if np.isfinite(row[name]) else "–" for name in shares]
        verdict = "" if "holds" not in row else "yes" if row["holds"] else "no"
        lines.append("| " + " | ".join([label, str(row["faces"]), *cells, verdict]) + " |")
    return "\n".join(lines)


def ship(source: Path, target: Path, table: dict[str, dict[str, float]]) -> None:
    with np.load(source) as stored:
        arrays = {name: stored[name] for name in stored}
    arrays["offered"] = np.array([table[str(label)]["holds"] for label in arrays["labels"]])
    np.savez_compressed(target, **arrays)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--weights", type=Path, default=WEIGHTS)
    parser.add_argument("--faces", type=int, help="Only so many of the faces, evenly spread.")
    parser.add_argument("--cache", type=Path, help="Keep the aligned faces in this .npz, to measure again.")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--ship", type=Path)
    options = parser.parse_args()
    data = Path(os.environ.get("FACEVEIL_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not (data / "utkface").is_dir():
        raise SystemExit(
            f"the photos are not in {data}; set FACEVEIL_DATA to the folder of utkface/, lfw/, ffhq/."
        )
    seen = look_at(held_out_faces(data, options.faces), options.cache)
    print(f"{len(seen['crops'])} of {seen['asked']} faces found", flush=True)
    table = measure(AttrNet(options.weights), seen)
    print(markdown(table))
    same = agreement(AttrNet(options.weights), two_photos_each(data))
    shares = ", ".join(f"{name} {100 * same[name]:.1f} %" for name in same if name != "people")
    print(f"\nThe same answer on two photos of one person, {same['people']:.0f} people of LFW: {shares}")
    if options.json:
        options.json.write_text(json.dumps(table | {"agreement": same}, indent=2) + "\n")
    if options.ship:
        ship(options.weights, options.ship, table)


if __name__ == "__main__":
    main()
