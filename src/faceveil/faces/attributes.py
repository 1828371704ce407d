"""What networks read in a face of a photo: age, gender as a classifier sees it, pose, expression, AttrNet's labels;
and the skin's tone.

    attribute_names()                               # the columns of the attribute space
    attribute_vector(image, face)                   # one face of a photo, all from 0 to 1
    attribute_vector(image, face, ["smiling"])      # chosen columns; only their networks run
"""

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from faceveil.errors import UsageError
from faceveil.faces.align import Alignment, align_ffhq, similarity
from faceveil.faces.face import Face, Floats, Image
from faceveil.faces.face_set import CROP_SIZE
from faceveil.faces.mesh import pose, with_mesh
from faceveil.models.attributes import (
    AGE_SIZE,
    EXPRESSION_SIZE,
    EXPRESSIONS,
    GENDER_SIZE,
    age,
    expression,
    female,
)
from faceveil.models.attrnet import AttrNet, offered_labels
from faceveil.models.recognizers import TEMPLATES
from faceveil.models.sampling import Square

# Where faces lie in FFHQ's crop: the mean of YuNet's points and boxes over FFHQ, in sides of the crop.
FFHQ_POINTS = np.array([[0.380, 0.469], [0.619, 0.471], [0.495, 0.616], [0.391, 0.725], [0.605, 0.727]])
FFHQ_BOX = np.array([0.233, 0.185, 0.783, 0.919])
OLDEST = 100.0  # years; the age that counts as 1
EXPRESSION_NAMES = tuple(f"expression {name}" for name in EXPRESSIONS)
MARGINS = (1.0, 1.2)  # of the squares that the expression network reads, in sides of the face's box
PADDING = 0.2  # of the chips that the age and gender networks know; that of the dlib-150 template is 0.25


@dataclass(frozen=True, eq=False)
class Attributes:
    """Of one face."""

    age: float  # expected years
    female: float  # probability, as the classifier sees it
    expression: NDArray[np.float32]  # probabilities in the order of EXPRESSIONS


def attributes(image: Image, face: Face) -> Attributes:
    """Read one face of a photo. Cost: a few milliseconds."""
    return Attributes(
        age(_chip(image, face, AGE_SIZE)),
        female(_chip(image, face, GENDER_SIZE)),
        expression_of(image, face),
    )


def attribute_names(net: AttrNet | None = None) -> tuple[str, ...]:
    """The columns of the attribute space."""
    labels = offered_labels() if net is None else net.labels
    return ("age", "gender", "yaw", "pitch", *labels, *EXPRESSION_NAMES)


def attribute_vector(
    image: Image,
    face: Face,
    names: Sequence[str] | None = None,
    net: AttrNet | None = None,
    crop: Image | None = None,
) -> NDArray[np.float32]:
    """These attributes (all, if None) of one face of a photo, from 0 to 1. Cost: some 20 ms for all.

    `crop` is the face in FFHQ's alignment, where it is at hand.
    """
    net = net or AttrNet()
    every = attribute_names(net)
    wanted = every if names is None else tuple(names)
    if missing := [name for name in wanted if name not in every]:
        raise UsageError(f"no attribute is named {missing[0]!r}; there are {', '.join(every)}.")
    values: dict[str, float] = {}
    if "age" in wanted:  # each network runs only where it is asked
        values["age"] = min(age(_chip(image, face, AGE_SIZE)) / OLDEST, 1.0)
    if "gender" in wanted:
        values["gender"] = female(_chip(image, face, GENDER_SIZE))
    if "yaw" in wanted or "pitch" in wanted:
        values |= _turn(image, face)
    if any(name in net.labels for name in wanted):
        aligned = align_ffhq(face, CROP_SIZE).crop(image) if crop is None else crop
        values |= dict(zip(net.labels, net.read(aligned[None])[0], strict=True))
    if any(name in EXPRESSION_NAMES for name in wanted):
        values |= dict(zip(EXPRESSION_NAMES, expression_of(image, face), strict=True))
    return np.array([values[name] for name in wanted], np.float32)


def _turn(image: Image, face: Face) -> dict[str, float]:
    """Where the head looks, 0.5 straight ahead, 90° to either side at the ends."""
    turned = pose(face if face.mesh is not None else with_mesh(image, [face])[0])
    scaled = np.clip(0.5 + np.array([turned.yaw, turned.pitch]) / 180, 0, 1)
    return dict(zip(("yaw", "pitch"), scaled.tolist(), strict=True))


