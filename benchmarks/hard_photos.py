"""Faces in hard photos: photographed screens, noise, turned, cut by the frame, pale, dark, bright, negative.

    python benchmarks/hard_photos.py [--set confirm] [--singles 96] [--scenes 4] [--repeats 7] [-o hard_photos.json]

Each condition is made, seeded, of the same photos with known faces: every fortieth photo of LFW, FFHQ, portraits that
nobody owns rights in, and scenes of several people on other grounds. Half of the photos settle what the detector does
(`--set settle`), the other half confirms it. `before` searches the photo as it is; `default` is what `anonymize`
does; `thorough` is asked where the default missed a face. Both detectors count. A face is found if a box covers half
of it and is no more than four times as large. False boxes are those on textures and in photos whose heads were
painted over, in every condition. Time is that of protecting a photo, in processor time, by turns in one run.
"""

import argparse
import json
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import cv2
import numpy as np
from scenes import DATA, _ground, put

from faceveil import __version__
from faceveil.faces import Face, detect, find_faces, yunet
from faceveil.faces.boxes import areas, overlaps, shown_by
from faceveil.methods import method
from faceveil.photos import Photo as Read
from faceveil.photos import read_photo
from faceveil.pipeline.protect import protect_photo
from faceveil.pipeline.settings import SECOND, Settings

SCENE = (1224, 816)  # px: 1 MP
LARGEST = 384  # px: single portraits are made smaller
WAYS = ("before", "default", "thorough")
SHOWN = 0.4  # of a face that the frame cuts
Picture = np.ndarray
Boxes = np.ndarray
Condition = Callable[[Picture, Boxes, np.random.Generator], tuple[Picture, Boxes]]


@dataclass(frozen=True, eq=False)
class Photo:
    """A picture and the boxes of the faces that are known to be in it."""

    name: str
    pixels: Picture
    boxes: Boxes


def as_it_is(image: Picture, boxes: Boxes, rng: np.random.Generator) -> tuple[Picture, Boxes]:
    return image, boxes


def toned(change: Callable[[np.ndarray, np.random.Generator], np.ndarray]) -> Condition:
    """A condition that changes colours alone: `change` takes and gives numbers from 0 to 1."""

    def changed(image: Picture, boxes: Boxes, rng: np.random.Generator) -> tuple[Picture, Boxes]:
        values = change(image.astype(np.float32) / 255, rng)
        return np.rint(np.clip(values, 0, 1) * 255).astype(np.uint8), boxes

    return changed


