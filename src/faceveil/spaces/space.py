"""What a space is: it learns from a FaceSet what it must, and takes faces to vectors, some also back."""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from faceveil.faces import FaceSet

Vectors = NDArray[np.float32]
Crops = NDArray[np.uint8]

BATCH = 32  # faces in memory at a time: crops may be a memory map of any length


class Space(ABC):
    """Faces to vectors. Constructors store parameters; `fit` learns from a set, where there is anything to learn."""

    id: ClassVar[str]

    def fit(self, faces: FaceSet) -> Self:
        """Learn from these faces; most spaces have nothing to learn."""
        return self

    def encode(self, faces: FaceSet) -> Vectors:
        """N faces as N × d float32, a few at a time; a face's vector does not depend on its company."""
        if self.key is not None and self.key in faces.known:
            return faces.known[self.key].copy()
        found = self._encode_all(faces)
        if self.key is not None:
            faces.known[self.key] = found.copy()
        return found

    @property
    def key(self) -> Hashable:
        """What two spaces that measure the same have in common; None: nothing is kept for the next one."""
        return None

    def _encode_all(self, faces: FaceSet) -> Vectors:
        out: Vectors | None = None
        for rows in batches(len(faces)):
            part = np.asarray(self._encode(faces.take(rows)), np.float32)
            if out is None:
                out = np.empty((len(faces), part.shape[1]), np.float32)
            out[rows] = part
        return np.zeros((0, 0), np.float32) if out is None else out

    @abstractmethod
    def _encode(self, faces: FaceSet) -> NDArray[np.floating]:
        """A batch."""

    @property
    def cards(self) -> tuple[str, ...]:
        """The weights it needs."""
        return ()


class SynthesisSpace(Space):
    """A space in which faces can be mixed: its vectors become crops again."""

    crisp: ClassVar[bool] = False  # its faces are sharper than photos usually are

    @abstractmethod
    def decode(self, vectors: Vectors) -> Crops:
        """M × d vectors as M × 256 × 256 × 3 crops in FFHQ's alignment."""


def batches(count: int, size: int = BATCH) -> Iterator[NDArray[np.int64]]:
    """Row numbers 0…count−1, a few at a time."""
    for start in range(0, count, size):
        yield np.arange(start, min(start + size, count))


def as_pixels(values: NDArray[np.floating]) -> Crops:
    """Rounded and clipped to 0…255."""
    return np.asarray(np.clip(np.rint(values), 0, 255), np.uint8)
