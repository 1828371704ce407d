"""Looks: what of a face is kept when its identity goes: pose, mouth, eyes and gaze, measured on the mesh."""

from dataclasses import replace

import cv2
import numpy as np
from numpy.typing import NDArray

from faceveil.faces import Face, pose, with_mesh
from faceveil.faces.attributes import face_at
from faceveil.faces.face import Image
from faceveil.faces.gaze import gaze
from faceveil.models.attributes import EXPRESSIONS

Floats = NDArray[np.float64]

NAMES = ("yaw", "pitch", "mouth opening", "mouth width", "corner lift", "eye opening", "gaze x", "gaze y")
YAW, PITCH, MOUTH, WIDTH, LIFT, EYES, GAZE_X, GAZE_Y = range(8)
MOODS = ("angry", "fear", "happy", "sad", "surprise", "neutral")  # the expressions that a code tells
WORN = ("glasses", "facial hair")  # of AttrNet's labels, what is seen at once
KIND = (*WORN, "female")
# What control can change: looks, years, log odds of a face's kind, logarithms of the moods' probabilities.
TRAITS = (*NAMES, "age", *KIND, *MOODS)
AGE = TRAITS.index("age")
OF_KIND = slice(AGE + 1, AGE + 1 + len(KIND))  # among the traits, and the moods
FELT = slice(OF_KIND.stop, None)
LEAST = 0.01  # of a probability that counts

LOWER_FACE = [  # vertices where a beard grows
    *(
        164,
        165,
        391,
        92,
        322,
        18,
        200,
        199,
        175,
        83,
        313,
        201,
        421,
        194,
        418,
        150,
        379,
        149,
        378,
        169,
        394,
        210,
        430,
    ),
]
CHEEKS = [50, 280, 101, 330, 205, 425, 36, 266, 117, 346]

# The five points of a face in FFHQ's crop, as parts of its side (means over generated faces).
FFHQ_POINTS = np.array([[0.377, 0.474], [0.623, 0.474], [0.5, 0.632], [0.385, 0.722], [0.615, 0.722]])
FFHQ_BOX = np.array([0.24, 0.28, 0.76, 0.84])  # where the mesh network looks


def face_in_crop(crop: Image) -> Face:
    """The face of an aligned crop with its mesh; no detector is needed, for its place is known."""
    side = crop.shape[0]
    found = with_mesh(crop, [Face(FFHQ_BOX * side, FFHQ_POINTS * side, 1.0, "ffhq")])[0]
    return replace(found, box_xyxy=face_at(found.points).box_xyxy)  # as a detector would have found it


def looks(image: Image, face: Face) -> Floats:
    """The eight numbers of NAMES: degrees, then lengths in distances between the outer corners of the eyes."""
    return np.concatenate([posture(face), gaze(image, face)])


def posture(face: Face) -> Floats:
    """Those of NAMES that the mesh tells alone: all but the gaze."""
    head, mesh = pose(face), _in_head_frame(face)
    opening = np.linalg.norm(mesh[13] - mesh[14])
    width = np.linalg.norm(mesh[61] - mesh[291])
    lift = (mesh[13, 1] + mesh[14, 1]) / 2 - (mesh[61, 1] + mesh[291, 1]) / 2
    lids = [np.linalg.norm(mesh[a] - mesh[b]) for a, b in ((159, 145), (386, 374))]
    return np.array([head.yaw, head.pitch, opening, width, lift, np.mean(lids)])


def traits(looks: Floats, age: float, kind: NDArray[np.floating], expression: NDArray[np.floating]) -> Floats:
    """The numbers of TRAITS from what was measured; of KIND and of expressions probabilities."""
    moods = expression[[EXPRESSIONS.index(mood) for mood in MOODS]]
    return np.concatenate([looks, [age], odds(kind), np.log(np.maximum(moods, LEAST))])


def odds(probability: NDArray[np.floating]) -> Floats:
    """Their logarithm, of no more than is sure."""
    sure = np.clip(probability, LEAST, 1 - LEAST)
    return np.asarray(np.log(sure / (1 - sure)), np.float64)


def _in_head_frame(face: Face) -> Floats:
    """The mesh turned to look straight ahead, in distances between the outer corners of the eyes."""
    assert face.mesh is not None
    across = face.mesh[263] - face.mesh[33]
    scale = float(np.linalg.norm(across))
    x = across / scale
    down = face.mesh[152] - face.mesh[10]
    y = down - (down @ x) * x
    y /= np.linalg.norm(y)
    axes = np.stack([x, y, np.cross(x, y)])
    return np.asarray((face.mesh - face.mesh.mean(axis=0)) @ axes.T / scale)


def lower_face_shade(crop: Image, mesh: Floats) -> float:
    """How much darker and paler lip, chin and jaw are than the cheeks: about 0.15 shaven, 0.35 with a beard."""
    side = crop.shape[0]
    lab = np.asarray(cv2.cvtColor(crop.astype(np.float32) / 255, cv2.COLOR_RGB2LAB), np.float32)
    lab = np.asarray(cv2.GaussianBlur(lab, (0, 0), 0.012 * side), np.float32)
    lower, upper = (_median_colour(lab, mesh[vertices, :2]) for vertices in (LOWER_FACE, CHEEKS))
    darker = (upper[0] - lower[0]) / (upper[0] + 5)
    return float(darker + 0.01 * (upper[1:] - lower[1:]).sum())


def _median_colour(lab: NDArray[np.float32], points: Floats) -> NDArray[np.float32]:
    x, y = np.clip(np.rint(points - 0.5).astype(int), 0, lab.shape[0] - 1).T
    return np.asarray(np.median(lab[y, x], axis=0))
