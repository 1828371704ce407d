"""What run.json records of a released set, so that anyone can check its claim: no names, nothing of an original.

Photos are named by a hash of their place in the folder; each face has its group (0: it is covered in black) and the
2×3 matrix that takes the photo's points to the face's crop. How many people are behind a group's faces is the run's
own count.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from faceveil.errors import UsageError
from faceveil.faces import Alignment
from faceveil.faces.face_set import CROP_SIZE

COVERED = 0  # in place of a group's number: no group took this face


@dataclass(frozen=True)
class GroupSize:
    """How many faces of how many people were released with one picture."""

    faces: int
    people: int


@dataclass(frozen=True, eq=False)
class ReplacedFace:
    """A face in a released photo: its group, and where it lies."""

    group: int
    place: Alignment


@dataclass(frozen=True)
class ReleaseRecord:
    """The claim of a released set and what is needed to check it. `k` is None where none is claimed."""

    kind: str  # photos or crops
    k: int | None
    groups: Mapping[int, GroupSize]
    photos: Mapping[str, tuple[ReplacedFace, ...]] = field(default_factory=dict)

    def to_json(self) -> dict[str, object]:
        """As it stands in run.json."""
        content: dict[str, object] = {
            "kind": self.kind,
            "k": self.k,
            "groups": {
                str(number): {"faces": size.faces, "people": size.people}
                for number, size in sorted(self.groups.items())
            },
        }
        if self.kind == "photos":
            content["crop_size"] = CROP_SIZE
            content["photos"] = {
                name: [[face.group, *map(float, face.place.to_crop.ravel())] for face in faces]
                for name, faces in sorted(self.photos.items())
            }
        return content

    @classmethod
    def from_json(cls, content: Any) -> "ReleaseRecord":
        """Read it back; UsageError where it is damaged."""
        try:
            k = content["k"]
            groups = {
                int(number): GroupSize(int(size["faces"]), int(size["people"]))
                for number, size in content["groups"].items()
            }
            photos = {
                str(name): tuple(_face(row, int(content["crop_size"])) for row in rows)
                for name, rows in content.get("photos", {}).items()
            }
            return cls(str(content["kind"]), None if k is None else int(k), groups, photos)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise UsageError(f"its record of the release is damaged ({error!r}).") from error


def name_key(name: str) -> str:
    """Stands for a photo's place below the released folder."""
    return hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest()[:20]


def _face(row: list[float], size: int) -> ReplacedFace:
    matrix = np.array(row[1:], np.float64).reshape(2, 3)
    if not np.isfinite(matrix).all() or abs(np.linalg.det(matrix[:, :2])) < 1e-9:
        raise ValueError("a matrix that is no alignment")
    return ReplacedFace(int(row[0]), Alignment(matrix, size))