def dark_rows(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A screen: of every three to seven rows one or two are dark, and the light flickers in bands."""
    period = int(rng.integers(3, 8))
    dark = np.arange(len(values)) % period < max(1, round(period * rng.uniform(0.2, 0.4)))
    bands = 0.75 + 0.25 * np.sin(np.arange(len(values)) / rng.uniform(10, 40))
    return values * (np.where(dark, 0.15, 1.0) * bands)[:, None, None]


def noisy(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """As of a sensor at its end: Gaussian, of a standard deviation of 50 to 80 of 255."""
    return values + rng.normal(0, rng.uniform(50, 80) / 255, values.shape)


def pale(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Eight to twenty-four steps of 255 are left, around any grey."""
    span = rng.uniform(8, 24) / 255
    return rng.uniform(0.2, 0.8) + (values - 0.5) * span


def dark(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The same near black, with a little noise."""
    return values * rng.uniform(6, 14) / 255 + rng.normal(0, 0.5 / 255, values.shape)


def bright(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """What is brighter than a third to a half is white."""
    return values * rng.uniform(2, 3)


def negative(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return 1 - values


def turned(image: Picture, boxes: Boxes, rng: np.random.Generator, *, quarters: int) -> tuple[Picture, Boxes]:
    """Turned clockwise by quarters."""
    for _ in range(quarters):
        height = image.shape[0]
        image = np.ascontiguousarray(np.rot90(image, -1))
        boxes = np.stack([height - boxes[:, 3], boxes[:, 0], height - boxes[:, 1], boxes[:, 2]], axis=1)
    return image, boxes


def cut(image: Picture, boxes: Boxes, rng: np.random.Generator) -> tuple[Picture, Boxes]:
    """The frame leaves two fifths of one face, at any of its sides, and that one is looked for."""
    height, width = image.shape[:2]
    side = rng.integers(4)
    if side == 0:
        n = boxes[:, 2].argmin()
        start, end, axis = boxes[n, 2] - SHOWN * (boxes[n, 2] - boxes[n, 0]), width, 0
    elif side == 1:
        n = boxes[:, 0].argmax()
        start, end, axis = 0, boxes[n, 0] + SHOWN * (boxes[n, 2] - boxes[n, 0]), 0
    elif side == 2:
        n = boxes[:, 3].argmin()
        start, end, axis = boxes[n, 3] - SHOWN * (boxes[n, 3] - boxes[n, 1]), height, 1
    else:
        n = boxes[:, 1].argmax()
        start, end, axis = 0, boxes[n, 1] + SHOWN * (boxes[n, 3] - boxes[n, 1]), 1
    start, end = round(start), round(end)
    image = image[:, start:end] if axis == 0 else image[start:end]
    box = boxes[n : n + 1] - np.array([start, 0, start, 0] if axis == 0 else [0, start, 0, start])
    return np.ascontiguousarray(image), np.clip(box, 0, np.array(image.shape[1::-1] * 2))


CONDITIONS: dict[str, Condition] = {
    "as it is": as_it_is,
    "screen, dark rows": toned(dark_rows),
    "strong noise": toned(noisy),
    "turned by 90°": partial(turned, quarters=1),
    "turned by 180°": partial(turned, quarters=2),
    "turned by 270°": partial(turned, quarters=3),
    "cut to 40 %": cut,
    "low contrast": toned(pale),
    "very dark": toned(dark),
    "very bright": toned(bright),
    "negative": toned(negative),
}


def known_photos(part: int, singles: int, scenes: int) -> list[Photo]:
    """Single portraits and scenes of one half of the data."""
    folders = (DATA / "lfw" / "images", DATA / "ffhq", DATA / "portraits-cc0")
    lfw, ffhq, cc0 = (sorted(folder.rglob("*.jpg")) for folder in folders)
    paths = [lfw[::40][part::2], ffhq[part::2], cc0[part::2]]
    photos: list[Photo] = []
    for n in range(singles):  # LFW has fewest, so the others go on where it ends
        chosen = paths[n % 3] or paths[1]
        if (photo := known(chosen.pop(0))) is not None:
            photos.append(photo)
    return photos + [scene(2 * n + part, photos) for n in range(scenes)]


def known(path: Path) -> Photo | None:
    """A photo of which it is known where its largest face is; smaller ones are no task and no fault."""
    pixels = read_photo(path).pixels
    if (shrink := LARGEST / max(pixels.shape)) < 1:
        pixels = cv2.resize(pixels, None, fx=shrink, fy=shrink, interpolation=cv2.INTER_AREA)
    found = find_faces(pixels)
    if not found:
        return None
    face = max(found, key=lambda face: face.size_wh[0])
    return Photo(f"{path.parent.name}/{path.name}", pixels, face.box_xyxy[None])


def scene(seed: int, photos: Sequence[Photo]) -> Photo:
    """Four to six people side by side, their faces 40 to 130 px wide and tilted by up to 15°."""
    rng = np.random.default_rng(seed)
    image, boxes = _ground(rng, *SCENE), []
    count = int(rng.integers(4, 7))
    for n in range(count):
        head = photos[rng.integers(len(photos))]
        width, height = head.boxes[0, 2:] - head.boxes[0, :2]
        size = float(np.exp(rng.uniform(np.log(40), np.log(130))))
        x, y = SCENE[0] * (n + 0.5) / count, rng.uniform(0.3, 0.7) * SCENE[1]
        image = put(image, head.pixels, head.boxes[0], x, y, size, float(rng.uniform(-15, 15)))
        half = np.array([size, size * height / width]) / 2
        boxes.append([x - half[0], y - half[1], x + half[0], y + half[1]])
    return Photo(f"scene {seed}", image, np.array(boxes))


def faceless_photos(photos: Sequence[Photo], textures: int) -> list[Photo]:
    """Photos whose head is painted over with what is around it, where nobody is left, and textures."""
    nobody = np.zeros((0, 4))
    bare = [Photo(photo.name, painted_over(photo), nobody) for photo in photos if len(photo.boxes) == 1]
    bare = [photo for photo in bare if not searched(photo.pixels)]
    grounds = [_ground(np.random.default_rng(900 + n), *SCENE) for n in range(textures)]
    return bare + [Photo(f"ground {n}", ground, nobody) for n, ground in enumerate(grounds)]


def painted_over(photo: Photo) -> Picture:
    mask = np.zeros(photo.pixels.shape[:2], np.uint8)
    (x0, y0, x1, y1) = photo.boxes[0]
    head = ((x0 + x1) / 2, (y0 + y1) / 2 - 0.1 * (y1 - y0)), (1.8 * (x1 - x0), 1.7 * (y1 - y0)), 0.0
    cv2.ellipse(mask, head, 255, -1)
    return np.asarray(cv2.inpaint(photo.pixels, mask, 3, cv2.INPAINT_TELEA))


def searched(image: Picture, *, thorough: bool = False, mesh: bool = True) -> list[Face]:
    """What both detectors see, each face once."""
    faces = find_faces(image, thorough=thorough, mesh=mesh)
    known = [face.box_xyxy for face in faces]
    second, quarters = SECOND["yunet"], detect.quarters_of(faces)
    more = find_faces(image, second, thorough=thorough, mesh=mesh, besides=known, quarters=quarters)
    return faces + [face for face in more if not shown_by(face.box_xyxy, known)]


@contextmanager
def as_before() -> Iterator[None]:
    """Detection without what hard photos call for."""
    kept = detect.clearer, detect.quarters_of, yunet._settled_otherwise, yunet._settled_by_mesh
    detect.clearer, detect.quarters_of = lambda image: None, lambda faces: []
    yunet._settled_otherwise = lambda *given: {}
    yunet._settled_by_mesh = lambda *given: {}
    try:
        yield
    finally:
        detect.clearer, detect.quarters_of, yunet._settled_otherwise, yunet._settled_by_mesh = kept


def hits(found: Sequence[Face], truth: Boxes) -> list[bool]:
    boxes = np.array([face.box_xyxy for face in found]).reshape(-1, 4)
    covered = overlaps(truth, boxes) >= 0.5 * areas(truth)[:, None]
    return (covered & (areas(boxes) <= 4 * areas(truth)[:, None])).any(axis=1).tolist()


def measure_recall(photos: Sequence[Photo]) -> dict[str, dict[str, float]]:
    results = {}
    for name, condition in CONDITIONS.items():
        found: dict[str, list[bool]] = {way: [] for way in WAYS}
        for number, photo in enumerate(photos):
            image, truth = condition(photo.pixels, photo.boxes, np.random.default_rng(number))
            with as_before():
                found["before"] += hits(searched(image), truth)
            default = hits(searched(image), truth)
            found["default"] += default
            found["thorough"] += default if all(default) else hits(searched(image, thorough=True), truth)
        results[name] = {"faces": len(found["before"])} | {way: float(np.mean(v)) for way, v in found.items()}
        print(name, results[name], flush=True)
    return results


def measure_false(photos: Sequence[Photo]) -> dict[str, dict[str, int]]:
    results = {}
    for name, condition in CONDITIONS.items():
        count = {"photos": len(photos), "before": 0, "default": 0}
        for number, photo in enumerate(photos):
            changed = condition if name != "cut to 40 %" else half
            image, _ = changed(photo.pixels, photo.boxes, np.random.default_rng(number))
            with as_before():
                count["before"] += len(searched(image))
            count["default"] += len(searched(image))
        results[name] = count
        print(name, "false boxes", count, flush=True)
    return results


def half(image: Picture, boxes: Boxes, rng: np.random.Generator) -> tuple[Picture, Boxes]:
    """Where nobody is to be cut, the left half."""
    return np.ascontiguousarray(image[:, : image.shape[1] // 2]), boxes


def measure_time(photos: Sequence[Photo], repeats: int) -> dict[str, dict[str, float]]:
    """Of ordinary photos of 1 MP, by turns; and whether what is written stays the same."""
    results = {}
    for name in ("blackout", "blur"):
        settings = Settings(method=method(name))
        taken: dict[str, list[float]] = {"before": [], "default": []}
        same = 0
        for repeat in range(repeats + 1):
            for photo in photos:
                seconds, pixels = {}, {}
                for way in taken:
                    with as_before() if way == "before" else nullcontext():
                        start = time.process_time()
                        done = protect_photo(Read(photo.pixels), settings, np.random.default_rng(0))
                        seconds[way], pixels[way] = time.process_time() - start, done.photo.pixels
                if repeat:  # the first round loads networks
                    for way in taken:
                        taken[way].append(seconds[way])
                same += repeat == 0 and np.array_equal(pixels["before"], pixels["default"])
        ratios = np.array(taken["default"]) / np.array(taken["before"])
        results[name] = {
            "photos": len(photos),
            "ms_before": 1000 * float(np.median(taken["before"])),
            "ms_default": 1000 * float(np.median(taken["default"])),
            "ratio": float(np.median(ratios)),
            "same_pixels": int(same),
        }
        print(name, results[name], flush=True)
    return results


def print_tables(results: dict) -> None:
    print("\n| condition | faces | before | default | thorough | false boxes before | now |")
    print("| --- " * 7 + "|")
    for name, row in results["recall"].items():
        values = " | ".join(f"{row[way]:.3f}" for way in WAYS)
        false = results["false_boxes"][name]
        print(f"| {name} | {row['faces']} | {values} | {false['before']} | {false['default']} |")
    print("\n| method | ms before | ms now | ratio | photos | of these written as before |")
    print("| --- " * 6 + "|")
    for name, row in results["time"].items():
        times = f"{row['ms_before']:.0f} | {row['ms_default']:.0f} | {row['ratio']:.3f}"
        print(f"| {name} | {times} | {row['photos']} | {row['same_pixels']} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--set", choices=("settle", "confirm"), default="confirm")
    parser.add_argument("--singles", type=int, default=96)
    parser.add_argument("--scenes", type=int, default=4)
    parser.add_argument("--faceless", type=int, default=40, help="photos whose head is painted over, at most")
    parser.add_argument("--textures", type=int, default=4)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("-o", "--output", type=Path, default=Path("hard_photos.json"))
    options = parser.parse_args()
    photos = known_photos(options.set == "confirm", options.singles, options.scenes)
    scenes = [scene(5000 + n, photos[: options.singles]) for n in range(12)]
    results = {
        "faceveil": __version__,
        "machine": f"{platform.machine()}, Python {platform.python_version()}",
        "set": options.set,
        "time": measure_time(scenes, options.repeats),
        "false_boxes": measure_false(faceless_photos(photos[: options.faceless], options.textures)),
        "recall": measure_recall(photos),
    }
    options.output.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    print_tables(results)


if __name__ == "__main__":
    main()
