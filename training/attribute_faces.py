"""The faces that AttrNet is trained on, at 128 px, each with its target.

Generated faces bring pairs that photos do not have: the same person with and without glasses, a beard, a hat. A
label's direction in W+ is a ridge regression of the teacher's opinion on the whitened code; a face is moved
along it until the label should have flipped, rendered, and kept if the networks that judge the picture agree.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from faceveil.faces import align_ffhq, find_faces, with_mesh
from faceveil.faces.attributes import FFHQ_POINTS, attributes, face_at
from faceveil.models.attributes import EXPRESSIONS
from faceveil.models.attrnet import INPUT_SIZE
from faceveil.models.generator import Generator
from faceveil.models.wspace import w_space
from training.attribute_labels import COLUMN, Targets, from_networks, unknown

Images = NDArray[np.uint8]
Floats = NDArray[np.float32]

LIPS, CORNERS = (13, 14), (61, 291)  # of the mesh
COMPONENTS = 60  # of W, per slot, in which a direction is sought
MOVED = ("glasses", "smiling", "mouth open", "facial hair", "long hair", "bangs", "hat", "makeup", "bald")
HAPPY = EXPRESSIONS.index("happy")


@dataclass(frozen=True)
class Faces:
    images: Images
    targets: Targets
    photos: NDArray[np.str_]  # which photo each shows: copies of one photo share its name

    def __len__(self) -> int:
        return len(self.images)


def joined(parts: list[Faces]) -> Faces:
    columns = zip(*((part.images, part.targets, part.photos) for part in parts), strict=True)
    return Faces(*(np.concatenate(column) for column in columns))


def shrink(image: Images) -> Images:
    return np.asarray(cv2.resize(image, (INPUT_SIZE, INPUT_SIZE), interpolation=cv2.INTER_AREA), np.uint8)


def as_users_see(path: Path) -> Images | None:
    """A photo's central face as the program finds and aligns it, at 128 px; None if it finds none."""
    image = cv2.cvtColor(cv2.imread(str(path)), cv2.COLOR_BGR2RGB)
    faces = find_faces(image)
    if not faces:
        return None
    middle = np.array(image.shape[1::-1]) / 2
    face = max(faces, key=lambda f: f.size_wh[0] - np.hypot(*(f.centre - middle)))
    return shrink(align_ffhq(face, 2 * INPUT_SIZE).crop(image))


def look(crop: Images) -> tuple[float, float]:
    """P(happy) and the mouth's opening of a face in FFHQ's alignment."""
    side = crop.shape[0]
    face = with_mesh(crop, [face_at(FFHQ_POINTS * side)])[0]
    assert face.mesh is not None
    lips, corners = (np.hypot(*(face.mesh[a, :2] - face.mesh[b, :2])) for a, b in (LIPS, CORNERS))
    return float(attributes(crop, face).expression[HAPPY]), float(lips / corners)


def looked(crops: Iterable[Images], cache: Path) -> Floats:
    """`look` for each crop, kept in a file."""
    if not cache.exists():
        np.save(cache, np.array([look(np.asarray(crop)) for crop in crops], np.float32))
    return np.load(cache)


def directions(wplus: Floats, opinions: Floats, ridge: float = 1.0) -> Floats:
    """For each column of opinions (logits), the step in whitened W+ (slots × components) that raises it by 1."""
    codes = w_space().whiten(wplus.astype(np.float32), COMPONENTS).reshape(len(wplus), -1).astype(np.float64)
    codes -= codes.mean(axis=0)
    centred = opinions - opinions.mean(axis=0)
    spread = codes.T @ codes / len(codes) + ridge * np.eye(codes.shape[1])
    weights = np.linalg.solve(spread, codes.T @ centred / len(codes))
    steps = weights / (weights**2).sum(axis=0)
    return steps.T.reshape(opinions.shape[1], wplus.shape[1], COMPONENTS).astype(np.float32)


def moved(
    wplus: Floats,
    photos: NDArray[np.str_],
    opinions: Floats,
    count: int,
    judge: Callable[[Images], Floats],
    goal: float = 4.0,
) -> Faces:
    """`count` faces per label moved to the other side; kept where `judge` (logits per MOVED label) agrees."""
    steps, generator, space = directions(wplus, opinions), Generator(), w_space()
    basis = space.spread[:COMPONENTS, None] * space.axes[:COMPONENTS]
    images, targets, names = [], [], []
    for column, label in enumerate(MOVED):
        # Half become what they are not, half cease to be what they are; the least sure of them move least.
        order = np.argsort(np.abs(opinions[:, column]))
        lacking = [i for i in order if opinions[i, column] < 0][: count // 2]
        having = [i for i in order if opinions[i, column] > 0][: count // 2]
        for i in (*lacking, *having):
            wanted = goal if opinions[i, column] < 0 else -goal
            shift = (wanted - opinions[i, column]) * steps[column] @ basis
            image = generator.render((wplus[i] + shift)[None].astype(np.float32), INPUT_SIZE)[0]
            target = unknown(1)[0]
            if label in ("smiling", "mouth open"):
                target[COLUMN[label]] = from_networks(*look(image))[COLUMN[label]]
            elif judge(image[None])[0, column] * wanted > 0:
                target[COLUMN[label]] = wanted > 0
            if target[COLUMN[label]] == (wanted > 0):
                images.append(image)
                targets.append(target)
                names.append(photos[i])
        print(f"moved along {label}: {len(images)} kept so far", flush=True)
    return Faces(np.stack(images), np.stack(targets), np.array(names))
