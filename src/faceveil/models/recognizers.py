"""Face recognisers: an embedding space with a distance, a threshold and its false-match rate.

    A  mobilenet.facelib       MobileNet, ArcFace loss, cosine
    B  dlib-resnet.v1          dlib's ResNet, Euclidean, the papers' 0.6
    C  mobilefacenet.facesdk   MobileFaceNet, cosine
    D  sface.2021dec           SFace, cosine; the one that is open to commercial use
    E  facenet.512             FaceNet (Inception-ResNet v1), cosine; the recogniser of the papers

The first three watch over new faces unless others are named (`WATCHING`); the last two take no part in making any
unless they are named, so they are the ones to judge by.

Each takes crops that are already aligned: five points (eyes, nose tip, mouth corners; the image's left first)
brought to the places in `TEMPLATES` by a similarity transform. Thresholds and rates were measured on LFW by
`benchmarks/recognizers.py`.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from faceveil.errors import UsageError
from faceveil.models.cards import card
from faceveil.models.dlib_resnet import dlib_resnet
from faceveil.models.mobilefacenet import mobilefacenet
from faceveil.models.runtime import Network, load
from faceveil.models.store import weights

Crops = NDArray[np.uint8]
Points = NDArray[np.float64]
Embeddings = NDArray[np.float32]
Template = Literal["arcface-112", "dlib-150", "facenet-160"]

TEMPLATES: Mapping[Template, Points] = {
    # The published template of ArcFace.
    "arcface-112": np.array(
        [[38.2946, 51.6963], [73.5318, 51.5014], [56.0252, 71.7366], [41.5493, 92.3655], [70.7299, 92.2041]]
    ),
    # The same points in a wider crop: 1.2 times as large in 160 px was right most often on 500 pairs of LFW.
    "facenet-160": np.array([[58.8, 74.8], [101.0, 74.6], [80.0, 98.9], [62.8, 123.6], [97.7, 123.4]]),
    # Where the five points lie (median on LFW, made symmetric) in the chips that dlib cuts along its own.
    "dlib-150": np.array([[46.9, 45.7], [103.1, 45.7], [75.0, 77.9], [51.0, 102.0], [99.0, 102.0]]),
}


@dataclass(frozen=True)
class Operating:
    """What was measured of a recogniser on LFW."""

    threshold: float  # below this distance two faces count as one person
    false_match_rate: float  # of two people, at that threshold
    false_non_match_rate: float  # of one person's two photos, at that threshold
    accuracy: float  # of the pairs protocol, threshold chosen on the other folds
    at_rate: Mapping[float, float]  # false-match rate -> threshold
    strangers: float  # mean squared length between the vectors of two people


class Recognizer(ABC):
    """An embedding of aligned face crops, and when two embeddings count as one person."""

    id: str
    size: int
    template: Template
    dimensions: int = 128
    operating: Operating
    of_length_one: bool  # its vectors

    @property
    def threshold(self) -> float:
        return self.operating.threshold

    @property
    def false_match_rate(self) -> float:
        return self.operating.false_match_rate

    def embed(self, crops: Crops) -> Embeddings:
        """N aligned crops, RGB uint8 N×size×size×3, as N embeddings of `dimensions` numbers."""
        wanted = (self.size, self.size, 3)
        if crops.ndim != 4 or crops.shape[1:] != wanted or crops.dtype != np.uint8:
            raise UsageError(
                f"{self.id} takes uint8 crops (N, {self.size}, {self.size}, 3) in the {self.template} "
                f"template, not {crops.dtype} {crops.shape}. Align the faces first."
            )
        if len(crops) == 0:
            return np.zeros((0, self.dimensions), np.float32)
        return self._embed(crops)

    @abstractmethod
    def _embed(self, crops: Crops) -> Embeddings: ...

    @abstractmethod
    def distance(self, a: Embeddings, b: Embeddings) -> NDArray[np.float32]:
        """The distance along the last axis; the others broadcast."""

    def matches(self, a: Embeddings, b: Embeddings) -> NDArray[np.bool_]:
        """Whether the recogniser takes the two for one person."""
        return self.distance(a, b) < self.threshold


class _Cosine(Recognizer):
    """Embeddings of length one; the distance is 1 - cosine, from 0 to 2."""

    size = 112
    template: Template = "arcface-112"
    of_length_one = True

    def distance(self, a: Embeddings, b: Embeddings) -> NDArray[np.float32]:
        return np.asarray(1 - np.sum(a * b, axis=-1), np.float32)

    def _embed(self, crops: Crops) -> Embeddings:
        # One at a time, so that a crop's numbers do not depend on its company.
        rows = np.concatenate([self._network(self._prepare(crop[None]))[0] for crop in crops])
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)

    @property
    @abstractmethod
    def _network(self) -> Network: ...

    @abstractmethod
    def _prepare(self, crops: Crops) -> NDArray[np.float32]: ...


class MobileNetFacelib(_Cosine):
    """Recogniser A. The network scales its input itself: raw 0-255 (scaled input drops it to 63 % on LFW)."""

    id = "mobilenet.facelib"
    operating = Operating(0.706, 0.0201, 0.0193, 0.985, {1e-2: 0.671, 1e-3: 0.566, 1e-4: 0.484}, 1.86)

    @cached_property
    def _network(self) -> Network:
        return load(self.id)

    def _prepare(self, crops: Crops) -> NDArray[np.float32]:
        return crops.astype(np.float32)


class MobileFaceNetFacesdk(_Cosine):
    """Recogniser C. RGB with ImageNet's mean and deviation, planes first."""

    id = "mobilefacenet.facesdk"
    operating = Operating(0.745, 0.0090, 0.0153, 0.990, {1e-2: 0.749, 1e-3: 0.666, 1e-4: 0.599}, 1.98)
    mean = np.array([0.485, 0.456, 0.406], np.float32)
    deviation = np.array([0.229, 0.224, 0.225], np.float32)

    @cached_property
    def _network(self) -> Network:
        return Network(mobilefacenet(weights(self.id)))

    def _prepare(self, crops: Crops) -> NDArray[np.float32]:
        scaled = (crops.astype(np.float32) / 255 - self.mean) / self.deviation
        return np.ascontiguousarray(scaled.transpose(0, 3, 1, 2))


