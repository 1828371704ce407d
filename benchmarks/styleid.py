"""StyleID on LFW: is the person gone, and is the rest still there?

    python benchmarks/styleid.py [--pairs 100] [--methods styleid,…] [--hold-out B] [--json FILE] [--sheet FILE.png]

Of each same-person pair of LFW's protocol (people once) the second photo is anonymised and compared with the first,
and with the first photos of all other people: n genuine and n·(n−1) impostor comparisons. Beside the methods stand
the unprocessed photo, the slightly blurred one (the noise floor of the attribute networks), the encoder's
reconstruction, and the matched stranger: another real person of the same gender, near in age and skin, which is the
floor of every method that keeps these. `--hold-out` names recognisers (A, B, C) that take no part in the check.
"""

import argparse
import json
import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np

from faceveil.evaluation.attackers import LETTERS
from faceveil.evaluation.protocol import read_pairs
from faceveil.faces import Face, align_ffhq, find_faces, paste, pose, with_mesh
from faceveil.faces.attributes import attributes, skin_angle
from faceveil.methods import METHODS, FaceMethod, method
from faceveil.methods.styleid.check import embeddings
from faceveil.methods.styleid.looks import GAZE_X, MOUTH, YAW, looks
from faceveil.methods.styleid.swap import generator
from faceveil.models.encoder import Encoder
from faceveil.models.recognizers import RECOGNIZERS, recognizer
from faceveil.photos import read_photo

BLACK = 0.25  # share of black pixels in the face's middle from which it counts as covered
STRANGERS = 400


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=100)
    parser.add_argument(
        "--methods", default="unprocessed,slight blur,stranger,reconstruction,blur,pixelate,styleid"
    )
    parser.add_argument("--hold-out", default="")
    parser.add_argument("--privacy", default=None)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--sheet", type=Path)
    options = parser.parse_args()
    root = Path(os.environ.get("FACEVEIL_DATA", Path(__file__).parents[2] / "shared" / "data")) / "lfw"
    if not (root / "pairs.txt").exists():
        raise SystemExit(f"LFW is not in {root}; set FACEVEIL_DATA to the folder that holds lfw/.")
    pairs = same_pairs(root, options.pairs)
    first = [Subject(root, one) for one, _ in pairs]
    second = [Subject(root, other) for _, other in pairs]
    held = tuple(name for name, letter in LETTERS.items() if letter in options.hold_out)
    results = {}
    for name in options.methods.split(","):
        started = time.perf_counter()
        outputs = [make(name, root, options, held)(number, subject) for number, subject in enumerate(second)]
        seconds = (time.perf_counter() - started) / len(second)
        results[name] = {"seconds": round(seconds, 3), **judge(first, second, outputs)}
        print(json.dumps({name: results[name]}), flush=True)
        if options.sheet and name not in ("unprocessed", "slight blur"):
            sheet(second, outputs, options.sheet.with_stem(f"{options.sheet.stem}-{name.replace(' ', '-')}"))
    print_table(results, held)
    if options.json:
        options.json.write_text(
            json.dumps({"pairs": len(pairs), "held_out": held, **results}, indent=2) + "\n"
        )


class Subject:
    """One photo of LFW with the face in its middle, and what is read of it."""

    def __init__(self, root: Path, name: str) -> None:
        self.image = read_photo(root / "images" / name.rsplit("_", 1)[0] / f"{name}.jpg").pixels
        self.face = middle_face(self.image)
        self.read = read(self.image, self.face) if self.face else None
        self.person = name.rsplit("_", 1)[0]


def same_pairs(root: Path, count: int) -> list[tuple[str, str]]:
    """Pairs of one person, each person once, of which both photos show a face to the detector."""
    found: dict[str, tuple[str, str]] = {}
    for pair in read_pairs(root / "pairs.txt"):
        person = pair.first.rsplit("_", 1)[0]
        if pair.same and person not in found and len(found) < count:
            found[person] = (pair.first, pair.second)
    return list(found.values())


def middle_face(image: np.ndarray) -> Face | None:
    faces = find_faces(image)
    middle = np.array(image.shape[1::-1]) / 2
    return min(faces, key=lambda face: float(np.hypot(*(face.centre - middle)))) if faces else None