def face_at(points: NDArray[np.floating]) -> Face:
    """A face of which only the five points are known, as in an aligned crop; its box lies as in FFHQ."""
    to_here = similarity(FFHQ_POINTS, np.asarray(points, np.float64))
    low, high = FFHQ_BOX[:2], FFHQ_BOX[2:]
    centre = to_here[:, :2] @ (low + high) / 2 + to_here[:, 2]
    half = (high - low) / 2 * np.sqrt(np.linalg.det(to_here[:, :2]))
    box: Floats = np.concatenate([centre - half, centre + half])
    return Face(box, np.asarray(points, np.float64), 1.0, "points")


def _chip(image: Image, face: Face, size: int) -> Image:
    """dlib's chip with its default padding."""
    unit = TEMPLATES["dlib-150"] / 150 * 1.5 - 0.25
    template = (unit + PADDING) / (1 + 2 * PADDING) * size
    return Alignment(similarity(face.points, template), size).crop(image)


def expression_of(image: Image, face: Face) -> NDArray[np.float32]:
    """Probabilities of EXPRESSIONS: by the detector's box, as others read it, and by the points with two margins,
    each also mirrored: half and half, for one crop alone is read otherwise after the slightest change."""
    views = [_square(image, face, margin) for margin in MARGINS]
    views += [np.ascontiguousarray(view[:, ::-1]) for view in views]
    placed = np.mean([expression(view) for view in views], axis=0)
    return np.asarray((expression(_box(image, face)) + placed) / 2, np.float32)


def expression_squares() -> list[Square]:
    """Where those placed by the points lie in a crop of FFHQ's alignment."""
    low, high = FFHQ_BOX[:2], FFHQ_BOX[2:]
    sides = [margin * (high - low).max() for margin in MARGINS]
    return [(*((low + high - side) / 2).tolist(), side) for side in sides]


def _box(image: Image, face: Face) -> Image:
    """An upright square around the box with little margin, in grey."""
    zoom = EXPRESSION_SIZE / (1.1 * max(face.size_wh))
    to_crop = np.array([[zoom, 0, 0], [0, zoom, 0]])
    to_crop[:, 2] = EXPRESSION_SIZE / 2 - face.centre * zoom
    crop = Alignment(to_crop, EXPRESSION_SIZE).crop(image)
    return np.asarray(cv2.cvtColor(crop, cv2.COLOR_RGB2GRAY), np.uint8)


def _square(image: Image, face: Face, margin: float) -> Image:
    """A square around the face in grey, placed by its five points, which lie alike in photos and in crops."""
    low, high = FFHQ_BOX[:2], FFHQ_BOX[2:]
    zoom = EXPRESSION_SIZE / (margin * (high - low).max())
    template = (FFHQ_POINTS - (low + high) / 2) * zoom + EXPRESSION_SIZE / 2
    crop = Alignment(similarity(face.points, template), EXPRESSION_SIZE).crop(image)
    return np.asarray(cv2.cvtColor(crop, cv2.COLOR_RGB2GRAY), np.uint8)


def skin_angle(image: Image, face: Face) -> float:
    """The individual typology angle of the cheeks, in degrees: high is light (Chardon et al. 1991).

    NaN for a grey photo, which does not tell.
    """
    right_eye, left_eye, _, right_mouth, left_mouth = face.points
    reach = 0.12 * np.hypot(*(left_eye - right_eye))
    pixels = []
    for eye, mouth in ((right_eye, right_mouth), (left_eye, left_mouth)):
        x, y = 0.4 * eye + 0.6 * mouth
        rows, columns = (slice(max(0, int(v - reach)), max(0, int(v + reach) + 1)) for v in (y, x))
        pixels.append(image[rows, columns].reshape(-1, 3))
    cheeks = np.concatenate(pixels)
    if not len(cheeks):
        return float("nan")
    lab = cv2.cvtColor(cheeks[None].astype(np.float32) / 255, cv2.COLOR_RGB2LAB)[0]
    lightness, red, yellow = np.median(lab, axis=0)
    if np.hypot(red, yellow) < 2:
        return float("nan")
    return float(np.degrees(np.arctan2(lightness - 50, yellow)))
