"""pixel: the crop's own pixels (DIRECT of MIKU), with or without the background."""

from typing import ClassVar, Literal, get_args

import cv2
import numpy as np
from numpy.typing import NDArray

from faceveil.errors import UsageError
from faceveil.faces import FaceSet
from faceveil.faces.face_set import CROP_SIZE
from faceveil.spaces.space import Crops, SynthesisSpace, Vectors, as_pixels

Background = Literal["grey", "kept"]
GREY = 128


class PixelSpace(SynthesisSpace):
    """RGB values 0…255 of the crop at `side` px, row by row.

    `background` grey paints over all that is not the person, as MIKU masks it. A small side is enough to
    group by; decode∘encode is exact at the crop's own 256 px where the background is kept.
    """

    id: ClassVar[str] = "pixel"

    def __init__(self, side: int = CROP_SIZE, background: Background = "grey") -> None:
        if background not in get_args(Background):
            raise UsageError(f"the background of pixel is grey or kept; {background!r} is not.")
        if not 1 <= side <= CROP_SIZE:
            raise UsageError(f"pixel's side is from 1 to {CROP_SIZE} px; {side} is not.")
        self.side, self.background = side, background

    @property
    def cards(self) -> tuple[str, ...]:
        """The segmenter's, if it is asked."""
        return ("selfie.256",) if self.background == "grey" else ()

    def _encode(self, faces: FaceSet) -> NDArray[np.float32]:
        return np.array([self._one(crop) for crop in faces.crops], np.float32).reshape(len(faces), -1)

    def _one(self, crop: NDArray[np.uint8]) -> NDArray[np.float32]:
        picture = crop.astype(np.float32)
        if self.background == "grey":
            from faceveil.models.segmenter import person_mask

            person = person_mask(crop)[..., None]
            picture = picture * person + GREY * (1 - person)
        if self.side == CROP_SIZE:
            return picture
        return np.asarray(cv2.resize(picture, (self.side, self.side), interpolation=cv2.INTER_AREA))

    def decode(self, vectors: Vectors) -> Crops:
        """The pixels, rounded; smaller sides are enlarged."""
        small = vectors.reshape(-1, self.side, self.side, 3)
        if self.side != CROP_SIZE:
            size = (CROP_SIZE, CROP_SIZE)
            small = np.array([cv2.resize(one, size, interpolation=cv2.INTER_CUBIC) for one in small])
        return as_pixels(small).reshape(-1, CROP_SIZE, CROP_SIZE, 3)
