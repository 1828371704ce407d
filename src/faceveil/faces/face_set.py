"""FaceSet: the faces of a data set, aligned, as spaces and k-anonymous methods take them."""

from collections.abc import Hashable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

CROP_SIZE = 256


@dataclass(frozen=True, eq=False)
class FaceSet:
    """N faces. `crops` may be a memory map, so take a few at a time; `subjects` says which are one person."""

    crops: NDArray[np.uint8]  # N × 256 × 256 × 3, RGB, FFHQ alignment
    points: NDArray[np.float32]  # N × 5 × 2, the five points in the crop's pixels
    meshes: NDArray[np.float32]  # N × 468 × 3, in the crop's pixels
    subjects: NDArray[np.int64]  # N; equal numbers are one person
    # What spaces measured; it depends on each face alone. A copy with other crops begins anew.
    known: dict[Hashable, NDArray[np.float32]] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        count = len(self.crops)
        shapes = {
            "crops": (count, CROP_SIZE, CROP_SIZE, 3),
            "points": (count, 5, 2),
            "meshes": (count, 468, 3),
            "subjects": (count,),
        }
        for name, wanted in shapes.items():
            if getattr(self, name).shape != wanted:
                raise ValueError(f"{name} of {count} faces must be {wanted}, not {getattr(self, name).shape}")

    def __len__(self) -> int:
        return len(self.crops)

    def take(self, indices: NDArray[np.int64]) -> "FaceSet":
        """These faces alone, with what is known of them."""
        taken = FaceSet(
            self.crops[indices], self.points[indices], self.meshes[indices], self.subjects[indices]
        )
        taken.known.update(self.known_of(indices))
        return taken

    def known_of(self, indices: NDArray[np.int64]) -> dict[Hashable, NDArray[np.float32]]:
        """What was measured of these faces."""
        return {key: rows[indices] for key, rows in self.known.items()}
