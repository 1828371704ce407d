"""Where faces are: the main one of a photo, and which released face stands where an original one stood."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from faceveil.faces import Face

NEARBY = 0.5  # widths of the original's face by which the released one may have moved; beyond is a neighbour
SIZES = 0.4, 2.5  # of the original's, that the released face may have


def main_face(faces: Sequence[Face], size_wh: tuple[int, int]) -> Face | None:
    """The face that a photo shows: large, and near the middle."""
    middle = np.array(size_wh) / 2
    return max(
        faces, key=lambda face: max(face.size_wh) - 0.5 * np.hypot(*(face.centre - middle)), default=None
    )


def main_first(faces: Sequence[Face], size_wh: tuple[int, int]) -> list[Face]:
    """The main face, then the others from left to right."""
    main = main_face(faces, size_wh)
    if main is None:
        return []
    return [main, *sorted((face for face in faces if face is not main), key=lambda face: face.centre[0])]


def matched(expected: Sequence[Face], found: Sequence[Face]) -> list[Face | None]:
    """For each expected face the one found in its place, the nearest pairs first, and no face twice."""
    pairs = []
    for row, face in enumerate(expected):
        width = max(face.size_wh)
        for column, other in enumerate(found):
            moved = float(np.hypot(*(other.centre - face.centre))) / width
            if moved < NEARBY and SIZES[0] < max(other.size_wh) / width < SIZES[1]:
                pairs.append((moved, row, column))
    chosen: dict[int, int] = {}
    for _, row, column in sorted(pairs):
        if row not in chosen and column not in chosen.values():
            chosen[row] = column
    return [found[chosen[row]] if row in chosen else None for row in range(len(expected))]


def scaled(face: Face, from_wh: tuple[int, int], to_wh: tuple[int, int]) -> Face:
    """The face's place in a released photo of another size."""
    if from_wh == to_wh:
        return face
    ratio = np.array(to_wh) / np.array(from_wh)
    return replace(face, box_xyxy=face.box_xyxy * np.r_[ratio, ratio], points=face.points * ratio)
