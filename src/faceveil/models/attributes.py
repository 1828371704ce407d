"""What networks read in a face: age, gender as a classifier sees it, expression."""

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from faceveil.faces.align import Alignment, similarity
from faceveil.faces.face import Face, Image
from faceveil.models.recognizers import TEMPLATES
from faceveil.models.runtime import load

EXPRESSIONS = ("angry", "disgust", "fear", "happy", "sad", "surprise", "neutral")
MEAN = np.array([122.782, 117.001, 104.298], np.float32)  # dlib's, of red, green, blue
FEMALE = 0  # of the gender network's two outputs (measured on labelled photos)
PADDING = 0.2  # of the chips that the age and gender networks were trained on


@dataclass(frozen=True, eq=False)
class Attributes:
    """Of one face."""

    age: float  # expected years
    female: float  # probability, as the classifier sees it
    expression: NDArray[np.float32]  # probabilities in the order of EXPRESSIONS


def attributes(image: Image, face: Face) -> Attributes:
    """Read one face of a photo. Cost: a few milliseconds."""
    years = load("age.v1", shape=(1, 3, 64, 64))(_planes(_chip(image, face, 64)))[0][0]
    gender = load("gender.v1", shape=(1, 3, 32, 32))(_planes(_chip(image, face, 32)))[0][0]
    return Attributes(float(years @ np.arange(81)), float(gender[FEMALE]), _expression(image, face))


def _chip(image: Image, face: Face, size: int) -> Image:
    """dlib's chip with its default padding: the dlib-150 template has a padding of 0.25."""
    unit = TEMPLATES["dlib-150"] / 150 * 1.5 - 0.25
    template = (unit + PADDING) / (1 + 2 * PADDING) * size
    return Alignment(similarity(face.points, template), size).crop(image)


def _planes(chip: Image) -> NDArray[np.float32]:
    return np.ascontiguousarray(((chip.astype(np.float32) - MEAN) / 256).transpose(2, 0, 1)[None])


def _expression(image: Image, face: Face) -> NDArray[np.float32]:
    """The network was trained on upright boxes around the face with little margin, in grey."""
    x0, y0, x1, y1 = face.box_xyxy
    side = 1.1 * max(x1 - x0, y1 - y0)
    to_crop = np.array([[64 / side, 0, 32 - (x0 + x1) / 2 * 64 / side], [0, 64 / side, 32 - (y0 + y1) / 2 * 64 / side]])
    grey = cv2.cvtColor(Alignment(to_crop, 64).crop(image), cv2.COLOR_RGB2GRAY).astype(np.float32)
    return np.asarray(load("expression.fer")((grey / 127.5 - 1)[None, :, :, None])[0][0], np.float32)
