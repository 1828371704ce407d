"""The smallest method that takes a whole set: group by a recogniser, replace each face by its group's mean."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from faceveil.faces import FaceSet
from faceveil.faces.align import Alignment, similarity
from faceveil.grouping import group
from faceveil.methods import METHODS, Release
from faceveil.models.recognizers import TEMPLATES, recognizer
from faceveil.privacy import Guarantee


@dataclass(frozen=True)
class PixelMean:
    """`withhold` leaves out the faces whose crop is the darkest, as a method may that finds no group for some."""

    options: ClassVar[tuple[str, ...]] = ("k", "recognizer", "grouper")
    id: ClassVar[str] = "pixel-mean"
    summary: ClassVar[str] = "the mean of each group's pixels"
    k: int = 3
    recognizer: str = "mobilenet.facelib"
    grouper: str = "best"
    withhold: int = 0

    @property
    def guarantee(self) -> Guarantee:
        sentence = f"Each face is shared by at least {self.k} people, who cannot be told apart by it."
        return Guarantee("k-anonymity", sentence, k=self.k)

    @property
    def parameters(self) -> dict[str, object]:
        return {"k": self.k, "recognizer": self.recognizer, "grouper": self.grouper}

    @property
    def cards(self) -> tuple[str, ...]:
        return (self.recognizer,)

    def release(self, faces: FaceSet, rng: np.random.Generator) -> Release:
        chosen = recognizer(self.recognizer)
        embeddings = np.array([embed(chosen, *pair) for pair in zip(faces.crops, faces.points, strict=True)])
        dark = np.argsort([crop.mean() for crop in faces.crops], kind="stable")[: self.withhold]
        kept = np.setdiff1d(np.arange(len(faces)), dark)
        partition = group(
            embeddings[kept],
            self.k,
            self.grouper,
            faces.subjects[kept].tolist(),
            seed=int(rng.integers(2**31)),
        )
        groups = np.full(len(faces), -1)
        groups[kept] = partition.labels
        crops = np.array(
            [np.rint(np.mean(faces.crops[kept[rows]], axis=0)) for rows in partition.groups], np.uint8
        )
        reasons = {int(face): "it is too dark." for face in dark}
        return Release(
            groups, groups, crops, reasons, figures={"loss": partition.information_loss(embeddings[kept])}
        )


def embed(chosen, crop, points):
    aligned = Alignment(similarity(points.astype(float), TEMPLATES[chosen.template]), chosen.size)
    return chosen.embed(aligned.crop(np.array(crop))[None])[0]


def register() -> None:
    """For tests that run the program itself."""
    METHODS["pixel-mean"] = METHODS["anonfaces"] = PixelMean()