def read(image: np.ndarray, face: Face) -> dict[str, object]:
    """Everything that is judged of one face."""
    seen, head = attributes(image, face), pose(face)
    return {
        "embeddings": embeddings(image, face, list(RECOGNIZERS)),
        "age": seen.age, "female": seen.female, "expression": int(seen.expression.argmax()),
        "pose": np.array([head.yaw, head.pitch, head.roll]), "looks": looks(image, face),
        "skin": skin_angle(image, face),
    }  # fmt: skip


Make = Callable[[int, Subject], np.ndarray]


def make(name: str, root: Path, options: argparse.Namespace, held: tuple[str, ...]) -> Make:
    """The function that anonymises one subject."""
    if name in METHODS:
        chosen = method(name, privacy=options.privacy if name.startswith("styleid") else None)
        assert isinstance(chosen, FaceMethod)
        if held and hasattr(chosen, "recognizers"):
            chosen = replace(chosen, recognizers=tuple(r for r in RECOGNIZERS if r not in held))
        return lambda number, subject: chosen.protect(
            subject.image, subject.face, np.random.default_rng(number)
        )[0]
    return {
        "unprocessed": lambda number, subject: subject.image,
        "slight blur": lambda number, subject: cv2.GaussianBlur(subject.image, (0, 0), 1.0),
        "reconstruction": lambda number, subject: reconstruct(subject),
        "stranger": lambda number, subject: stranger(subject, root),
    }[name]


def reconstruct(subject: Subject) -> np.ndarray:
    """The encoder's code of the face, rendered and pasted over the same region as styleid's."""
    from faceveil.methods.styleid.blend import face_mask
    from faceveil.methods.styleid.fit import with_forehead

    place = align_ffhq(subject.face, 256)
    crop = place.crop(subject.image)
    render = generator().render(Encoder().encode(crop[None]), 256)[0]
    return paste(
        subject.image,
        render,
        place,
        face_mask(crop, with_forehead(place.points_to_crop(subject.face.mesh[:, :2]))),
    )


_strangers: list[Subject] = []


