"""mesh: an Active Appearance Model without hand-made meshes, the space of k-same-M.

R. Gross, L. Sweeney, F. de la Torre and S. Baker, "Model-based face de-identification", CVPR workshops 2006,
with the network's 468 landmarks in place of the hand-made ones. A face is its shape (the landmarks, Procrustes
aligned) and its shape-free texture (the crop, warped so that the landmarks lie on the mean shape); both are
reduced by PCA. Means of shapes and of textures are taken apart, so features meet features and nothing ghosts.

Around the face there are no landmarks to meet: points on the crop's frame hold the rest, which is softened so
that hair and background of several people blend into colours and not into outlines.
"""

from typing import ClassVar, Self

import cv2
import numpy as np
from numpy.typing import NDArray

from faceveil.errors import UsageError
from faceveil.faces import FaceSet, region
from faceveil.faces.align import similarity
from faceveil.faces.crops import as_face
from faceveil.faces.face_set import CROP_SIZE
from faceveil.spaces.components import Components, principal_components
from faceveil.spaces.space import Crops, SynthesisSpace, Vectors, as_pixels
from faceveil.spaces.warp import Points, Sampler, Triangles

SOFT = 14.0  # px, deviation of the blur around the face
SEAM = 10.0  # px over which the face becomes its surroundings
PROCRUSTES_ROUNDS = 5


def _frame() -> Points:
    """Points along the crop's edge, which stay where they are."""
    steps = np.linspace(0, CROP_SIZE, 9)
    edge = [(x, y) for x in steps for y in steps if x in (0, CROP_SIZE) or y in (0, CROP_SIZE)]
    return np.array(edge, np.float64)


FRAME = _frame()


class MeshSpace(SynthesisSpace):
    """Shape and texture coordinates; shape is scaled so that both vary alike, as in an AAM.

    Fitted on the set. Cost: about 15 ms to encode or decode a face; fitting with 60 textures of 256 px needs
    300 MB. decode∘encode loses what the components cannot hold, and softens what is not face.
    """

    id: ClassVar[str] = "mesh"

    def __init__(self, shapes: int = 30, textures: int = 60) -> None:
        if shapes < 1 or textures < 1:
            raise UsageError(
                f"mesh needs 1 component or more of shape and of texture; {shapes} and {textures} came."
            )
        self.shapes, self.textures = shapes, textures

    @property
    def cards(self) -> tuple[str, ...]:
        """The mesh network's."""
        return ("facemesh.468",)

    def fit(self, faces: FaceSet) -> Self:
        """Learn the mean shape and the components of shape and texture from the set."""
        if len(faces) == 0:
            raise UsageError("mesh learns its faces from the set; the set is empty.")
        self.mean_shape_ = _mean_shape(faces)
        self.triangles_ = Triangles.of(np.vstack([self.mean_shape_, FRAME]))
        self._to_mean: Sampler = self.triangles_.sampler(np.vstack([self.mean_shape_, FRAME]), CROP_SIZE)
        self._face = _soft_face(faces)
        self.shape_: Components = principal_components(
            lambda rows: self._shapes(faces.meshes[rows]), len(faces), self.shapes
        )
        self.texture_: Components = principal_components(
            lambda rows: self._textures(faces.take(rows)), len(faces), self.textures
        )
        variances = [float(part.variance.sum()) for part in (self.texture_, self.shape_)]
        self.weight_ = (
            np.float32(np.sqrt(variances[0] / variances[1])) if min(variances) > 0 else np.float32(1)
        )
        return self

    def _encode(self, faces: FaceSet) -> Vectors:
        shapes = self.shape_.project(self._shapes(faces.meshes)) * self.weight_
        return np.hstack([shapes, self.texture_.project(self._textures(faces))])

    def decode(self, vectors: Vectors) -> Crops:
        """Restore shape and texture, and lay the texture out by the shape."""
        crops = [self._draw(vector[None]) for vector in vectors]
        return np.array(crops, np.uint8).reshape(-1, CROP_SIZE, CROP_SIZE, 3)

    def _draw(self, vector: Vectors) -> Crops:
        cut = len(self.shape_.axes)
        shape = self.shape_.restore(vector[:, :cut] / self.weight_).reshape(468, 2).astype(np.float64)
        texture = self.texture_.restore(vector[:, cut:]).reshape(CROP_SIZE, CROP_SIZE, 3)
        points = np.vstack([np.clip(shape, 1, CROP_SIZE - 1), FRAME])
        mean = np.vstack([self.mean_shape_, FRAME])
        return as_pixels(self.triangles_.sampler(points, CROP_SIZE).sample(texture, mean))

    def _shapes(self, meshes: NDArray[np.float32]) -> Vectors:
        aligned = [_onto(mesh[:, :2].astype(np.float64), self.mean_shape_) for mesh in meshes]
        return np.array(aligned, np.float32).reshape(len(meshes), -1)

    def _textures(self, faces: FaceSet) -> Vectors:
        rows = [self._texture(crop, mesh) for crop, mesh in zip(faces.crops, faces.meshes, strict=True)]
        return np.array(rows, np.float32)

    def _texture(self, crop: NDArray[np.uint8], mesh: NDArray[np.float32]) -> NDArray[np.float32]:
        source = np.vstack([mesh[:, :2].astype(np.float64), FRAME])
        flat = self._to_mean.sample(crop.astype(np.float32), source)
        soft = cv2.GaussianBlur(flat, (0, 0), SOFT, borderType=cv2.BORDER_REFLECT)
        return np.asarray(self._face * flat + (1 - self._face) * soft, np.float32).ravel()


def _onto(shape: Points, target: Points) -> Points:
    """The shape, turned, scaled and moved onto the target."""
    matrix = similarity(shape, target)
    return np.asarray(shape @ matrix[:, :2].T + matrix[:, 2])


def _mean_shape(faces: FaceSet) -> Points:
    """Generalised Procrustes: align all to the mean, average, again; place and size are the crops' own."""
    shapes = faces.meshes[:, :, :2].astype(np.float64)
    first: Points = shapes.mean(axis=0)
    mean = first
    for _ in range(PROCRUSTES_ROUNDS):
        mean = _onto(np.mean([_onto(shape, mean) for shape in shapes], axis=0), first)
    return mean


def _soft_face(faces: FaceSet) -> NDArray[np.float32]:
    """1 on the mean face, falling to 0 around it."""
    face = as_face(faces.points.mean(axis=0), faces.meshes.mean(axis=0))
    blank = np.zeros((CROP_SIZE, CROP_SIZE, 3), np.uint8)
    inside = region("face-shape", face, blank).full((CROP_SIZE, CROP_SIZE)) > 0
    rise = cv2.distanceTransform((~inside).astype(np.uint8), cv2.DIST_L2, 5) / SEAM
    return np.asarray(1 - np.clip(rise, 0, 1), np.float32)[..., None]
