"""Looks: what of a face is kept when its identity goes: pose, mouth, eyes and gaze, by the mesh and within it."""

from dataclasses import replace
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from faceveil.faces import Face, pose, with_mesh
from faceveil.faces.align import Alignment, align_ffhq, similarity
from faceveil.faces.attributes import face_at
from faceveil.faces.eyes import eyes
from faceveil.faces.face import Image
from faceveil.models.attributes import EXPRESSIONS

Floats = NDArray[np.float64]

NAMES = (
    *("yaw", "pitch", "mouth opening", "mouth width", "corner lift"),
    *("teeth", "eye opening", "gaze x", "gaze y"),
)
YAW, PITCH, MOUTH, WIDTH, LIFT, TEETH, EYES, GAZE_X, GAZE_Y = range(len(NAMES))
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
INNER_LIPS = [78, 191, 80, 81, 82, 13, 312, 311, 310, 415, 308, 324, 318, 402, 317, 14, 87, 178, 88, 95]
MOUTH_SIDE, MOUTH_ZOOM = (
    96,
    96.0,
)  # px of the mouth's picture, and of the distance between the eyes' corners in it
DIM = 0.6  # lightness, in that of the cheeks, between teeth and throat

# The five points of a face in FFHQ's crop, as parts of its side (means over generated faces).
FFHQ_POINTS = np.array([[0.377, 0.474], [0.623, 0.474], [0.5, 0.632], [0.385, 0.722], [0.615, 0.722]])
FFHQ_BOX = np.array([0.24, 0.28, 0.76, 0.84])  # where the mesh network looks
TURNED = 30.0  # degrees


def face_in_crop(crop: Image) -> Face:
    """The face of an aligned crop with its mesh; no detector is needed, for its place is known."""
    side = crop.shape[0]
    found = with_mesh(crop, [Face(FFHQ_BOX * side, FFHQ_POINTS * side, 1.0, "ffhq")])[0]
    return replace(found, box_xyxy=face_at(found.points).box_xyxy)  # as a detector would have found it


def closely(image: Image, face: Face) -> Face:
    """The face with the mesh that the network reads in a crop as tight as `face_in_crop`'s; its points stay.

    The mesh follows the crop: in that of a detector's box it is some 6 % wider and 10 % higher, so that
    looks read so would differ from those of sketches.
    """
    near = face
    for _ in range(2):  # the first points are those of a mesh that is too large
        near = with_mesh(image, [replace(near, box_xyxy=_tight_box(near))])[0]
    return replace(face, mesh=near.mesh, presence=near.presence)


def _tight_box(face: Face) -> Floats:
    """FFHQ_BOX where the face lies in its photo, by all five points, or by eyes and mouth alone in a head that is
    turned far, whose points lie closer together."""
    place = similarity(FFHQ_POINTS, face.points)
    if face.mesh is not None and abs(pose(face).yaw) > TURNED:
        place = align_ffhq(face, 1).to_photo
    centre = place[:, :2] @ (FFHQ_BOX[:2] + FFHQ_BOX[2:]) / 2 + place[:, 2]
    half = (FFHQ_BOX[2:] - FFHQ_BOX[:2]) / 2 * np.sqrt(np.linalg.det(place[:, :2]))
    return np.concatenate([centre - half, centre + half])


def looks(image: Image, face: Face) -> Floats:
    """The numbers of NAMES: degrees, lengths in distances between the outer corners of the eyes, what the mouth
    shows, and what the eyes do, in widths of an eye."""
    seen = eyes(image, face)
    return np.concatenate([posture(face), [teeth(image, face), seen.opening], seen.gaze])


def posture(face: Face) -> Floats:
    """Those of NAMES that the mesh tells alone: those before the teeth."""
    head, mesh = pose(face), _in_head_frame(face)
    opening = np.linalg.norm(mesh[13] - mesh[14])
    width = np.linalg.norm(mesh[61] - mesh[291])
    lift = (mesh[13, 1] + mesh[14, 1]) / 2 - (mesh[61, 1] + mesh[291, 1]) / 2
    return np.array([head.yaw, head.pitch, opening, width, lift])


def teeth(image: Image, face: Face) -> float:
    """How light it is between the lips: some 3 in a broad smile, 0 in a shut mouth, −2 in a gaping one.

    The sum over what lies between the lips of lightness, in that of the cheeks, beyond DIM; in hundredths of the
    square between the outer corners of the eyes.
    """
    assert face.mesh is not None
    across = face.mesh[263, :2] - face.mesh[33, :2]
    width = max(float(np.hypot(*across)), 1e-6)
    x, y = across / width * (MOUTH_ZOOM / width)
    middle = face.mesh[INNER_LIPS, :2].mean(axis=0)
    turn = np.array([[x, y], [-y, x]])
    place = Alignment(np.hstack([turn, (MOUTH_SIDE / 2 - turn @ middle)[:, None]]), MOUTH_SIDE)
    light = _lightness(place.crop(image))
    lips = place.points_to_crop(face.mesh[INNER_LIPS, :2])
    between = cv2.fillPoly(
        np.zeros(light.shape, np.float32), [np.rint(16 * lips).astype(np.int32)], 1, shift=4
    )
    cheeks = np.median(_lightness(_at(image, face.mesh[CHEEKS, :2])[None]))  # not of the whole photo
    beyond = light / max(float(cheeks), 1.0) - DIM
    return float(100 * (between * beyond).sum() / MOUTH_ZOOM**2)


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
    return np.asarray(np.median(_at(lab, points), axis=0))


def _lightness(image: Image) -> NDArray[np.float32]:
    return np.asarray(cv2.cvtColor(image, cv2.COLOR_RGB2LAB)[..., 0], np.float32)


def _at(image: NDArray[Any], points: Floats) -> NDArray[Any]:
    """The pixels at these points."""
    x, y = np.clip(np.rint(points - 0.5).astype(int), 0, np.array(image.shape[1::-1]) - 1).T
    return np.asarray(image[y, x])
