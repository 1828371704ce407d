"""Protect one photo: find its faces, apply the method, and let a second detector look for faces left standing."""

from dataclasses import dataclass

import numpy as np

from faceveil.errors import ProtectionError
from faceveil.faces import Face, Region, find_faces, with_mesh
from faceveil.faces.boxes import areas, overlaps
from faceveil.faces.face import Image
from faceveil.photos import Photo
from faceveil.pipeline.settings import SECOND, Settings

COVERED = 0.5  # a box is explained by the protected regions if they cover this part of it


@dataclass(frozen=True)
class Protected:
    """A photo without its original faces, and how many there were."""

    photo: Photo
    faces: int
    found_late: int  # faces that only the second detector saw


def protect_photo(photo: Photo, settings: Settings, rng: np.random.Generator) -> Protected:
    """The photo with every face protected, or ProtectionError where that cannot be had."""
    faces = find_faces(photo.pixels, settings.detector)
    image, covered = _apply(photo.pixels, faces, settings, rng, np.zeros(photo.pixels.shape[:2], bool))
    late = _left_standing(image, covered, settings)
    if late:
        image, covered = _apply(image, late, settings, rng, covered)
        if still := _left_standing(image, covered, settings):
            raise ProtectionError(_describe(still[0], photo.size_wh))
    return Protected(photo.with_pixels(image, opaque=covered), len(faces) + len(late), len(late))


def _apply(
    image: Image, faces: list[Face], settings: Settings, rng: np.random.Generator, covered: np.ndarray
) -> tuple[Image, np.ndarray]:
    if settings.method.needs_mesh:
        faces = with_mesh(image, faces)
    covered = covered.copy()
    for face in sorted(faces, key=lambda face: tuple(face.box_xyxy)):
        after, where = settings.method.protect(image, face, rng)
        _refuse_unchanged(image, after, where, face)
        covered[where.window] |= where.mask > 0
        image = after
    return image, covered


def _refuse_unchanged(before: Image, after: Image, where: Region, face: Face) -> None:
    """A filter too weak for a face leaves it as it was; a face already covered by its neighbour may stay."""
    pixels = before[where.window]
    if pixels.size and np.array_equal(pixels, after[where.window]) and pixels.min() != pixels.max():
        width, height = (round(v) for v in face.size_wh)
        raise ProtectionError(
            f"the method leaves a face of {width}×{height} px as it is. Choose another strength."
        )


def _left_standing(image: Image, covered: np.ndarray, settings: Settings) -> list[Face]:
    """Faces that the second detector sees where nothing was protected."""
    height, width = covered.shape
    standing = []
    for face in find_faces(image, SECOND[settings.detector]):
        x0, y0, x1, y1 = np.clip(np.rint(face.box_xyxy), 0, [width, height] * 2).astype(int)
        inside = covered[y0:y1, x0:x1]
        if inside.size and inside.mean() < COVERED:
            standing.append(face)
    return _largest_first(standing)


def _largest_first(faces: list[Face]) -> list[Face]:
    """Without boxes that lie inside larger ones: they are the same face."""
    kept: list[Face] = []
    for face in sorted(faces, key=lambda face: -float(np.prod(face.size_wh))):
        box = face.box_xyxy[None]
        others = np.array([other.box_xyxy for other in kept]).reshape(-1, 4)
        if not (overlaps(box, others) > COVERED * areas(box)).any():
            kept.append(face)
    return kept


def _describe(face: Face, size_wh: tuple[int, int]) -> str:
    x, y = (round(float(v)) for v in face.centre)
    return (
        f"after protection the second detector still sees a face of {round(face.size_wh[0])} px at {x}, {y} "
        f"in this photo of {size_wh[0]}×{size_wh[1]} px. Cover it by hand, or use --method blackout --shape box."
    )
