"""attribute: what classifiers read in a face, as numbers from 0 to 1 (ATTRIBUTE of MIKU).

A reading is a function of an aligned crop and its face; add one to READINGS and it can be chosen by its name.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import ClassVar

import numpy as np

from faceveil.errors import UsageError
from faceveil.faces import Face, FaceSet, pose
from faceveil.faces.attributes import Attributes, attributes
from faceveil.faces.crops import as_face
from faceveil.faces.face import Image
from faceveil.spaces.space import Space, Vectors

Reading = Callable[[Image, Face, Attributes], Sequence[float]]
OLDEST = 100.0  # years; the age that counts as 1


def _pose(image: Image, face: Face, read: Attributes) -> Sequence[float]:
    """Yaw and pitch; 0.5 looks straight ahead. Alignment takes the roll away."""
    turned = pose(face)
    return [float(np.clip(0.5 + angle / 180, 0, 1)) for angle in (turned.yaw, turned.pitch)]


READINGS: dict[str, Reading] = {
    "age": lambda image, face, read: [min(read.age / OLDEST, 1.0)],
    "gender": lambda image, face, read: [read.female],  # probability of "female", as the classifier sees it
    "expression": lambda image, face, read: read.expression.tolist(),  # seven probabilities
    "pose": _pose,
}


class AttributeSpace(Space):
    """The chosen readings side by side. Cost: about 5 ms a face."""

    id: ClassVar[str] = "attribute"

    def __init__(self, names: Sequence[str] = ("age", "gender", "expression", "pose")) -> None:
        unknown = [name for name in names if name not in READINGS]
        if unknown or not names:
            what = ", ".join(repr(name) for name in unknown) or "nothing"
            raise UsageError(f"no attribute {what}; choose from {', '.join(READINGS)}.")
        self.names = tuple(names)

    @property
    def key(self) -> Hashable:
        """Measured once for a set."""
        return ("attribute", self.names)

    @property
    def cards(self) -> tuple[str, ...]:
        """The three classifiers'."""
        return ("age.v1", "gender.v1", "expression.fer")

    def _encode(self, faces: FaceSet) -> Vectors:
        rows = []
        for crop, points, mesh in zip(faces.crops, faces.points, faces.meshes, strict=True):
            face = as_face(points, mesh)
            read = attributes(crop, face)
            rows.append([value for name in self.names for value in READINGS[name](crop, face, read)])
        return np.array(rows, np.float32)
