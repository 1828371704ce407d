"""Protect one photo: find its faces, apply the method, and let a second detector look for faces left standing."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from faceveil.errors import ProtectionError
from faceveil.faces import Face, Region, find_faces
from faceveil.faces.boxes import shown_by
from faceveil.faces.detect import quarters_of
from faceveil.faces.face import Floats, Image
from faceveil.photos import Photo
from faceveil.pipeline.settings import SECOND, Settings

Protect = Callable[[Image, Face], tuple[Image, Region]]  # a new picture and the region that changed


@dataclass(frozen=True)
class Protected:
    """A photo without its original faces, and how many there were."""

    photo: Photo
    faces: int
    found_late: int  # faces that only the second detector saw


def protect_photo(photo: Photo, settings: Settings, rng: np.random.Generator) -> Protected:
    """The photo with every face protected, or ProtectionError where that cannot be had."""
    faces = _find(photo.pixels, settings.detector, settings)
    protect = settings.face_method.protect
    return protect_faces(photo, faces, settings, lambda image, face: protect(image, face, rng))


def protect_faces(photo: Photo, faces: Sequence[Face], settings: Settings, protect: Protect) -> Protected:
    """The photo with these faces protected, and what the second detector still sees then."""
    image, regions = _apply(photo.pixels, faces, protect)
    late = _left_standing(image, faces, settings)
    if late:
        image, more = _apply(image, late, protect)
        regions += more
        if still := _left_standing(image, [*faces, *late], settings):
            raise ProtectionError(describe_standing(still[0], photo.size_wh, "the second detector"))
    opaque = None if photo.alpha is None else union(regions, photo.size_wh)
    return Protected(photo.with_pixels(image, opaque=opaque), len(faces) + len(late), len(late))


def _find(
    image: Image,
    detector: str,
    settings: Settings,
    besides: Sequence[Floats] = (),
    quarters: Sequence[int] = (),
) -> list[Face]:
    mesh, thorough = settings.face_method.needs_mesh, settings.thorough
    return find_faces(image, detector, thorough=thorough, mesh=mesh, besides=besides, quarters=quarters)


def _apply(image: Image, faces: Sequence[Face], protect: Protect) -> tuple[Image, list[Region]]:
    """Every face protected in turn: a neighbour that overlaps is seen as already changed, never as it was."""
    regions = []
    for face in sorted(faces, key=lambda face: tuple(face.box_xyxy)):
        after, where = protect(image, face)
        _refuse_unchanged(image, after, where, face)
        regions.append(where)
        image = after
    return image, regions


def _refuse_unchanged(before: Image, after: Image, where: Region, face: Face) -> None:
    """A filter too weak for a face leaves it as it was. (One colour alone shows nobody: it may stay.)"""
    pixels = before[where.window]
    if pixels.size and np.array_equal(pixels, after[where.window]) and pixels.min() != pixels.max():
        width, height = (round(v) for v in face.size_wh)
        raise ProtectionError(
            f"the method leaves a face of {width}×{height} px as it is. Choose another strength."
        )


def _left_standing(image: Image, protected: Sequence[Face], settings: Settings) -> list[Face]:
    """Faces that the second detector sees where no face was protected, largest first, each once.

    Where a protected face lies on its side, others may: the photo is also turned as that face was.
    """
    known = [face.box_xyxy for face in protected]
    standing = []
    seen = _find(image, SECOND[settings.detector], settings, known, quarters_of(protected))
    for face in sorted(seen, key=lambda face: -float(np.prod(face.size_wh))):
        if not shown_by(face.box_xyxy, known):
            standing.append(face)
            known.append(face.box_xyxy)
    return standing


def union(regions: Sequence[Region], size_wh: tuple[int, int]) -> np.ndarray:
    """True wherever a region touches the photo."""
    covered = np.zeros((size_wh[1], size_wh[0]), bool)
    for where in regions:
        covered[where.window] |= where.mask > 0
    return covered


def describe_standing(face: Face, size_wh: tuple[int, int], who: str) -> str:
    """Why a photo cannot be released: somebody still sees a face."""
    x, y = (round(float(v)) for v in face.centre)
    return (
        f"after protection {who} still sees a face of {round(face.size_wh[0])} px at {x}, {y} "
        f"in this photo of {size_wh[0]}×{size_wh[1]} px. Cover it by hand, or use --method blackout --shape box."
    )