def stranger(subject: Subject, root: Path) -> np.ndarray:
    """The photo of another person of the same gender, nearest in age and skin."""
    if not _strangers:
        names = sorted(path.stem for path in (root / "images").rglob("*_0001.jpg"))
        chosen = names[:: max(1, len(names) // STRANGERS)]
        _strangers.extend(one for one in (Subject(root, name) for name in chosen) if one.read)

    def unlike(other: Subject) -> float:
        a, b = subject.read, other.read
        if other.person == subject.person or (a["female"] > 0.5) != (b["female"] > 0.5):
            return np.inf
        return abs(a["age"] - b["age"]) / 5 + abs(np.nan_to_num(a["skin"] - b["skin"])) / 8

    return min(_strangers, key=unlike).image


def judge(first: list[Subject], second: list[Subject], outputs: list[np.ndarray]) -> dict[str, object]:
    """Privacy against the first photos, utility against the second."""
    rows = [i for i in range(len(first)) if first[i].read and second[i].read]
    faces = [middle_face(output) for output in outputs]
    covered = [is_covered(outputs[i], second[i].face) for i in rows]
    kept = [i for i in rows if faces[i] is not None and not is_covered(outputs[i], second[i].face)]
    after = {i: read(outputs[i], with_mesh(outputs[i], [faces[i]])[0]) for i in kept}
    share = len(kept) / len(rows)
    result: dict[str, object] = {"faces": len(rows), "covered": float(np.mean(covered)), "found": share}
    if len(kept) < 3:
        return result
    before = {i: second[i].read for i in kept}
    for name in RECOGNIZERS:
        probe = np.stack([after[i]["embeddings"][name] for i in kept])
        gallery = np.stack([first[i].read["embeddings"][name] for i in kept])
        source = np.stack([before[i]["embeddings"][name] for i in kept])
        result[LETTERS[name]] = privacy(recognizer(name), probe, gallery, source)

    def gap(key: str) -> np.ndarray:
        return np.array([np.abs(np.asarray(after[i][key]) - before[i][key]) for i in kept])

    def both(key: str) -> tuple[np.ndarray, np.ndarray]:
        return np.array([before[i][key] for i in kept]), np.array([after[i][key] for i in kept])

    female, expression, look = both("female"), both("expression"), both("looks")
    result |= {
        "gender_kept": float(np.mean((female[0] > 0.5) == (female[1] > 0.5))),
        "expression_kept": float(np.mean(expression[0] == expression[1])),
        "age_error": float(gap("age").mean()),
        "pose_error": [round(float(v), 2) for v in gap("pose").mean(axis=0)],
        "skin_error": float(np.nanmean(gap("skin"))),
        **{
            f"{what}_correlation": float(np.corrcoef(look[0][:, column], look[1][:, column])[0, 1])
            for what, column in (("mouth", MOUTH), ("yaw", YAW), ("gaze", GAZE_X))
        },
    }
    return {key: round(value, 3) if isinstance(value, float) else value for key, value in result.items()}


def privacy(judge_: object, probe: np.ndarray, gallery: np.ndarray, source: np.ndarray) -> dict[str, float]:
    every = judge_.distance(probe[:, None], gallery[None])
    same = np.diagonal(every)
    different = every[~np.eye(len(every), dtype=bool)]
    auc = np.mean(same[:, None] < different) + 0.5 * np.mean(same[:, None] == different)
    to_source = judge_.distance(probe, source)
    rank = (every < same[:, None]).sum(axis=1) / (len(every) - 1)
    limits = np.quantile(np.concatenate([same, different]), np.linspace(0, 1, 500))
    accuracy = max(0.5 * (np.mean(same < limit) + np.mean(different >= limit)) for limit in limits)
    return {
        "auc": round(float(auc), 3), "accuracy": round(float(accuracy), 3), "rank": round(float(rank.mean()), 3),
        "to_source": round(float(to_source.mean()), 3), "spread": round(float(to_source.std()), 3),
        "strangers": round(float(different.mean()), 3),
        "recognised": round(float(np.mean(to_source < judge_.threshold)), 3),
    }  # fmt: skip


def is_covered(image: np.ndarray, face: Face) -> bool:
    x, y = face.centre.astype(int)
    reach = int(max(2, 0.2 * min(face.size_wh)))
    middle = image[max(0, y - reach) : y + reach, max(0, x - reach) : x + reach]
    return bool((middle == 0).all(axis=2).mean() > BLACK)


def sheet(
    second: list[Subject], outputs: list[np.ndarray], path: Path, columns: int = 8, side: int = 112
) -> None:
    tiles = []
    for subject, output in zip(second, outputs, strict=True):
        if subject.face is not None:
            place = align_ffhq(subject.face, side)
            tiles.append(np.hstack([place.crop(subject.image), place.crop(output)]))
    tiles += [np.zeros_like(tiles[0])] * (-len(tiles) % columns)
    whole = np.vstack([np.hstack(tiles[i : i + columns]) for i in range(0, len(tiles), columns)])
    cv2.imwrite(str(path), cv2.cvtColor(whole, cv2.COLOR_RGB2BGR))


def print_table(results: dict[str, dict], held: tuple[str, ...]) -> None:
    marks = {letter: letter + ("*" if name in held else "") for name, letter in LETTERS.items()}
    heads = [
        "method",
        *(f"AUC {marks[x]}" for x in "ABC"),
        "distance / strangers A, B, C",
        "rank A",
        "gender",
    ]
    heads += ["expression", "age error", "yaw, pitch, roll error", "mouth, yaw, gaze r", "covered", "s"]
    print("\n| " + " | ".join(heads) + " |\n" + "| --- " * len(heads) + "|")
    for name, row in results.items():
        if "A" not in row:
            print(f"| {name} | no face is left to compare ({row['covered']:.0%} covered) |")
            continue
        cells = [name, *(f"{row[x]['auc']:.2f}" for x in "ABC")]
        cells.append(", ".join(f"{row[x]['to_source']:.2f}/{row[x]['strangers']:.2f}" for x in "ABC"))
        cells += [f"{row['A']['rank']:.2f}", f"{row['gender_kept']:.2f}", f"{row['expression_kept']:.2f}"]
        cells += [f"{row['age_error']:.1f}", ", ".join(f"{v:.1f}" for v in row["pose_error"])]
        cells.append(", ".join(f"{row[f'{what}_correlation']:.2f}" for what in ("mouth", "yaw", "gaze")))
        cells += [f"{row['covered']:.2f}", f"{row['seconds']:.2f}"]
        print("| " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
