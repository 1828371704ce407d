"""What networks read in a face of a photo: age, gender as a classifier sees it, expression; and the skin's tone."""

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from faceveil.faces.align import Alignment, similarity
from faceveil.faces.face import Face, Image
from faceveil.models.attributes import AGE_SIZE, EXPRESSION_SIZE, GENDER_SIZE, age, expression, female
from faceveil.models.recognizers import TEMPLATES

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
        expression(_box(image, face)),
    )


def _chip(image: Image, face: Face, size: int) -> Image:
    """dlib's chip with its default padding."""
    unit = TEMPLATES["dlib-150"] / 150 * 1.5 - 0.25
    template = (unit + PADDING) / (1 + 2 * PADDING) * size
    return Alignment(similarity(face.points, template), size).crop(image)


def _box(image: Image, face: Face) -> Image:
    """An upright square around the face with little margin, in grey, as the expression network knows it."""
    zoom = EXPRESSION_SIZE / (1.1 * max(face.size_wh))
    to_crop = np.array([[zoom, 0, 0], [0, zoom, 0]])
    to_crop[:, 2] = EXPRESSION_SIZE / 2 - face.centre * zoom
    crop = Alignment(to_crop, EXPRESSION_SIZE).crop(image)
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
