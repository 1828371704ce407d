"""eigen: eigenfaces as the k-same methods use them.

Steps of the Techniques paper (section 3.4.2): a mask takes the background away, each face is a row, rows are
standardised by the set's mean and deviation, IncrementalPCA keeps the 30 leading eigenvectors. Decoding adds
the average face and the deviation back; outside the mask the average face of the set shows.
"""

from typing import ClassVar, Self

import cv2
import numpy as np
from numpy.typing import NDArray

from faceveil.errors import UsageError
from faceveil.faces import FaceSet, region
from faceveil.faces.crops import as_face
from faceveil.faces.face_set import CROP_SIZE
from faceveil.spaces.components import Components, principal_components
from faceveil.spaces.space import Crops, SynthesisSpace, Vectors, as_pixels, batches

SEAM = 10.0  # px inside the mask's rim over which the face becomes the average


class EigenSpace(SynthesisSpace):
    """`components` coordinates on the eigenfaces of the set it was fitted on; `colour` False is the paper's grey.

    Cost: one pass for mean and deviation, one for the eigenfaces; 0.8 MB for each colour component.
    decode∘encode loses what 30 components cannot hold (of 60 photos, 12 grey values rms between brows and chin).
    """

    id: ClassVar[str] = "eigen"

    def __init__(self, components: int = 30, colour: bool = True) -> None:
        if components < 1:
            raise UsageError(f"eigen needs 1 component or more; {components} came.")
        self.components, self.colour = components, colour

    def fit(self, faces: FaceSet) -> Self:
        """Learn mask, mean, deviation and eigenfaces from the set."""
        if len(faces) == 0:
            raise UsageError("eigen learns its faces from the set; the set is empty.")
        self.mask_ = _face_mask(faces)
        self.average_, deviation = self._moments(faces)
        self.deviation_ = np.maximum(deviation, 1e-3)
        self.eigenfaces_: Components = principal_components(
            lambda rows: self._rows(faces.take(rows)), len(faces), self.components
        )
        return self

    def _encode(self, faces: FaceSet) -> Vectors:
        return self.eigenfaces_.project(self._rows(faces))

    def decode(self, vectors: Vectors) -> Crops:
        """Eigenfaces added up, in place of the mask; around it the set's average."""
        planes = 3 if self.colour else 1
        out = np.broadcast_to(self.average_, (len(vectors), *self.average_.shape)).copy()
        inside = self.mask_[..., None].repeat(planes, axis=2)
        strength = (self.deviation_ * _softened(self.mask_))[inside]
        for picture, row in zip(out, self.eigenfaces_.restore(vectors), strict=True):
            picture[inside] += row * strength
        return as_pixels(out if self.colour else out.repeat(3, axis=3))

    def _rows(self, faces: FaceSet) -> Vectors:
        """Standardised pixels inside the mask."""
        pictures = (self._pictures(faces) - self.average_) / self.deviation_
        return np.asarray(pictures[:, self.mask_].reshape(len(faces), -1), np.float32)

    def _pictures(self, faces: FaceSet) -> NDArray[np.float32]:
        if self.colour:
            return faces.crops.astype(np.float32)
        grey = [cv2.cvtColor(crop, cv2.COLOR_RGB2GRAY) for crop in faces.crops]
        return np.array(grey, np.float32)[..., None]

    def _moments(self, faces: FaceSet) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        total = np.zeros((CROP_SIZE, CROP_SIZE, 3 if self.colour else 1))
        squares = np.zeros_like(total)
        for rows in batches(len(faces)):
            pictures = self._pictures(faces.take(rows)).astype(np.float64)
            total += pictures.sum(axis=0)
            squares += (pictures**2).sum(axis=0)
        mean = total / len(faces)
        variance = np.maximum(squares / len(faces) - mean**2, 0)
        return mean.astype(np.float32), np.sqrt(variance).astype(np.float32)


def _face_mask(faces: FaceSet) -> NDArray[np.bool_]:
    """The outline of the set's mean face, from hairline to chin."""
    face = as_face(faces.points.mean(axis=0), faces.meshes.mean(axis=0))
    blank = np.zeros((CROP_SIZE, CROP_SIZE, 3), np.uint8)
    return region("face-shape", face, blank).full((CROP_SIZE, CROP_SIZE)) > 0


def _softened(mask: NDArray[np.bool_]) -> NDArray[np.float32]:
    """The mask, rising from 0 at its rim to 1."""
    rise = cv2.distanceTransform(mask.astype(np.uint8), cv2.DIST_L2, 5) / SEAM
    return np.asarray(np.clip(rise, 0, 1), np.float32)[..., None]
