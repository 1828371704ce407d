"""Detectors by name. Each is a function: picture and thoroughness in, faces out, best first."""

from collections.abc import Callable, Sequence
from threading import Thread

import numpy as np

from faceveil.errors import UsageError
from faceveil.faces import blazeface, haar, yunet
from faceveil.faces.boxes import shown_by
from faceveil.faces.face import Face, Floats, Image
from faceveil.faces.mesh import with_mesh

Detector = Callable[[Image, bool], list[Face]]

DETECTORS: dict[str, Detector] = {"yunet": yunet.find, "blazeface": blazeface.find, "haar": haar.find}
# Quicker ones, where a box is enough.
FOR_BOXES: dict[str, Detector] = {"yunet": yunet.find_boxes, "blazeface": blazeface.find_boxes}
CONFIRM = {"blazeface": blazeface.confirmed}  # the second opinion that a detector's faces need
CARDS = {"yunet": "yunet.2023mar", "blazeface": "blazeface.back", "haar": None}  # the weights each needs
_begun: set[tuple[tuple[str, ...], bool]] = set()


def prepare(image: Image, *detectors: str, mesh: bool = True) -> None:
    """Begin to load what these detectors need for such pictures, side by side; once in a process."""
    if (detectors, mesh) not in _begun:
        _begun.add((detectors, mesh))
        height, width = (-(-side * 32 // max(image.shape)) for side in image.shape[:2])
        nothing = np.zeros((height, width, 3), np.uint8)  # of the same shape: what is loaded may depend on it
        for name in detectors:
            Thread(target=_finder(name, mesh), args=(nothing, False)).start()


def _finder(detector: str, mesh: bool) -> Detector:
    return DETECTORS[detector] if mesh else FOR_BOXES.get(detector, DETECTORS[detector])


def find_faces(
    image: Image,
    detector: str = "yunet",
    *,
    thorough: bool = False,
    mesh: bool = True,
    besides: Sequence[Floats] = (),
) -> list[Face]:
    """The faces in a picture (RGB, uint8, H×W×3) with their mesh, best first.

    A thorough scan finds more small faces and takes longer. Without `mesh` a face may have a box and rough points
    alone, which is enough to cover it with a rectangle. Faces that a box in `besides` shows are left out, which
    saves a closer look at them.
    """
    if detector not in DETECTORS:
        raise UsageError(f"no detector {detector!r}; there are {', '.join(DETECTORS)}.")
    if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3:
        raise UsageError(f"a picture is uint8 of height × width × 3, not {image.dtype} {image.shape}.")
    found = _finder(detector, mesh)(image, thorough)
    faces = [face for face in found if not shown_by(face.box_xyxy, besides)]
    if detector in CONFIRM:
        faces = CONFIRM[detector](image, faces)
    if not mesh:
        return faces
    return [face if face.mesh is not None else with_mesh(image, [face])[0] for face in faces]
