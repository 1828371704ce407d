"""MIKU measured as in its paper: what groups keep of labels by G map, and a Fréchet distance by G and S map.

    python -m benchmarks.miku [--part labels|frechet …] [--set lfw|ffhq] [--k 2 4 …] [--json FILE] [--sheet FILE]
                              [--refine 20 --cache FOLDER]

Data is looked for in FACEVEIL_DATA or ../shared/data.

labels   the paper's figures 7 to 9, on the photos of UTKFace that AttrNet was not taught with, while the encoder
         behind the latent map was taught with all of UTKFace: mean Euclidean distance of a face's labels (one-hot,
         as its file name has them) from its group's mean. All: age in bands, gender and race; male; race, which is
         unused where the attribute map is told to leave ethnicity out
frechet  its figure 10, on people of LFW or FFHQ whom no network here was taught with, a photo of each (500 and 60 at
         most), since UTKFace is cut too tightly for the alignment: Fréchet distance of MobileNetV2's features (not
         the Inception FID) between the originals and what is released in their place, both with a grey background,
         as the paper masks it; once as it is drawn, and once as small and compressed as it would be in LFW's photos

`random` is a G map that knows nothing of the faces. With --refine N latents are the encoder's after N steps of
gradient descent, since the paper finds them by gradient; they are kept in the cache (benchmarks/refined.py).
"""

import argparse
import json
from pathlib import Path

import cv2
import numpy as np
from benchmarks.aligned import data_folder, faces_of, files_of
from benchmarks.refined import refined
from training.attribute_labels import utkface_held_out
from training.taught import told

from faceveil.evaluation.fidelity import frechet
from faceveil.faces import FaceSet
from faceveil.faces.attributes import attribute_names
from faceveil.faces.crops import face_set
from faceveil.grouping import Partition, group
from faceveil.methods.miku import GROUP_SIDE, N_S, PAPERS_LABELS
from faceveil.methods.sets import draw, no_crops, usual_detail
from faceveil.models.mobilenetv2 import features
from faceveil.photos import Photo, write_photo
from faceveil.spaces import SynthesisSpace, space

BANDS = (0, 18, 30, 45, 60, 200)  # years
RACES = 5
G_MAPS = ("direct", "latent", "attribute", "random")
FEWER = ("attribute, no ethnicity", "attribute, the paper's labels")
SHOWN = 6  # people on the sheet
IN_PHOTOS, JPEG_QUALITY = (
    176,
    75,
)  # px of an aligned face in LFW's photos (median of 40), and about their compression


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--part", nargs="*", default=["labels", "frechet"])
    parser.add_argument("--people", type=int, default=500)
    parser.add_argument("--set", default="lfw", choices=["lfw", "ffhq"])
    parser.add_argument("--k", nargs="*", type=int, default=[2, 4, 8, 16, 32, 64, 128])
    parser.add_argument("--draw", nargs="*", default=["direct", "latent"], help="S maps")
    parser.add_argument("--group", nargs="*", default=G_MAPS, help="G maps for frechet")
    parser.add_argument("--cache", type=Path, help="keep the aligned faces in this folder")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--sheet", type=Path, help="write a picture of some people and what became of them")
    parser.add_argument(
        "--refine", type=int, default=0, help="steps of gradient descent for frechet's latents"
    )
    options = parser.parse_args()
    if options.refine and not options.cache:
        parser.error("--refine needs --cache, a folder outside the project")
    parts = {"labels": label_distance, "frechet": frechet_distance}
    results = {}
    for part in options.part:
        results[part] = parts[part](options)
        if options.json:
            options.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


def label_distance(options: argparse.Namespace) -> list[dict[str, object]]:
    folder = data_folder() / "utkface"
    kept = sorted(utkface_held_out(file.name for file in folder.glob("*_*_*_*.jpg")))
    faces = faces_of([folder / name for name in kept], options.cache, f"utkface-{len(kept)}")
    labels = labels_of([folder / kept[row] for row in faces.subjects])
    print(f"UTKFace: {told([folder / kept[row] for row in faces.subjects], data_folder())}", flush=True)
    rows = []
    for name in (*G_MAPS, *FEWER):
        vectors = vectors_of(name, faces)
        rows += [label_row(name, k, split(vectors, k), labels) for k in options.k]
    return rows


def frechet_distance(options: argparse.Namespace) -> list[dict[str, object]]:
    faces = faces_of(
        files_of(options.set, options.people), options.cache, f"{options.set}-{options.people}-unseen"
    )
    print(f"{options.set}: {len(faces)} faces", flush=True)
    if options.refine:
        refined(faces, options.refine, options.cache)
    return drawing(faces, {name: vectors_of(name, faces, options.refine) for name in options.group}, options)


