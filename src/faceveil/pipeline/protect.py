"""Protect one photo: find its faces, apply the method, and let a second detector look for faces left standing."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from faceveil.errors import ProtectionError
from faceveil.faces import Face, Region
from faceveil.faces.boxes import shown_by
from faceveil.faces.detect import quarters_of
from faceveil.faces.face import Floats, Image
from faceveil.faces.looks import find_in_photo
from faceveil.faces.overlap import far_to_near, replaced_along
from faceveil.photos import Photo
from faceveil.photos.transparency import shown, with_shown
from faceveil.pipeline.settings import SECOND, Settings

Protect = Callable[[Image, Face], tuple[Image, Region]]  # a new picture and the region that changed


@dataclass(frozen=True)
class Protected:
    """A photo without its original faces, and where they were."""

    photo: Photo
    found: tuple[Face, ...]
    found_late: int  # faces that only the second detector saw

    @property
    def faces(self) -> int:
        """How many there were."""
        return len(self.found)


def protect_photo(photo: Photo, settings: Settings, rng: np.random.Generator) -> Protected:
    """The photo with every face protected, or ProtectionError where that cannot be had."""
    faces = _find(photo, settings.detector, settings)
    protect = settings.face_method.protect
    return protect_faces(photo, faces, settings, lambda image, face: protect(image, face, rng))


def protect_faces(photo: Photo, faces: Sequence[Face], settings: Settings, protect: Protect) -> Protected:
    """The photo with these faces protected, and what the second detector still sees then.

    If that is more, all are protected anew, so that the nearer ones end on top.
    """
    image, every = shown(photo), list(faces)
    bare: list[Face] = []  # what lies within another face and was not replaced with it
    for last in (False, True):
        alone = [face for face in every if face in bare or not replaced_along(face, every, image)]
        result, regions = _apply(photo, alone, protect)
        bare = [
            face for face in every if face not in alone and not replaced_along(face, alone, image, regions)
        ]
        bare += (late := _left_standing(result, every, regions, settings))
        if not bare:
            break
        if last:
            raise ProtectionError(describe_standing(bare[0], photo.size_wh, "the second detector"))
        every += late
    return Protected(result, tuple(every), len(every) - len(faces))


def _find(
    photo: Photo,
    detector: str,
    settings: Settings,
    besides: Sequence[Floats] = (),
    quarters: Sequence[int] = (),
) -> list[Face]:
    mesh, thorough = settings.face_method.needs_mesh, settings.thorough
    return find_in_photo(photo, detector, thorough=thorough, mesh=mesh, besides=besides, quarters=quarters)


def _apply(photo: Photo, faces: Sequence[Face], protect: Protect) -> tuple[Photo, list[Region]]:
    """Every face protected in turn: a neighbour that overlaps is seen as already changed, never as it was."""
    image, regions = shown(photo), []
    for face in far_to_near(faces):
        after, where = protect(image, face)
        _refuse_unchanged(image, after, where, face)
        regions.append(where)
        image = after
    return with_changed(photo, image, regions), regions


def _refuse_unchanged(before: Image, after: Image, where: Region, face: Face) -> None:
    """A filter too weak for a face leaves it as it was. (One colour alone shows nobody: it may stay.)"""
    pixels = before[where.window]
    if pixels.size and np.array_equal(pixels, after[where.window]) and pixels.min() != pixels.max():
        width, height = (round(v) for v in face.size_wh)
        raise ProtectionError(
            f"the method leaves a face of {width}×{height} px as it is. Choose another strength."
        )


def _left_standing(
    photo: Photo, protected: Sequence[Face], regions: Sequence[Region], settings: Settings
) -> list[Face]:
    """Faces that the second detector sees where no face was protected, largest first, each once.

    Where a protected face lies on its side, others may: the photo is also turned as that face was.
    """
    known = [face.box_xyxy for face in protected]
    standing = []
    seen = _find(photo, SECOND[settings.detector], settings, known, quarters_of(protected))
    for face in reversed(far_to_near(seen)):
        there = shown_by(face.box_xyxy, known) or replaced_along(face, protected, photo.pixels, regions)
        if not there:
            standing.append(face)
            known.append(face.box_xyxy)
    return standing


def with_changed(photo: Photo, image: Image, regions: Sequence[Region]) -> Photo:
    """The photo that shows this image where a region touches it."""
    changed = np.zeros(image.shape[:2] if photo.alpha is not None else (0, 0), bool)
    for where in regions if photo.alpha is not None else ():
        changed[where.window] |= where.mask > 0
    return with_shown(photo, image, changed)


def describe_standing(face: Face, size_wh: tuple[int, int], who: str) -> str:
    """Why a photo cannot be released: somebody still sees a face."""
    x, y = (round(float(v)) for v in face.centre)
    return (
        f"after protection {who} still sees a face of {round(face.size_wh[0])} px at {x}, {y} "
        f"in this photo of {size_wh[0]}×{size_wh[1]} px. Cover it by hand, or use --method blackout --shape box."
    )
