"""The 468-point face mesh and the head pose that follows from it (network: facemesh.468)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from faceveil.faces.face import Face, Floats, Image
from faceveil.faces.views import close_up
from faceveil.models.prepared import Recipe
from faceveil.models.runtime import Network, once, read_model

CARD = "facemesh.468"
SIDE = 192  # px of the network's input
MARGIN = 1.5  # the crop's side, in sides of the face's box
SURE = 0.5  # below this presence the mesh is not trusted
TURN_AGAIN = 10.0  # degrees off upright from which a second fit pays
RIGHT_EYE_OUTER, LEFT_EYE_OUTER, FOREHEAD, CHIN = 33, 263, 10, 152
# The line from forehead to chin is not parallel to the face: its lean in a head that looks straight ahead.
STRAIGHT_PITCH = -7.0  # degrees; the median over 300 portraits


@dataclass(frozen=True)
class Pose:
    """Where a head points, in degrees: yaw (to its left is positive), pitch (up), roll (clockwise)."""

    yaw: float
    pitch: float
    roll: float


def with_mesh(image: Image, faces: Sequence[Face]) -> list[Face]:
    """The same faces with their mesh and, where the network is sure of a face, its five points.

    A detector's own points stay level on small faces however the head is tilted; the mesh follows the tilt.
    """
    return [_fitted(image, face) for face in faces]


def _fitted(image: Image, face: Face) -> Face:
    fitted = _fit(image, face)
    if abs(fitted.roll - face.roll) > TURN_AGAIN:
        fitted = _fit(image, fitted)
    return fitted


def _fit(image: Image, face: Face) -> Face:
    """Mesh and points from one close-up, upright as far as the face's points tell."""
    view = close_up(image, face.centre, SIDE / (max(face.size_wh) * MARGIN), face.roll, SIDE)
    points, logit = _network()(view.pixels[None].astype(np.float32) / 255)
    in_view = points.reshape(468, 3).astype(np.float64)
    mesh = np.hstack([view.to_photo(in_view[:, :2]), in_view[:, 2:] / view.zoom])
    presence = 1 / (1 + np.exp(-float(np.ravel(logit)[0])))
    return Face(
        face.box_xyxy,
        _five(mesh) if presence >= SURE else face.points,
        face.score,
        face.detector,
        mesh,
        presence,
    )


def _five(mesh: Floats) -> Floats:
    """Right eye, left eye, nose tip, corners of the mouth."""
    right, left = (mesh[33] + mesh[133]) / 2, (mesh[263] + mesh[362]) / 2
    return np.asarray(np.array([right, left, mesh[1], mesh[61], mesh[291]])[:, :2])


def pose(face: Face) -> Pose:
    """Head pose from the mesh: the directions of the eyes' line and of the chin-to-forehead line in space."""
    if face.mesh is None:
        raise ValueError("pose needs a face with its mesh; call with_mesh first")
    across = face.mesh[LEFT_EYE_OUTER] - face.mesh[RIGHT_EYE_OUTER]
    down = face.mesh[CHIN] - face.mesh[FOREHEAD]
    across /= np.linalg.norm(across)
    ahead = np.cross(across, down)  # out of the back of the head: depth grows away from the camera
    ahead /= np.linalg.norm(ahead)
    yaw = np.degrees(np.arctan2(-ahead[0], ahead[2]))
    pitch = np.degrees(np.arcsin(np.clip(ahead[1], -1, 1))) - STRAIGHT_PITCH
    roll = np.degrees(np.arctan2(across[1], across[0]))
    return Pose(float(yaw), float(pitch), float(roll))


@once
def _network() -> Network:
    return Network(Recipe(CARD, "", partial(read_model, CARD)))
