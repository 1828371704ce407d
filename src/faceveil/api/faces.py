"""What is in an image: its faces, and what networks read in them."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from faceveil.api.images import ImageLike, as_photo
from faceveil.faces import Face, blendshapes, pose
from faceveil.faces.attributes import attribute_vector, skin_angle
from faceveil.faces.attributes import attributes as read
from faceveil.faces.face import Image
from faceveil.faces.looks import find_in_photo
from faceveil.models.attributes import EXPRESSIONS
from faceveil.models.attrnet import WEIGHTS, AttrNet
from faceveil.photos.transparency import shown
from faceveil.show import Displayed, Table


@dataclass(frozen=True, eq=False, repr=False)
class Faces(Displayed, Sequence[Face]):
    """The faces of one image, best first: a sequence of Face."""

    faces: tuple[Face, ...]
    size_wh: tuple[int, int]  # of the image

    @overload
    def __getitem__(self, index: int) -> Face: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Face]: ...
    def __getitem__(self, index: int | slice) -> Face | Sequence[Face]:
        return self.faces[index]

    def __len__(self) -> int:
        return len(self.faces)

    @property
    def boxes_xyxy(self) -> NDArray[np.float64]:
        """All boxes, N × 4."""
        return np.array([face.box_xyxy for face in self.faces], np.float64).reshape(-1, 4)

    def table(self) -> Table:
        """One row for each face."""
        return faces_table(self.faces, f"{_counted(len(self))} in {self.size_wh[0]}×{self.size_wh[1]} px")


def find_faces(image: ImageLike, detector: str = "yunet", *, thorough: bool = False) -> Faces:
    """The faces in an image, best first, each with its box, five points and mesh; `thorough` looks longer for small
    ones."""
    photo = as_photo(image)
    return Faces(tuple(find_in_photo(photo, detector, thorough=thorough)), photo.size_wh)


def faces_table(faces: Sequence[Face], title: str) -> Table:
    """Where faces are, how large and how sure."""
    rows = [
        (number, *(f"{value:.0f}" for value in (*face.box_xyxy[:2], *face.size_wh)), f"{face.score:.2f}")
        for number, face in enumerate(faces, 1)
    ]
    return Table(title, ("face", "x", "y", "width", "height", "score"), rows)


@dataclass(frozen=True, eq=False, repr=False)
class Attributes(Displayed, Sequence[Mapping[str, Any]]):
    """What networks read in each face of one image: a sequence of records, as pandas.DataFrame takes them."""

    records: tuple[Mapping[str, Any], ...]

    @overload
    def __getitem__(self, index: int) -> Mapping[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Mapping[str, Any]]: ...
    def __getitem__(self, index: int | slice) -> Mapping[str, Any] | Sequence[Mapping[str, Any]]:
        return self.records[index]

    def __len__(self) -> int:
        return len(self.records)

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        return iter(self.records)

    def table(self) -> Table:
        """One row for each face."""
        rows = [(number, *attribute_row(face)) for number, face in enumerate(self.records, 1)]
        return Table(f"Read in {_counted(len(self))}", ("face", *ATTRIBUTE_COLUMNS), rows)


ANGLES = ("yaw", "pitch", "roll")
ATTRIBUTE_COLUMNS = ("age", "gender seen", "expression", *ANGLES, "skin", "shows", "does")
PLAINLY, MOST_SHOWN = 0.3, 3  # of the blendshapes: from which strength they are shown, and how many


def attributes(
    image: ImageLike, *, thorough: bool = False, attrnet: "Path | str | AttrNet | None" = None
) -> Attributes:
    """Age, gender (as a classifier sees it), expression, pose, skin tone, labels and movements of every face in
    an image.

    `attrnet` is your own attribute network, as training/celeba.py writes it.
    """
    photo = as_photo(image)
    net = attrnet if isinstance(attrnet, AttrNet) else AttrNet(Path(attrnet) if attrnet else WEIGHTS)
    image = shown(photo)
    faces = find_in_photo(photo, thorough=thorough)
    return Attributes(tuple(_record(image, face, net) for face in faces))


def attribute_row(face: Mapping[str, Any]) -> tuple[str, ...]:
    """One face's record as cells, in the order of ATTRIBUTE_COLUMNS."""
    gender = "female" if face["female"] > 0.5 else "male"
    angles = [f"{face['pose'][axis]:+.0f}" for axis in ANGLES]
    skin = "" if face["skin_angle"] is None else f"{face['skin_angle']:.0f}"
    shows = ", ".join(label for label, probability in face["labels"].items() if probability > 0.5)
    does = ", ".join(_strongest(face["blendshapes"]))
    return f"{face['age']:.0f}", gender, face["expression"], *angles, skin, shows, does


def _strongest(blendshapes: Mapping[str, float]) -> list[str]:
    """The few that are plainly there."""
    order = sorted(blendshapes, key=lambda name: -blendshapes[name])
    return [f"{name} {blendshapes[name]:.1f}" for name in order[:MOST_SHOWN] if blendshapes[name] >= PLAINLY]


def _record(image: Image, face: Face, net: AttrNet) -> dict[str, Any]:
    """One face as a program reads it; every number but age, angles and box lies between 0 and 1."""
    seen, head, skin = read(image, face), pose(face), skin_angle(image, face)
    labels = attribute_vector(image, face, net.labels, net)
    return {
        "box_xyxy": [round(float(v), 1) for v in face.box_xyxy],
        "age": round(seen.age, 1),
        "female": _short(seen.female),
        "expression": EXPRESSIONS[int(seen.expression.argmax())],
        "expressions": dict(zip(EXPRESSIONS, map(_short, seen.expression), strict=True)),
        "pose": {name: round(getattr(head, name), 1) for name in ANGLES},
        "skin_angle": None if math.isnan(skin) else round(skin, 1),
        "labels": dict(zip(net.labels, map(_short, labels), strict=True)),
        "blendshapes": {name: _short(value) for name, value in blendshapes(image, face).named.items()},
    }


def _short(value: float) -> float:
    return round(float(value), 4)


def _counted(count: int) -> str:
    return "1 face" if count == 1 else f"{count} faces"