class DlibResnet(Recognizer):
    """Recogniser B: dlib's ResNet with the papers' threshold of 0.6. Not scaled to length one.

    Measured on the photos of LFW's first two folds.
    """

    id = "dlib-resnet.v1"
    size = 150
    template: Template = "dlib-150"
    of_length_one = False
    operating = Operating(0.6, 0.0061, 0.0233, 0.987, {1e-2: 0.616, 1e-3: 0.545, 1e-4: 0.482}, 0.68)

    def distance(self, a: Embeddings, b: Embeddings) -> NDArray[np.float32]:
        return np.asarray(np.linalg.norm(a - b, axis=-1), np.float32)

    @cached_property
    def _network(self) -> Network:
        return Network(dlib_resnet(weights(self.id)))

    def _embed(self, crops: Crops) -> Embeddings:
        planes = np.ascontiguousarray(crops.transpose(0, 3, 1, 2), np.float32)
        return np.concatenate([self._network(plane[None])[0] for plane in planes])


class SFace(_Cosine):
    """Recogniser D. RGB 0-255, planes first."""

    id = "sface.2021dec"
    operating = Operating(0.666, 0.0026, 0.0120, 0.994, {1e-2: 0.707, 1e-3: 0.640, 1e-4: 0.584}, 1.83)

    @cached_property
    def _network(self) -> Network:
        return load(self.id)

    def _prepare(self, crops: Crops) -> NDArray[np.float32]:
        return np.ascontiguousarray(crops.transpose(0, 3, 1, 2), np.float32)


class FaceNet(_Cosine):
    """Recogniser E. Its crops are wider than ArcFace's, as MTCNN's boxes with their margin are."""

    id = "facenet.512"
    size = 160
    template: Template = "facenet-160"
    dimensions = 512
    operating = Operating(0.601, 0.0258, 0.0327, 0.973, {1e-2: 0.544, 1e-3: 0.436, 1e-4: 0.353}, 1.77)

    @cached_property
    def _network(self) -> Network:
        return load(self.id)

    def _prepare(self, crops: Crops) -> NDArray[np.float32]:
        return (crops.astype(np.float32) - np.float32(127.5)) / np.float32(128)


OPEN, ALL = "open", "all"  # names of several
WATCHING = (MobileNetFacelib.id, DlibResnet.id, MobileFaceNetFacesdk.id)
RECOGNIZERS: Mapping[str, type[Recognizer]] = {
    kind.id: kind for kind in (MobileNetFacelib, DlibResnet, MobileFaceNetFacesdk, SFace, FaceNet)
}


@cache
def recognizer(name: str) -> Recognizer:
    """The recogniser of that id; loaded on first use and kept."""
    if name not in RECOGNIZERS:
        raise UsageError(f"no recogniser is named {name!r}. There are: {', '.join(RECOGNIZERS)}.")
    return RECOGNIZERS[name]()


def recognizers_named(names: Iterable[str]) -> tuple[str, ...]:
    """The ids of those named: by id, as OPEN, whose terms allow commercial use, or as ALL."""
    several = {
        OPEN: [name for name in RECOGNIZERS if card(name).commercial == "open"],
        ALL: list(RECOGNIZERS),
    }
    found = tuple(dict.fromkeys(one for name in names for one in several.get(name, [name])))
    if unknown := [name for name in found if name not in RECOGNIZERS]:
        known = ", ".join((*RECOGNIZERS, *several))
        raise UsageError(f"no recogniser is named {unknown[0]!r}. There are: {known}.")
    return found


def widest(names: Iterable[str]) -> int:
    """How many numbers a row needs to hold the embedding of any of these."""
    return max((RECOGNIZERS[name].dimensions for name in names), default=Recognizer.dimensions)


def dlib_chip(image_rgb: NDArray[np.uint8], points: Points) -> NDArray[np.uint8]:
    """The 150×150 chip as dlib itself cuts it: its five-point predictor on a box like its own detector's.

    `points` are the usual five; the box was fitted to dlib's detector on LFW.
    Slower than a transform to the dlib-150 template, and about as good.
    """
    import dlib

    eyes, mouth = points[:2].mean(0), points[3:].mean(0)
    scale = max(np.linalg.norm(points[1] - points[0]), np.linalg.norm(mouth - eyes))
    centre, half = (eyes + mouth) / 2, 2.33 * scale / 2
    left, top, right, bottom = (round(value) for value in (*(centre - half), *(centre + half)))
    shape = _dlib_points()(image_rgb, dlib.rectangle(left, top, right, bottom))
    chip: NDArray[np.uint8] = dlib.get_face_chip(image_rgb, shape, 150, 0.25)
    return chip


@cache
def _dlib_points() -> Any:
    import dlib

    return dlib.shape_predictor(str(weights("dlib-shape.5")))
