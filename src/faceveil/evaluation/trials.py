"""How a method fares on a set at one k: what is lost, who is still found, how alike the groups are.

The faces of the set are looked at once (`Originals`); each trial adds only a look at the faces that were made.
Figures: AnonFACES (Le et al. 2020), definition 3.2 and sections 4.2 to 4.4.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from faceveil.evaluation.clusters import Groups, homogeneity
from faceveil.evaluation.fidelity import frechet
from faceveil.evaluation.intervals import Rate, share_by_person
from faceveil.evaluation.utility import BANDS, band
from faceveil.faces import FaceSet
from faceveil.faces.attributes import attributes
from faceveil.faces.crops import as_face, face_set
from faceveil.grouping.measures import silhouette
from faceveil.models.mobilenetv2 import features
from faceveil.models.recognizers import WATCHING, Embeddings
from faceveil.spaces.embedding import EmbeddingSpace

Ints = NDArray[np.int64]
LOSS_BY = "dlib-resnet.v1"  # the embedding in which information loss is given, as in the paper


class Released(Protocol):
    """What a method made of a set (methods.Release): a group and a picture for each face, −1 for none."""

    @property
    def groups(self) -> Ints: ...
    @property
    def pictures(self) -> Ints: ...
    @property
    def crops(self) -> NDArray[np.uint8]: ...


@dataclass(frozen=True)
class Trial:
    """A method at one k. Rates count people; `found` is the worst of the judges."""

    method: str
    k: int
    people: int
    released: float  # share of faces that got a group
    groups: int
    information_loss: float  # mean distance of original and released face in dlib's space
    found: Rate  # released faces looked up among all originals, right at rank 1
    judge: str  # which recogniser found most
    took_part: bool  # that recogniser was used by the method itself
    homogeneity: dict[str, float]  # share of groups with one value of an attribute
    frechet: float  # on MobileNetV2's features: not the Inception FID
    silhouette: float
    seconds: float = 0.0


class Originals:
    """The set as judges see it, measured once for all trials."""

    def __init__(self, faces: FaceSet, judges: Sequence[str] = tuple(WATCHING)) -> None:
        self.faces, self.judges = faces, tuple(judges)
        self._known: dict[str, Embeddings] = {}

    def seen_by(self, judge: str) -> Embeddings:
        """Embeddings of all originals."""
        if judge not in self._known:
            self._known[judge] = EmbeddingSpace(judge).encode(self.faces)
        return self._known[judge]

    @cached_property
    def look(self) -> NDArray[np.float64]:
        """MobileNetV2's features."""
        return _looks(self.faces.crops)

    @cached_property
    def labels(self) -> dict[str, list[str | None]]:
        """Age band and gender as classifiers read them, and both together."""
        age, gender = [], []
        for crop, points, mesh in zip(self.faces.crops, self.faces.points, self.faces.meshes, strict=True):
            read = attributes(np.asarray(crop), as_face(points, mesh))
            age.append(band(read.age, BANDS))
            gender.append("female" if read.female > 0.5 else "male")
        both = [None if one is None else f"{one}, {other}" for one, other in zip(age, gender, strict=True)]
        return {"age": age, "gender": list(gender), "age and gender": both}


def try_release(
    originals: Originals, released: Released, method: str, k: int, used: Sequence[str] = ()
) -> Trial:
    """Measure what a method made of the set. `used` names recognisers that took part in making it."""
    kept = released.groups >= 0
    if not kept.any():
        return _nothing(originals, method, k)
    subjects = originals.faces.subjects
    made = face_set(released.crops)
    rates = {
        judge: _found(
            originals.seen_by(judge), EmbeddingSpace(judge), made, released.pictures, subjects, kept
        )
        for judge in originals.judges
    }
    worst = max(rates, key=lambda judge: (rates[judge].high, rates[judge].value))
    groups = Groups(np.where(kept, released.groups, -1).astype(np.intp))
    vectors, of_made = originals.seen_by(LOSS_BY), EmbeddingSpace(LOSS_BY).encode(made)
    gaps = vectors[kept] - of_made[released.pictures[kept]]
    return Trial(
        method, k, len(np.unique(subjects)), float(kept.mean()), len(np.unique(released.groups[kept])),
        float(np.linalg.norm(gaps, axis=1).mean()), rates[worst], worst, worst in used,
        {name: homogeneity(groups, values) for name, values in originals.labels.items()},
        _frechet(originals, released, kept), _silhouette(vectors[kept], released.groups[kept]),
    )  # fmt: skip


def _found(
    known: Embeddings,
    space: EmbeddingSpace,
    made: FaceSet,
    pictures: Ints,
    subjects: Ints,
    kept: NDArray[np.bool_],
) -> Rate:
    """Each released face is looked up among all originals; found if the nearest is of the same person."""
    seen = space.encode(made)
    nearest = np.array([int(np.argmin(space.network.distance(known, one))) for one in seen])
    _, person = np.unique(subjects, return_inverse=True)
    hit = np.zeros(len(subjects), bool)
    hit[kept] = person[nearest[pictures[kept]]] == person[kept]
    return share_by_person(hit, person.astype(np.intp), kept)


def _frechet(originals: Originals, released: Released, kept: NDArray[np.bool_]) -> float:
    made = _looks(released.crops)[released.pictures[kept]]
    return frechet(originals.look[kept], made) if kept.sum() > 1 else float("nan")


def _silhouette(vectors: Embeddings, groups: Ints) -> float:
    _, labels = np.unique(groups, return_inverse=True)
    if not 1 < labels.max() + 1 < len(labels):
        return float("nan")
    return silhouette(vectors, labels.astype(np.int64))


def _looks(crops: NDArray[np.uint8]) -> NDArray[np.float64]:
    return np.array([features(np.asarray(crop)) for crop in crops], np.float64)


def _nothing(originals: Originals, method: str, k: int) -> Trial:
    nobody = Rate(0.0, 0.0, 0.0, 0, 0, 0, "nothing was released")
    nan = float("nan")
    people = len(np.unique(originals.faces.subjects))
    return Trial(method, k, people, 0.0, 0, nan, nobody, "", False, {}, nan, nan)