def labels_of(files: list[Path]) -> dict[str, np.ndarray]:
    """What the file names say, as rows of zeros and ones."""
    age, gender, race = (np.array([int(file.name.split("_")[field]) for file in files]) for field in range(3))
    band = np.digitize(age, BANDS[1:-1])
    hot = {
        "age": np.eye(len(BANDS) - 1)[band],
        "male": (gender == 0)[:, None] * 1.0,
        "race": np.eye(RACES)[race],
    }
    return {"all": np.hstack(list(hot.values())), "male": hot["male"], "race": hot["race"]}


def vectors_of(name: str, faces: FaceSet, refine: int = 0) -> np.ndarray:
    """What groups are formed by; `random` knows nothing of the faces."""
    if name == "random":
        return np.random.default_rng(1).normal(size=(len(faces), 8)).astype(np.float32)
    if name == "direct":
        return space("pixel", side=GROUP_SIDE).encode(faces)
    if name == "latent":
        return space("latent", refine=refine).encode(faces)
    every = attribute_names()
    chosen = [one for one in every if name == "attribute" or not one.startswith("ethnicity")]
    names = PAPERS_LABELS if name == FEWER[1] else chosen
    return space("attribute").encode(faces)[:, [every.index(one) for one in names]]  # read once for the set


def split(vectors: np.ndarray, k: int) -> Partition:
    return group(vectors, k, "mondrian", seed=0, dimensions=N_S)


def label_row(name: str, k: int, partition: Partition, labels: dict[str, np.ndarray]) -> dict[str, object]:
    """The mean distance of everybody's labels from those of the group."""
    row: dict[str, object] = {"group_map": name, "k": k, "groups": len(partition)}
    for kind, values in labels.items():
        far = [np.linalg.norm(values[rows] - values[rows].mean(axis=0), axis=1) for rows in partition.groups]
        row[kind] = float(np.concatenate(far).mean())
    print(row, flush=True)
    return row


def drawing(
    faces: FaceSet, groups: dict[str, np.ndarray], options: argparse.Namespace
) -> list[dict[str, object]]:
    """Every pair of maps and every k: drawn, masked, compared with the originals."""
    masked = space("pixel")
    before = looks(masked.decode(masked.encode(faces)))
    rows, shown = [], [masked.decode(masked.encode(faces.take(np.arange(SHOWN))))]
    for synthesis in options.draw:
        there = space("pixel") if synthesis == "direct" else space("latent", refine=options.refine)
        vectors = there.encode(faces)
        for name, by in groups.items():
            for k in options.k:
                partition = split(by, k)
                drawn = means(there, faces, vectors, partition)
                row: dict[str, object] = {"group_map": name, "synthesis_map": synthesis, "k": k}
                row |= {"people": len(faces), "refine": options.refine}
                for figure, crops in (("", drawn), ("_in_photos", as_in_photos(drawn))):
                    if synthesis == "latent":
                        crops = masked.decode(masked.encode(face_set(crops)))
                    after = looks(crops)[partition.labels]
                    row[f"frechet_mobilenetv2{figure}"] = frechet(before, after)
                rows.append(row)
                print(rows[-1], flush=True)
                if name == "attribute":
                    shown.append(drawn[partition.labels[:SHOWN]])
    if options.sheet:
        rows_of = [
            np.hstack([cv2.resize(crop, (128, 128), interpolation=cv2.INTER_AREA) for crop in row])
            for row in shown
        ]
        write_photo(Photo(np.vstack(rows_of)), options.sheet, overwrite=True)
    return rows


def means(there: SynthesisSpace, faces: FaceSet, vectors: np.ndarray, partition: Partition) -> np.ndarray:
    """One picture for each group, as the method draws it."""
    made = [
        draw(there, vectors[rows].mean(axis=0), usual_detail(faces.take(rows))) for rows in partition.groups
    ]
    return np.array(made, np.uint8) if made else no_crops()


def as_in_photos(crops: np.ndarray) -> np.ndarray:
    """As small and as compressed as faces are in LFW's photos, and enlarged again as those were."""
    return np.array([_through_jpeg(crop) for crop in crops], np.uint8)


def _through_jpeg(crop: np.ndarray) -> np.ndarray:
    small = cv2.resize(crop, (IN_PHOTOS, IN_PHOTOS), interpolation=cv2.INTER_AREA)
    packed = cv2.imencode(".jpg", small, [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])[1]
    return cv2.resize(
        cv2.imdecode(packed, cv2.IMREAD_COLOR), crop.shape[1::-1], interpolation=cv2.INTER_CUBIC
    )


def looks(crops: np.ndarray) -> np.ndarray:
    return np.array([features(crop) for crop in crops], np.float64)


if __name__ == "__main__":
    main()
