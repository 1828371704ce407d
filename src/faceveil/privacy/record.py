"""What run.json records of a released set, so that anyone can check its claim: no names, nothing of an original.

Photos are named by a hash of their place in the folder; each face has its group (0: it is covered in black) and the
2×3 matrix that takes the photo's points to the face's crop. How many people are behind a group's faces is the run's
own count.

Where faces are joined with their photos there is also each group's face, as a code, and all that was taken over of
each face that it stands for (`faces/put_in.py`): with these and the released photo anyone can draw it again.
"""

import base64
import hashlib
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from faceveil.errors import UsageError
from faceveil.faces import Alignment
from faceveil.faces.detail import BANDS
from faceveil.faces.face_set import CROP_SIZE
from faceveil.faces.light import CELLS
from faceveil.faces.put_in import Member, Seen
from faceveil.models.mobilestylegan import SLOTS, STYLE_DIM
from faceveil.models.mobilestylegan import Floats as Code
from faceveil.models.parser import SIZE

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
    joined: Member | None = None  # how it was drawn, where it was joined with its photo


@dataclass(frozen=True)
class ReleaseRecord:
    """The claim of a released set and what is needed to check it. `k` is None where none is claimed."""

    kind: str  # photos or crops
    k: int | None
    groups: Mapping[int, GroupSize]
    photos: Mapping[str, tuple[ReplacedFace, ...]] = field(default_factory=dict)

    @property
    def joined(self) -> bool:
        """Whether faces were joined with their photos; else those of a group are the same picture."""
        return any(face.joined for faces in self.photos.values() for face in faces)

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
        if self.joined and self.k is not None:
            codes = {
                face.group: face.joined.code
                for faces in self.photos.values()
                for face in faces
                if face.joined
            }
            content["faces"] = {
                str(group): _packed(code, np.float16) for group, code in sorted(codes.items())
            }
            content["seen"] = {
                name: [_seen_to_json(face.joined.seen) if face.joined else None for face in faces]
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
            codes = {
                int(group): _unpacked(code, np.float16, (SLOTS, STYLE_DIM)).astype(np.float32)
                for group, code in content.get("faces", {}).items()
            }
            seen = content.get("seen", {})
            photos = {
                str(name): tuple(
                    _face(row, about, codes, int(content["crop_size"]))
                    for row, about in zip(rows, seen.get(name) or [None] * len(rows), strict=True)
                )
                for name, rows in content.get("photos", {}).items()
            }
            return cls(str(content["kind"]), None if k is None else int(k), groups, photos)
        except (KeyError, TypeError, ValueError, AttributeError, zlib.error) as error:
            raise UsageError(f"its record of the release is damaged ({error!r}).") from error


def name_key(name: str) -> str:
    """Stands for a photo's place below the released folder."""
    return hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest()[:20]


def _face(row: list[float], seen: Any, codes: Mapping[int, Code], size: int) -> ReplacedFace:
    matrix = np.array(row[1:], np.float64).reshape(2, 3)
    if not np.isfinite(matrix).all() or abs(np.linalg.det(matrix[:, :2])) < 1e-9:
        raise ValueError("a matrix that is no alignment")
    group, place = int(row[0]), Alignment(matrix, size)
    joined = None if seen is None else Member(place, codes[group], _seen_from_json(seen))
    return ReplacedFace(group, place, joined)


def _seen_to_json(seen: Seen) -> dict[str, object]:
    return {
        "turn": list(seen.turn),
        "grain": [round(float(value), 2) for value in seen.grain] if np.isfinite(seen.grain).all() else None,
        "light": _packed(seen.light, np.uint8),
        "outline": base64.b64encode(seen.shape).decode(),
    }


def _seen_from_json(content: Mapping[str, Any]) -> Seen:
    yaw, pitch = (float(value) for value in content["turn"])
    grain = np.array(content["grain"] or [np.nan] * BANDS, np.float32)
    light = _unpacked(content["light"], np.uint8, (CELLS, CELLS, 3)).astype(np.float32)
    seen = Seen(base64.b64decode(content["outline"], validate=True), light, grain, (yaw, pitch))
    if seen.outline.shape != (SIZE, SIZE) or grain.shape != (BANDS,) or not np.isfinite([yaw, pitch]).all():
        raise ValueError("what was seen of a face is not what is told of one")
    return seen


def _packed(values: Any, kind: DTypeLike) -> str:
    return base64.b64encode(zlib.compress(np.asarray(values, kind).tobytes(), 9)).decode()


def _unpacked(text: str, kind: DTypeLike, shape: tuple[int, ...]) -> NDArray[Any]:
    """UsageError's causes where it is no such array; no more is unpacked than it should hold."""
    size = int(np.prod(shape)) * np.dtype(kind).itemsize
    data = zlib.decompressobj().decompress(base64.b64decode(text, validate=True), size + 1)
    values = np.frombuffer(data, kind).reshape(shape)
    if not np.isfinite(values).all():
        raise ValueError("a number that is none")
    return values
