"""embedding: the vector in which a recogniser tells people apart."""

from collections.abc import Hashable
from typing import ClassVar

import numpy as np

from faceveil.faces import Alignment, FaceSet
from faceveil.faces.align import similarity
from faceveil.models.recognizers import TEMPLATES, Recognizer, recognizer
from faceveil.spaces.space import Crops, Space, Vectors

DEFAULT = "dlib-resnet.v1"  # groups people of like age and gender better than the others (docs/methods/anonfaces.md)


class EmbeddingSpace(Space):
    """128 numbers of any recogniser; crops are brought to its template by their five points."""

    id: ClassVar[str] = "embedding"

    def __init__(self, recognizer: str = DEFAULT) -> None:
        self.recognizer = recognizer

    @property
    def network(self) -> Recognizer:
        """The recogniser itself, with its distance and threshold."""
        return recognizer(self.recognizer)

    @property
    def key(self) -> Hashable:
        """Measured once for a set."""
        return ("embedding", self.recognizer)

    @property
    def cards(self) -> tuple[str, ...]:
        """The recogniser's."""
        return (self.network.id,)

    def _encode(self, faces: FaceSet) -> Vectors:
        return self.network.embed(self._chips(faces))

    def _chips(self, faces: FaceSet) -> Crops:
        template, size = TEMPLATES[self.network.template], self.network.size
        cuts = [Alignment(similarity(points.astype(np.float64), template), size) for points in faces.points]
        return np.array([cut.crop(crop) for cut, crop in zip(cuts, faces.crops, strict=True)], np.uint8)
