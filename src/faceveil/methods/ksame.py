"""The k-same family: groups of like faces are replaced by their mean.

    k-same-pixel      groups by eigenfaces, mean of pixels              Newton, Sweeney and Malin 2005
    k-same-eigen      groups by eigenfaces, mean of eigenfaces          Newton, Sweeney and Malin 2005
    k-same-m          groups by shape and texture, mean of both (AAM)   Gross et al. 2006
    k-same-partial-m  as k-same-eigen, from a random start under 0.45 of the largest distance
                                                                        "Face Anonymisation Techniques", 3.4.2

Two ways of use. As a partition of the set every member of a group gets the same face, and k is claimed. With a
`gallery` each face gets the mean of its k nearest people in the gallery, as the Techniques paper measures;
such neighbourhoods overlap, two faces rarely share a result, and nothing is claimed. A gallery is a folder of
photos until somebody looks at it (`with_gallery`): the pipeline does.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from faceveil.errors import UsageError
from faceveil.faces import FaceSet
from faceveil.grouping import GROUPERS, Grouper, Partition, group
from faceveil.grouping.arrays import Ints
from faceveil.grouping.grouper import Units
from faceveil.grouping.mdav import labels_of
from faceveil.methods.method import Release
from faceveil.methods.sets import (
    DEFAULT_K,
    check_k,
    draw_means,
    k_anonymity,
    mean_face,
    no_crops,
    one_each,
    people_in,
    seed_from,
    shared,
    too_few,
)
from faceveil.privacy import Guarantee
from faceveil.spaces import Space, SynthesisSpace
from faceveil.spaces.eigen import EigenSpace
from faceveil.spaces.mesh import MeshSpace
from faceveil.spaces.pixel import PixelSpace

NEAR = 0.45  # of the largest distance: how far k-same-partial-m's random start may lie


class PartialStart(Grouper):
    """Groups around a random neighbour of a random row: partial-m as a partition.

    A row is drawn, and a neighbour under 0.45 of the largest distance; the k nearest to the neighbour are the
    group if the row is among them (as the enhanced k-same-M asks), else another neighbour is tried.
    Cost: O(n²·d / k) distances for a few tries each.
    """

    id = "partial-start"
    tries = 10

    def _split(self, units: Units, rng: np.random.Generator) -> Ints:
        left, groups = np.arange(len(units)), []
        while len(left) >= 2 * self.k:
            row = int(rng.choice(left))
            taken = self._around(units.X, left, row, rng)
            groups.append(taken)
            left = np.setdiff1d(left, taken)
        return labels_of([*groups, left], len(units))

    def _around(self, X: NDArray[np.floating], left: Ints, row: int, rng: np.random.Generator) -> Ints:
        for start in rng.permutation(under_threshold(X[left], X[row]))[: self.tries]:
            taken = left[nearest(X[left], X[left[start]], self.k)]
            if row in taken:
                return taken
        return left[nearest(X[left], X[row], self.k)]


def under_threshold(X: NDArray[np.floating], x: NDArray[np.floating]) -> Ints:
    """The rows nearer to x than 0.45 of the largest distance."""
    far = np.linalg.norm(X - x, axis=1)
    return np.flatnonzero(far <= NEAR * far.max())


def nearest(X: NDArray[np.floating], x: NDArray[np.floating], k: int) -> Ints:
    """The k rows nearest to x."""
    return np.argsort(np.linalg.norm(X - x, axis=1), kind="stable")[:k]


@dataclass(frozen=True)
class KSame:
    """A k-same method: how it groups, what it averages."""

    options: ClassVar[tuple[str, ...]] = ("k", "grouper", "gallery")
    id: str
    summary: str
    group_space: Callable[[], Space]
    synthesis_space: Callable[[], SynthesisSpace] | None = None  # None: the group space itself
    random_start: bool = False
    k: int = DEFAULT_K
    grouper: str | None = None  # None: the paper's
    gallery: FaceSet | Path | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_k(self.id, self.k)
        if self.grouper is not None and self.grouper not in GROUPERS:
            raise UsageError(f"no grouper is called {self.grouper!r}; there are {', '.join(GROUPERS)}.")
        if self.gallery is not None and self.grouper is not None:
            raise UsageError(
                f"{self.id}: neighbours from a gallery form no groups; leave --grouper or --gallery out."
            )
        if isinstance(self.gallery, Path) and not self.gallery.is_dir():
            raise UsageError(f"{self.id}: the gallery is a folder of photos; {self.gallery} is none.")

    @property
    def guarantee(self) -> Guarantee:
        """k for a partition; nothing for neighbours from a gallery."""
        if self.gallery is None:
            return k_anonymity(self.k)
        return Guarantee(
            "none",
            f"No guarantee: each face is the mean of its {self.k} nearest people in a gallery. Such neighbourhoods "
            "overlap, so two people rarely share a face and comparing them may tell them apart.",
        )

    @property
    def parameters(self) -> dict[str, object]:
        """What a reader needs to repeat it."""
        if self.gallery is not None:
            return {"k": self.k, "neighbours": "gallery"}
        default = PartialStart.id if self.random_start else "ksame"
        return {"k": self.k, "grouper": self.grouper or default}

    @property
    def cards(self) -> tuple[str, ...]:
        """The weights of its spaces."""
        drawn = self.synthesis_space().cards if self.synthesis_space else ()
        return tuple(dict.fromkeys((*self.group_space().cards, *drawn)))

    def with_gallery(self, gallery: FaceSet) -> "KSame":
        """The same method with neighbours from a gallery; it claims nothing."""
        people = people_in(gallery.subjects)
        if people < self.k:
            raise UsageError(
                f"{self.id}: k={self.k} needs a gallery of {self.k} people or more; it shows {people}."
            )
        return replace(self, gallery=gallery)

    def release(self, faces: FaceSet, rng: np.random.Generator) -> Release:
        """Replace every face by the mean of its group, or of its neighbours in the gallery."""
        if isinstance(self.gallery, Path):
            raise UsageError(
                f"{self.id}: give the faces of {self.gallery} by with_gallery, or use anonymize."
            )
        if self.gallery is not None:
            return self._from_gallery(faces, self.gallery, rng)
        refused = too_few(faces, self.k)
        if refused is not None:
            return refused
        here, drawn = self._spaces(faces)
        vectors = here.encode(faces)
        partition = self._partition(vectors, faces, rng)
        loss = {"loss_in_group_space": partition.information_loss(vectors)}
        return shared(partition, draw_means(drawn, faces, partition), figures=loss)

    def _spaces(self, faces: FaceSet) -> tuple[Space, SynthesisSpace]:
        here = self.group_space().fit(faces)
        if self.synthesis_space is not None:
            return here, self.synthesis_space().fit(faces)
        assert isinstance(here, SynthesisSpace)
        return here, here

    def _partition(self, vectors: NDArray[np.float32], faces: FaceSet, rng: np.random.Generator) -> Partition:
        seed = seed_from(rng)
        if self.random_start and self.grouper is None:
            return PartialStart(self.k, seed=seed).fit(vectors, faces.subjects.tolist()).partition_
        return group(vectors, self.k, self.grouper or "ksame", faces.subjects.tolist(), seed)

    def _from_gallery(self, faces: FaceSet, gallery: FaceSet, rng: np.random.Generator) -> Release:
        here, drawn = self._spaces(gallery)
        people = list(dict.fromkeys(gallery.subjects.tolist()))  # in the order of one_each
        known = one_each(here.encode(gallery), gallery.subjects)
        crops = []
        for vector in here.encode(faces):
            start = vector
            if self.random_start:
                start = known[int(rng.choice(under_threshold(known, vector)))]
            chosen = [people[row] for row in nearest(known, start, self.k)]
            members = gallery.take(np.flatnonzero(np.isin(gallery.subjects, chosen)))
            crops.append(drawn.decode(mean_face(drawn, members))[0])
        alone = np.arange(len(faces))
        note = (
            f"Each face is the mean of its {self.k} nearest of {len(people)} people in the gallery. Such "
            "neighbours overlap: k is a setting here and not a claim."
        )
        return Release(alone, alone.copy(), np.array(crops, np.uint8) if crops else no_crops(), notes=(note,))


def _whole_pixels() -> SynthesisSpace:
    return PixelSpace(background="kept")


K_SAME = {
    method.id: method
    for method in (
        KSame(
            "k-same-pixel", "the mean of k like faces, pixel by pixel", EigenSpace,
            _whole_pixels,
        ),
        KSame("k-same-eigen", "the mean of k like faces, of their eigenfaces", EigenSpace),
        KSame(
            "k-same-partial-m", "as k-same-eigen, around a random neighbour", EigenSpace, random_start=True
        ),
        KSame("k-same-m", "the mean of k like faces, of shape and of texture", MeshSpace),
    )
}  # fmt: skip
