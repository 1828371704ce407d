"""Detectors by name. Each is a function: picture and thoroughness in, faces out, best first."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from threading import Thread

import numpy as np

from faceveil.errors import UsageError, WeightsError
from faceveil.faces import blazeface, centerface, haar, yunet
from faceveil.faces.boxes import shown_by
from faceveil.faces.clearer import clearer
from faceveil.faces.face import Face, Floats, Image
from faceveil.faces.mesh import with_mesh
from faceveil.faces.views import View, quarter_turned
from faceveil.models.store import Store

Detector = Callable[[Image, bool], list[Face]]

DETECTORS: dict[str, Detector] = {
    "yunet": yunet.find,
    "blazeface": blazeface.find,
    "centerface": centerface.find,
    "haar": haar.find,
}
# Quicker ones, where a box is enough.
FOR_BOXES: dict[str, Detector] = {"yunet": yunet.find_boxes, "blazeface": blazeface.find_boxes}
LOAD_FOR_BOXES: dict[str, Callable[[], None]] = {
    "yunet": yunet.load_for_boxes
}  # what a blank picture leaves out
CONFIRM = {"blazeface": blazeface.confirmed}  # the second opinion that a detector's faces need
CARDS = {  # the weights each needs
    "yunet": "yunet.2023mar",
    "blazeface": "blazeface.back",
    "centerface": centerface.CARD,
    "haar": None,
}
THOROUGH = {"yunet": "centerface"}  # who is asked besides in a thorough scan
ANY_SHAPE = ("yunet",)  # what these load does not depend on a picture's shape
_begun: set[tuple[str, bool]] = set()


def prepare(image: Image, *detectors: str, mesh: bool = True) -> list[Thread]:
    """Begin to load what these detectors need for such pictures, side by side; once in a process."""
    height, width = (-(-side * 32 // max(image.shape)) for side in image.shape[:2])
    nothing = np.zeros((height, width, 3), np.uint8)  # of the same shape: what is loaded may depend on it
    fresh = [name for name in detectors if (name, mesh) not in _begun]
    _begun.update((name, mesh) for name in fresh)
    loading = [Thread(target=_load, args=(name, mesh, nothing)) for name in fresh]
    for thread in loading:
        thread.start()
    return loading


def prepare_ahead(detector: str, *, mesh: bool = True) -> list[Thread]:
    """The same before there is a picture, where none is needed and nothing has to be fetched."""
    card = CARDS.get(detector)
    if detector not in ANY_SHAPE or card is None or not Store().has(card):
        return []
    return prepare(np.zeros((32, 32, 3), np.uint8), detector, mesh=mesh)


def _load(detector: str, mesh: bool, nothing: Image) -> None:
    with suppress(WeightsError):  # whoever needs them will say so
        _finder(detector, mesh)(nothing, False)
        if not mesh and detector in LOAD_FOR_BOXES:
            LOAD_FOR_BOXES[detector]()


def _finder(detector: str, mesh: bool) -> Detector:
    return DETECTORS[detector] if mesh else FOR_BOXES.get(detector, DETECTORS[detector])


def find_faces(
    image: Image,
    detector: str = "yunet",
    *,
    thorough: bool = False,
    mesh: bool = True,
    besides: Sequence[Floats] = (),
    quarters: Iterable[int] = (),
) -> list[Face]:
    """The faces in a picture (RGB, uint8, H×W×3) with their mesh, best first.

    A thorough scan finds more small faces and takes longer. A photo that is pale, dark, grainy or striped is searched
    once more, made clearer. Without `mesh` a face may have a box and rough points
    alone, which is enough to cover it with a rectangle. Faces that a box in `besides` shows are left out, which
    saves a closer look at them. The photo is also searched turned counter-clockwise by these `quarters`.
    """
    if detector not in DETECTORS:
        raise UsageError(f"no detector {detector!r}; there are {', '.join(DETECTORS)}.")
    if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3:
        raise UsageError(f"a picture is uint8 of height × width × 3, not {image.dtype} {image.shape}.")
    clear = clearer(image)
    pictures = [image] if clear is None else [image, clear]
    detectors = [detector, THOROUGH[detector]] if thorough and detector in THOROUGH else [detector]
    faces: list[Face] = []
    for picture in pictures:
        for name in detectors:
            known = [*besides, *(face.box_xyxy for face in faces)]
            faces += _found(picture, name, thorough, mesh, known)
        for turn in quarters:
            known = [*besides, *(face.box_xyxy for face in faces)]
            view = quarter_turned(picture, turn)
            turned = [_in_photo(face, view) for face in _found(view.pixels, detector, thorough, mesh, ())]
            faces += [face for face in turned if not shown_by(face.box_xyxy, known)]
    return sorted(faces, key=lambda face: -face.score)


def quarters_of(faces: Iterable[Face]) -> list[int]:
    """By how many quarters counter-clockwise a photo must be turned so that those which lie in it stand upright."""
    return sorted({round(face.roll / 90) % 4 for face in faces} - {0})


def _in_photo(face: Face, view: View) -> Face:
    """A face of a turned view, in the photo's coordinates."""
    corners = view.to_photo(face.box_xyxy.reshape(2, 2))
    mesh = face.mesh
    if mesh is not None:
        mesh = np.hstack([view.to_photo(mesh[:, :2]), mesh[:, 2:]])
    box = np.concatenate([corners.min(axis=0), corners.max(axis=0)])
    return replace(face, box_xyxy=box, points=view.to_photo(face.points), mesh=mesh)


def _found(image: Image, detector: str, thorough: bool, mesh: bool, besides: Sequence[Floats]) -> list[Face]:
    found = _finder(detector, mesh)(image, thorough)
    faces = [face for face in found if not shown_by(face.box_xyxy, besides)]
    if detector in CONFIRM:
        faces = CONFIRM[detector](image, faces, mesh)
    if not mesh:
        return faces
    return [face if face.mesh is not None else with_mesh(image, [face])[0] for face in faces]
