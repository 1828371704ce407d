"""Quality against seconds on the way into the latent space: python -m benchmarks.inversion [--faces 60]

Photos of people that training never saw (the held-out FFHQ faces, and LFW people, one photo of each), found and
aligned as a user's photo is. Original → full render, both at 256 px: the distance of dlib's recogniser, which
neither encoder nor projector uses, and the share under its 0.6; LPIPS; the error of the head's pose; whether the
gender classifier says the same, and whether it or AttrNet does: it sees 32 px and errs in a photo too; seconds of CPU
time a face on one core.
"""

import argparse
import json
import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import cv2
import numpy as np
from training.evaluate import embed
from training.real_faces import list_faces

from faceveil.faces import Face, align_ffhq, find_faces, pose
from faceveil.faces.attributes import attributes
from faceveil.models.attrnet import AttrNet
from faceveil.models.encoder import Encoder
from faceveil.models.generator import Generator
from faceveil.models.lpips import lpips
from faceveil.models.projector import FEW, MIKU, QUICK, REFINE, project
from faceveil.models.segmenter import person_mask
from faceveil.photos import read_photo

SIZE = 256
RENDER = 512  # the low band of the full render, exactly
ON_A_V100 = "MIKU's projector on a V100 (its authors' figure)", 30.0
Images = np.ndarray


@dataclass(frozen=True)
class Row:
    """One way into the space, on one set."""

    way: str
    set: str
    faces: int
    dlib: float
    under: float  # share under 0.6
    lpips: float
    pose: float  # degrees, mean of yaw, pitch and roll
    gender: float  # share kept
    either: float  # share kept to the classifier or to AttrNet
    seconds: float  # CPU time a face


def aligned(data: Path, set_: str, count: int) -> Images:
    """The first held-out people's faces as users' photos are aligned; FFHQ's are aligned by their authors."""
    crops: dict[str, Images] = {}
    for path, face in list_faces(data):
        if face.set != set_ or not face.held_out or face.person in crops or len(crops) == count:
            continue
        photo = read_photo(path).pixels
        if set_ == "ffhq":
            crops[face.person] = cv2.resize(photo, (SIZE, SIZE), interpolation=cv2.INTER_AREA)
            continue
        middle = np.array(photo.shape[1::-1]) / 2
        found = sorted(find_faces(photo), key=lambda f: float(np.linalg.norm(f.centre - middle)))
        if found:
            crops[face.person] = align_ffhq(found[0], SIZE).crop(photo)
    return np.stack(list(crops.values()))


def ways(encoder: Encoder) -> dict[str, Callable[[Images], np.ndarray]]:
    """Each takes crops to W+."""

    def refined(steps: int) -> Callable[[Images], np.ndarray]:
        recipe = QUICK if steps <= FEW else REFINE
        return lambda crops: project(crops, encoder.encode(crops), steps, recipe)

    def as_miku(steps: int) -> Callable[[Images], np.ndarray]:
        """From the mean face, VGG's maps, background masked."""
        return lambda crops: project(
            crops, None, steps, MIKU, np.stack([person_mask(crop) for crop in crops])
        )

    return {
        "encoder": encoder.encode,
        "encoder, refine 2": refined(2),
        "encoder, refine 4": refined(4),
        "encoder, refine 10": refined(10),
        "encoder, refine 20": refined(20),
        "encoder, refine 50": refined(50),
        "MIKU's projector here, 50 steps": as_miku(50),
        "MIKU's projector here, 100 steps": as_miku(100),
    }


def measure(way: str, set_: str, crops: Images, invert: Callable[[Images], np.ndarray]) -> Row:
    invert(crops[:1])  # warm-up
    begin = time.process_time()
    wplus = invert(crops)
    seconds = (time.process_time() - begin) / len(crops)
    renders = [
        cv2.resize(image, (SIZE, SIZE), interpolation=cv2.INTER_AREA)
        for image in Generator().render_each(wplus, RENDER)
    ]
    return compare(way, set_, list(zip(crops, renders, strict=True)), seconds)


def blurred(set_: str, crops: Images) -> Row:
    """What the judges themselves lose when a photo is a little soft: nobody can be asked for more."""
    return compare(
        "slightly blurred photo", set_, [(crop, cv2.GaussianBlur(crop, (0, 0), 1.5)) for crop in crops]
    )


def compare(way: str, set_: str, pairs: list[tuple[Images, Images]], seconds: float = 0) -> Row:
    """A way's row, from photos and what it made of them."""
    identity = np.array([np.linalg.norm(embed(a) - embed(b)) for a, b in pairs])
    heads = [(_head(a), _head(b)) for a, b in pairs]
    seen = [(a, b) for a, b in heads if a and b]
    kept = np.array([a.women == b.women for a, b in seen])  # faces × two networks
    return Row(
        way,
        set_,
        len(pairs),
        float(identity.mean()),
        float((identity < 0.6).mean()),
        float(np.mean([lpips(a, b) for a, b in pairs])),
        float(np.mean([np.abs(a.turned - b.turned).mean() for a, b in seen])),
        float(kept[:, 0].mean()),
        float(kept.any(axis=1).mean()),
        seconds,
    )


@dataclass(frozen=True, eq=False)
class Head:
    """What is read in a face."""

    turned: np.ndarray  # degrees
    women: np.ndarray  # whether the classifier and AttrNet see one


def _head(crop: Images) -> Head | None:
    """None where no face is found."""
    faces: list[Face] = find_faces(crop)
    if not faces:
        return None
    turned, net = pose(faces[0]), AttrNet()
    female = attributes(crop, faces[0]).female, net.read(crop[None])[0, net.labels.index("female")]
    return Head(np.array([turned.yaw, turned.pitch, turned.roll]), np.array(female) > 0.5)


def show(r: Row) -> Row:
    print(
        f"| {r.way} | {r.set} | {r.faces} | {r.dlib:.3f} | {r.under:.0%} | {r.lpips:.3f} | {r.pose:.1f}° "
        f"| {r.gender:.0%} | {r.either:.0%} | {r.seconds:.2f} |",
        flush=True,
    )
    return r


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--faces", type=int, default=60, help="Of each set.")
    parser.add_argument("--only", default="", help="Ways whose name ends so: encoder, 'refine 20'.")
    parser.add_argument("--json", type=Path, help="Write the figures here as well.")
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("FACEVEIL_DATA", default)))
    parser.add_argument("--weights", type=Path, help="Another encoder.npz than the one that ships.")
    options = parser.parse_args()
    encoder = Encoder(options.weights) if options.weights else Encoder()
    print("| way | set | faces | dlib | under 0.6 | LPIPS | pose | gender kept | by either | CPU s a face |")
    print("| --- " * 10 + "|", flush=True)
    sets = {set_: aligned(options.data, set_, options.faces) for set_ in ("ffhq", "lfw")}
    chosen = {way: invert for way, invert in ways(encoder).items() if way.endswith(options.only)}
    rows = [show(blurred(set_, crops)) for set_, crops in sets.items()]
    for way, invert in chosen.items():
        for set_, crops in sets.items():
            rows.append(show(measure(way, set_, crops, invert)))
            if options.json:
                options.json.write_text(json.dumps([asdict(row) for row in rows], indent=1))
    print(f"| {ON_A_V100[0]} {'| – ' * 8}| {ON_A_V100[1]:.0f} |")


if __name__ == "__main__":
    main()
