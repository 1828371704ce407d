"""Scenes with known answers: faces of 12 px to the whole frame, upright and tilted, in large pictures.

Faces are generated people from examples/ and, where `../shared/data` (or FACEVEIL_DATA) is there, real faces too.
Grounds are smooth textures, clutter and two photographs without people that come with scikit-learn.
"""

import os
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from sklearn.datasets import load_sample_images

from faceveil.faces import find_faces
from faceveil.photos import read_photo

ROOT = Path(__file__).parent.parent
DATA = Path(os.environ.get("FACEVEIL_DATA", ROOT.parent / "shared" / "data"))


@dataclass(frozen=True)
class Truth:
    """A face that was put into a scene: centre, width and height in pixels, tilt in degrees."""

    x: float
    y: float
    width: float
    height: float
    tilt: float

    def inner(self, shape: tuple[int, ...]) -> np.ndarray:
        """The middle of the face as a mask: an ellipse of 0.6 of its size."""
        mask = np.zeros(shape[:2], np.uint8)
        cv2.ellipse(mask, ((self.x, self.y), (0.6 * self.width, 0.6 * self.height), self.tilt), 255, -1)
        return mask > 0


def cut_out_faces(real: int = 300) -> list[tuple[np.ndarray, np.ndarray]]:
    """Pictures of one head each, with the box of its face."""
    paths = sorted((ROOT / "examples" / "photos").glob("portrait-*.jpg"))
    if DATA.is_dir():
        paths += sorted((DATA / "ffhq").glob("*.jpg"))[:real]
        paths += sorted((DATA / "lfw" / "images").rglob("*.jpg"))[::40][:real]
    faces = []
    for path in paths:
        image = read_photo(path).pixels
        found = find_faces(image)
        if found:
            faces.append((image, max(found, key=lambda face: face.size_wh[0]).box_xyxy))
    return faces


def make_scene(
    seed: int, faces: list[tuple[np.ndarray, np.ndarray]], width: int, height: int
) -> tuple[np.ndarray, list[Truth]]:
    """One scene of three to seven faces that do not overlap; sizes are spread evenly on a logarithmic scale."""
    rng = np.random.default_rng(seed)
    image = _ground(rng, width, height)
    taken = np.zeros((height, width), bool)
    truths = []
    for _ in range(rng.integers(3, 8)):
        head, box = faces[rng.integers(len(faces))]
        size = float(np.exp(rng.uniform(np.log(12), np.log(0.55 * height))))
        tilt = 0.0 if rng.random() < 0.5 else float(rng.uniform(-45, 45))
        reach = 1.3 * size
        x, y = (
            (rng.uniform(reach, side - reach) if 2 * reach < side else side / 2) for side in (width, height)
        )
        window = (
            slice(max(0, int(y - reach)), int(y + reach) + 1),
            slice(max(0, int(x - reach)), int(x + reach) + 1),
        )
        if taken[window].any():
            continue
        taken[window] = True
        image = put(image, head, box, x, y, size, tilt)
        truths.append(Truth(x, y, size, size * float((box[3] - box[1]) / (box[2] - box[0])), tilt))
    return image, truths


def put(
    image: np.ndarray, head: np.ndarray, box: np.ndarray, x: float, y: float, size: float, tilt: float
) -> np.ndarray:
    """The picture with a head in it, its face of this size and tilt at this place."""
    scale = size / (box[2] - box[0])
    small = cv2.resize(head, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA) if scale < 1 else head
    shrunk = small.shape[1] / head.shape[1]
    centre = (box[:2] + box[2:]) / 2 * shrunk
    turn = cv2.getRotationMatrix2D((float(centre[0]), float(centre[1])), -tilt, scale / shrunk)
    turn[:, 2] += np.array([x, y]) - centre
    frame = image.shape[1], image.shape[0]
    mask = np.zeros(image.shape[:2], np.float32)
    cv2.ellipse(mask, ((x, y - 0.1 * size), (1.75 * size, 2.2 * size), tilt), 1, -1)
    mask *= cv2.warpAffine(np.ones(small.shape[:2], np.float32), turn, frame)
    mask = cv2.GaussianBlur(mask, (0, 0), max(0.5, 0.05 * size))[..., None]
    put = cv2.warpAffine(small, turn, frame, flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT)
    return np.asarray(image * (1 - mask) + put * mask + 0.5).astype(np.uint8)


def _ground(rng: np.random.Generator, width: int, height: int) -> np.ndarray:
    kind = rng.integers(4)
    if kind < 2:
        photo = load_sample_images().images[kind]
        scale = max(width / photo.shape[1], height / photo.shape[0]) * rng.uniform(1, 1.5)
        photo = cv2.resize(photo, None, fx=scale, fy=scale, interpolation=cv2.INTER_CUBIC)
        y, x = rng.integers(photo.shape[0] - height + 1), rng.integers(photo.shape[1] - width + 1)
        return np.asarray(photo[y : y + height, x : x + width]).copy()
    if kind == 2:
        texture = np.zeros((height, width, 3), np.float32)
        for octave in range(3, 9):
            noise = rng.normal(size=(2**octave, 2**octave, 3)).astype(np.float32)
            texture += cv2.resize(noise, (width, height), interpolation=cv2.INTER_CUBIC) / 2 ** (octave - 3)
        return np.clip(128 + 40 * texture, 0, 255).astype(np.uint8)
    clutter = np.full((height, width, 3), rng.integers(60, 200, 3), np.uint8)
    for _ in range(120):
        a, b = rng.integers(0, [width, height]), rng.integers(0, [width, height])
        colour = rng.integers(0, 255, 3).tolist()
        if rng.random() < 0.5:
            corner = a + rng.integers(5, 200, 2)
            cv2.rectangle(clutter, a.tolist(), corner.tolist(), colour, -1)
        else:
            cv2.line(clutter, a.tolist(), b.tolist(), colour, int(rng.integers(1, 12)))
    return np.asarray(cv2.GaussianBlur(clutter, (0, 0), 1.0), np.uint8)
