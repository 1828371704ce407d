"""What a face does: 52 blendshapes, and the 478 points that tell them (networks: facemesh.478 and blendshapes.52).

    seen = blendshapes(image, face)
    seen.named["mouthSmileLeft"], seen.points[LEFT_IRIS]

Names and their order are MediaPipe's; left and right are the person's.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from faceveil.faces.face import Face, Floats, Image
from faceveil.faces.mesh import LEFT_EYE_OUTER, RIGHT_EYE_OUTER, SURE
from faceveil.faces.views import close_up
from faceveil.models.runtime import load

POINTS, SHAPES = "facemesh.478", "blendshapes.52"  # cards
SIDE = 256  # px of the first network's input
MARGIN = 1.5  # the crop's side, in sides of the box
RIGHT_IRIS, LEFT_IRIS = slice(468, 473), slice(473, 478)  # each its middle first
NAMES = (
    "_neutral", "browDownLeft", "browDownRight", "browInnerUp", "browOuterUpLeft", "browOuterUpRight", "cheekPuff",
    "cheekSquintLeft", "cheekSquintRight", "eyeBlinkLeft", "eyeBlinkRight", "eyeLookDownLeft", "eyeLookDownRight",
    "eyeLookInLeft", "eyeLookInRight", "eyeLookOutLeft", "eyeLookOutRight", "eyeLookUpLeft", "eyeLookUpRight",
    "eyeSquintLeft", "eyeSquintRight", "eyeWideLeft", "eyeWideRight", "jawForward", "jawLeft", "jawOpen",
    "jawRight", "mouthClose", "mouthDimpleLeft", "mouthDimpleRight", "mouthFrownLeft", "mouthFrownRight",
    "mouthFunnel", "mouthLeft", "mouthLowerDownLeft", "mouthLowerDownRight", "mouthPressLeft", "mouthPressRight",
    "mouthPucker", "mouthRight", "mouthRollLower", "mouthRollUpper", "mouthShrugLower", "mouthShrugUpper",
    "mouthSmileLeft", "mouthSmileRight", "mouthStretchLeft", "mouthStretchRight", "mouthUpperUpLeft",
    "mouthUpperUpRight", "noseSneerLeft", "noseSneerRight",
)  # fmt: skip
READ = [  # the points that the second network reads
    0, 1, 4, 5, 6, 7, 8, 10, 13, 14, 17, 21, 33, 37, 39, 40, 46, 52, 53, 54, 55, 58, 61, 63, 65, 66, 67, 70, 78, 80,
    81, 82, 84, 87, 88, 91, 93, 95, 103, 105, 107, 109, 127, 132, 133, 136, 144, 145, 146, 148, 149, 150, 152, 153,
    154, 155, 157, 158, 159, 160, 161, 162, 163, 168, 172, 173, 176, 178, 181, 185, 191, 195, 197, 234, 246, 249,
    251, 263, 267, 269, 270, 276, 282, 283, 284, 285, 288, 291, 293, 295, 296, 297, 300, 308, 310, 311, 312, 314,
    317, 318, 321, 323, 324, 332, 334, 336, 338, 356, 361, 362, 365, 373, 374, 375, 377, 378, 379, 380, 381, 382,
    384, 385, 386, 387, 388, 389, 390, 397, 398, 400, 402, 405, 409, 415, 454, 466, *range(468, 478),
]  # fmt: skip
PARTS = {  # of a face, and the names that speak of each
    "mouth": tuple(name for name in NAMES if name.startswith(("jaw", "mouth"))),
    "eyes": tuple(name for name in NAMES if name.startswith(("eyeBlink", "eyeSquint", "eyeWide"))),
    "gaze": tuple(name for name in NAMES if name.startswith("eyeLook")),
}


@dataclass(frozen=True, eq=False)
class Blendshapes:
    """Of one face."""

    values: NDArray[np.float32]  # 0 to 1, in the order of NAMES
    points: Floats  # 478 × 3 in the photo's pixels, depth in the same unit; the first 468 are the mesh's
    presence: float  # the network's own opinion that this is a face, 0 to 1

    @property
    def named(self) -> dict[str, float]:
        """The values by name."""
        return dict(zip(NAMES, self.values.tolist(), strict=True))

    @property
    def gaze(self) -> Floats:
        """Where both eyes look on average, -1 to 1: x to the picture's right, y down."""
        look = {name.removeprefix("eyeLook"): value for name, value in self.named.items()}
        right, left = look["InRight"] - look["OutRight"], look["OutLeft"] - look["InLeft"]
        down = look["DownRight"] + look["DownLeft"] - look["UpRight"] - look["UpLeft"]
        return np.array([right + left, down]) / 2


def blendshapes(image: Image, face: Face) -> Blendshapes:
    """Read one face of a photo, with the eyes level: in its box, and once more in that of the points found there.

    The second look halves what the values owe to where a detector puts its box.
    """
    first = _look(image, face.centre, max(face.size_wh), face.roll)
    if first.presence < SURE:  # the points of no face lie anywhere
        return first
    return _look(image, *_place(first.points[:, :2]))


def _look(image: Image, centre: Floats, side: float, degrees: float) -> Blendshapes:
    """What is read where a box has this middle, side and tilt."""
    view = close_up(image, centre, SIDE / (side * MARGIN), degrees, SIDE)
    points, logit, _ = load(POINTS)(view.pixels[None].astype(np.float32) / 255)
    in_view = points.reshape(-1, 3)
    (values,) = load(SHAPES)(np.ascontiguousarray(in_view[None, READ, :2]))
    in_photo = np.hstack([view.to_photo(in_view[:, :2].astype(np.float64)), in_view[:, 2:] / view.zoom])
    return Blendshapes(values, in_photo, 1 / (1 + np.exp(-float(logit.item()))))


def _place(points: Floats) -> tuple[Floats, float, float]:
    """Middle, longer side and tilt in degrees of the points' box that is as tilted as the eyes."""
    flat = points @ [1, 1j]
    eyes = flat[LEFT_EYE_OUTER] - flat[RIGHT_EYE_OUTER]
    turn = eyes / abs(eyes)
    upright = flat / turn
    low, high = np.array([[part.min(), part.max()] for part in (upright.real, upright.imag)]).T
    middle = complex(*(low + high) / 2) * turn
    return np.array([middle.real, middle.imag]), float((high - low).max()), float(np.degrees(np.angle(turn)))


def part_errors(one: NDArray[np.floating], other: NDArray[np.floating]) -> dict[str, Floats]:
    """Mean absolute differences of values (… × 52): of all, and of those of each of PARTS."""
    gaps = np.abs(np.subtract(one, other, dtype=np.float64))
    columns = {part: [NAMES.index(name) for name in names] for part, names in {"all": NAMES, **PARTS}.items()}
    return {part: gaps[..., those].mean(axis=-1) for part, those in columns.items()}
