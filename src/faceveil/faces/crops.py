"""Faces that are aligned already: where the features of an FFHQ crop are, and a FaceSet of crops alone."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from faceveil.faces.face import Face, Image
from faceveil.faces.face_set import CROP_SIZE, FaceSet
from faceveil.faces.mesh import SURE, with_mesh

# Where faces lie in FFHQ's crop, in parts of its side: medians over 300 photos of LFW, made symmetric.
TYPICAL_POINTS = np.array([[0.375, 0.475], [0.625, 0.475], [0.5, 0.628], [0.392, 0.727], [0.608, 0.727]])
TYPICAL_BOX = np.array([0.22, 0.26, 0.78, 0.92])


class Located(NamedTuple):
    """The features of aligned crops, in their pixels."""

    points: NDArray[np.float32]  # N × 5 × 2
    meshes: NDArray[np.float32]  # N × 468 × 3
    presence: NDArray[np.float32]  # N


def locate(crops: NDArray[np.uint8]) -> Located:
    """Fit the mesh where a face lies in FFHQ's alignment. Typical points where the network sees no face."""
    found = [aligned_face(crop) for crop in crops]
    return Located(
        np.array([face.points for face in found], np.float32).reshape(-1, 5, 2),
        np.array([face.mesh for face in found], np.float32).reshape(-1, 468, 3),
        np.array([face.presence for face in found], np.float32),
    )


def aligned_face(crop: Image) -> Face:
    """The face of one crop, with its mesh."""
    side = crop.shape[0]
    return with_mesh(crop, [Face(TYPICAL_BOX * side, TYPICAL_POINTS * side, 1.0, "aligned")])[0]


def as_face(points: NDArray[np.float32], mesh: NDArray[np.float32]) -> Face:
    """A face of a FaceSet as the functions on photos take it; its box is that of the mesh."""
    flat = mesh[:, :2].astype(np.float64)
    box = np.concatenate([flat.min(axis=0), flat.max(axis=0)])
    return Face(box, points.astype(np.float64), 1.0, "aligned", mesh.astype(np.float64), SURE)


def face_set(crops: NDArray[np.uint8], subjects: NDArray[np.int64] | None = None) -> FaceSet:
    """A FaceSet of 256-px crops in FFHQ's alignment; without subjects each is another person."""
    found = locate(crops)
    who = np.arange(len(crops)) if subjects is None else np.asarray(subjects, np.int64)
    return FaceSet(crops.reshape(-1, CROP_SIZE, CROP_SIZE, 3), found.points, found.meshes, who)
