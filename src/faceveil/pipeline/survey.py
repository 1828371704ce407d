"""Survey, the first stage for a set: find and align the faces of every photo, and keep them for the decision.

What is found in a photo goes to one file in the private folder, written whole; a run that was cut off skips the
photos whose files are there. `assemble` then joins them, in the order of the plan, into arrays that are read a
few rows at a time.
"""

import hashlib
import io
import json
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faceveil.errors import PhotoError
from faceveil.faces import Alignment, Face, FaceSet, align_ffhq
from faceveil.faces.boxes import shown_by
from faceveil.faces.detect import quarters_of
from faceveil.faces.face import Image
from faceveil.faces.face_set import CROP_SIZE
from faceveil.faces.looks import find_in_photo
from faceveil.faces.overlap import far_to_near, replaced_along
from faceveil.faces.put_in import Seen, packed
from faceveil.faces.replace import is_checkable, visible_inner
from faceveil.models.npz import mapped, opened
from faceveil.photos import Photo, read_photo, write_bytes
from faceveil.photos.transparency import shown
from faceveil.pipeline.plan import Job
from faceveil.pipeline.rows import RowsFile
from faceveil.pipeline.settings import SECOND, Settings
from faceveil.pipeline.subjects import embed_for_subjects
from faceveil.pipeline.work import without_path

Array = NDArray[np.generic]
DONE = "faces.json"  # written last: the survey is complete
SEEN = ("shapes", "lights", "grains", "turns")  # what is still seen of a face that is joined with its photo
ARRAYS = ("crops", "alignments", "boxes", "points", "meshes", "presences", "embeddings", *SEEN)
BLOCK = 64  # faces copied at a time
CHECK_SIZE = 64  # px of the crop in which it is measured how much of a face is seen
HIDDEN = "a face lies so far under another or out of the frame that its replacement cannot be checked."


@dataclass(frozen=True)
class PhotoFaces:
    """What was found in one photo: rows of the arrays, and which pixels it had."""

    first: int
    count: int
    found_late: int
    digest: str
    notes: tuple[str, ...]
    hidden: bool = False  # of one of its faces too little would be seen

    @property
    def rows(self) -> slice:
        """Its faces among all."""
        return slice(self.first, self.first + self.count)


def survey_photo(item: tuple[int, Job], settings: Settings, folder: Path) -> tuple[int, str | None]:
    """Find and keep the faces of one photo: its number, and what is wrong with it, if anything is."""
    number, job = item
    try:
        photo = read_photo(job.source, max_pixels=settings.max_pixels, keep_metadata=settings.keep_metadata)
        faces, late = faces_of(photo, settings)
        arrays = _arrays(photo, faces, with_embeddings=settings.subjects == "auto", joins=settings.joins)
    except PhotoError as error:
        return number, without_path(str(error), job.source)
    except MemoryError:
        return number, "not enough memory for this photo."
    places = [Alignment(matrix, CROP_SIZE) for matrix in arrays["alignments"]]
    found = {"found_late": late, "digest": digest(photo), "notes": photo.notes}
    about = json.dumps({**found, "hidden": any(hidden(places, photo.size_wh))})
    buffer = io.BytesIO()
    np.savez(buffer, about=np.array(about), **arrays)  # type: ignore[arg-type]
    write_bytes(buffer.getvalue(), _file(folder, number), overwrite=True)
    return number, None


def faces_of(photo: Photo, settings: Settings) -> tuple[list[Face], int]:
    """The faces that either detector sees, each once, in the order of replacing, and how many only the second saw.

    A method that takes all faces at once replaces each to its outline, and so what lies within it too.
    """
    faces = find_in_photo(photo, settings.detector, thorough=settings.thorough)
    known = [face.box_xyxy for face in faces]
    late = []
    for face in find_in_photo(
        photo,
        SECOND[settings.detector],
        thorough=settings.thorough,
        besides=known,
        quarters=quarters_of(faces),
    ):
        if not shown_by(face.box_xyxy, known):
            late.append(face)
            known.append(face.box_xyxy)
    every = [*faces, *late]
    if settings.needs_all_faces:
        every = [face for face in every if not replaced_along(face, every, photo.pixels)]
    return far_to_near(every), sum(face in every for face in late)


def hidden(places: Sequence[Alignment], size_wh: tuple[int, int]) -> list[bool]:
    """Of each face, in the order of replacing, whether so little would be seen that nobody could check it."""
    return [not is_checkable(one) for one in visible_inner(places, size_wh, CHECK_SIZE)]


def digest(photo: Photo) -> str:
    """Names these pixels, so that a photo that changes under a run is noticed."""
    planes = (photo.pixels,) if photo.alpha is None else (photo.pixels, photo.alpha)
    named = hashlib.blake2b(digest_size=16)
    for plane in planes:
        named.update(np.ascontiguousarray(plane).data)
    return named.hexdigest()


def _rounded(alignment: Alignment) -> Alignment:
    """The alignment with the figures that run.json records: what is published is exactly what was done."""
    matrix = alignment.to_crop
    return Alignment(np.hstack([np.round(matrix[:, :2], 8), np.round(matrix[:, 2:], 4)]), alignment.size)


def _arrays(photo: Photo, faces: list[Face], *, with_embeddings: bool, joins: bool) -> dict[str, Array]:
    cuts = [_rounded(align_ffhq(face, CROP_SIZE)) for face in faces]
    image = shown(photo)
    crops = [cut.crop(image) for cut in cuts]
    points = [cut.points_to_crop(face.points) for cut, face in zip(cuts, faces, strict=True)]
    count = len(faces)
    embeddings = (
        [embed_for_subjects(crop, five) for crop, five in zip(crops, points, strict=True)]
        if with_embeddings
        else []
    )
    return {
        "crops": np.array(crops, np.uint8).reshape(count, CROP_SIZE, CROP_SIZE, 3),
        "alignments": np.array([cut.to_crop for cut in cuts]).reshape(count, 2, 3),
        "boxes": np.array([face.box_xyxy for face in faces]).reshape(count, 4),
        "points": np.array(points, np.float32).reshape(count, 5, 2),
        "meshes": np.array(list(map(_mesh_in_crop, faces, cuts)), np.float32).reshape(count, 468, 3),
        "presences": np.array([face.presence or 0.0 for face in faces]).reshape(count),
        "embeddings": np.array(embeddings, np.float32).reshape(count, 128 if embeddings else 0),
        **(_seen(image, faces, cuts) if joins else {name: np.zeros((count, 0)) for name in SEEN}),
    }


def _seen(image: Image, faces: list[Face], cuts: list[Alignment]) -> dict[str, Array]:
    """What is still seen of each face, where it is joined with its photo."""
    from faceveil.methods.joined import seen_of

    found = [
        seen_of(image, face, cut, [other for other in cuts if other is not cut])
        for face, cut in zip(faces, cuts, strict=True)
    ]
    return {
        "shapes": np.array([np.packbits(seen.outline) for seen in found], np.uint8),
        "lights": np.array([seen.light for seen in found], np.float32),
        "grains": np.array([seen.grain for seen in found], np.float32),
        "turns": np.array([seen.turn for seen in found], np.float32),
    }


def _mesh_in_crop(face: Face, cut: Alignment) -> NDArray[np.float64]:
    if face.mesh is None:
        return np.zeros((468, 3))
    return np.hstack([cut.points_to_crop(face.mesh[:, :2]), face.mesh[:, 2:] * cut.zoom])


def _face(box: Array, points: Array, mesh: Array, presence: float, cut: Alignment) -> Face:
    """The face in its photo again."""
    flat = cut.points_to_photo(np.asarray(mesh[:, :2], np.float64))
    return Face(
        np.array(box, np.float64),
        cut.points_to_photo(np.asarray(points, np.float64)),
        1.0,
        "survey",
        np.hstack([flat, np.asarray(mesh[:, 2:], np.float64) / cut.zoom]),
        presence,
    )


def _file(folder: Path, number: int) -> Path:
    return folder / f"photo-{number:07d}.npz"


class Surveyed:
    """All faces of a run, in the order of the plan; arrays are memory maps of files in the private folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        content = json.loads((folder / DONE).read_text(encoding="utf-8"))
        self.photos = {
            int(number): PhotoFaces(**{**about, "notes": tuple(about["notes"])})
            for number, about in content["photos"].items()
        }
        self.failed = {int(number): reason for number, reason in content["failed"].items()}

    @classmethod
    def exists(cls, folder: Path) -> bool:
        """Whether a survey was completed there."""
        return (folder / DONE).exists()

    def __len__(self) -> int:
        return sum(photo.count for photo in self.photos.values())

    def array(self, name: str) -> Any:
        """One of ARRAYS, for all faces, as a memory map."""
        return _load(self.folder, name)

    def seen(self, row: int) -> Seen:
        """What is still seen of a face, in a run that joins."""
        shape, light, grain, turn = (np.array(self.array(name)[row]) for name in SEEN)
        yaw, pitch = turn.tolist()
        return Seen(packed(np.unpackbits(shape) > 0), light, grain, (yaw, pitch))

    @property
    def photo_of(self) -> NDArray[np.int64]:
        """The plan's number of the photo each face is in."""
        return np.array(
            [number for number, photo in self.photos.items() for _ in range(photo.count)], np.int64
        )

    def face_set(self, subjects: NDArray[np.int64], rows: NDArray[np.int64]) -> FaceSet:
        """These faces as a method takes them. All of them cost no memory; a part of them is copied on the disk."""
        crops, points, meshes = self.array("crops"), self.array("points"), self.array("meshes")
        if len(rows) < len(self):
            crops, points, meshes = (
                _copied(crops, rows, self.folder / f"part-{len(rows)}.npy"),
                points[rows],
                meshes[rows],
            )
        return FaceSet(crops, points, meshes, subjects[rows])


def read_faces(folder: Path, photo: PhotoFaces) -> list[tuple[Face, Alignment]]:
    """The faces of one photo and how each was aligned, in the order of replacing."""
    if photo.count == 0:
        return []
    names = ("alignments", "boxes", "points", "meshes", "presences")
    columns = [np.array(_load(folder, name)[photo.rows]) for name in names]
    faces = []
    for matrix, box, points, mesh, presence in zip(*columns, strict=True):
        cut = Alignment(matrix, CROP_SIZE)
        faces.append((_face(box, points, mesh, float(presence), cut), cut))
    return faces


def _load(folder: Path, name: str) -> Any:
    return mapped(folder / f"{name}.npy")


def _copied(crops: Any, rows: NDArray[np.int64], path: Path) -> Any:
    with RowsFile(path, np.uint8, (len(rows), *crops.shape[1:])) as part:
        for start in range(0, len(rows), BLOCK):
            part.add(crops[rows[start : start + BLOCK]])
    return mapped(path)


def missing_photos(folder: Path, numbers: Iterable[int]) -> list[int]:
    """The photos that were not surveyed yet."""
    return [number for number in numbers if not _file(folder, number).exists()]


def assemble(folder: Path, numbers: list[int], failed: dict[int, str]) -> Surveyed:
    """Join the files of these photos, a photo at a time, and delete them; note those that could not be read."""
    counts = {number: _count(_file(folder, number)) for number in numbers}
    total, first = sum(counts.values()), 0
    joined: dict[str, RowsFile] = {}
    about: dict[int, dict[str, object]] = {}
    with ExitStack() as files:
        for number in numbers:
            with opened(_file(folder, number)) as found:
                about[number] = {"first": first, "count": counts[number], **json.loads(str(found["about"]))}
                for name in ARRAYS if counts[number] else ():
                    rows = found[name]
                    if name not in joined and rows.size:
                        file = RowsFile(folder / f"{name}.npy", rows.dtype, (total, *rows.shape[1:]))
                        joined[name] = files.enter_context(file)
                    if rows.size:
                        joined[name].add(rows)
            first += counts[number]
    write_bytes(json.dumps({"photos": about, "failed": failed}).encode(), folder / DONE, overwrite=True)
    for number in numbers:
        _file(folder, number).unlink()
    return Surveyed(folder)


def _count(path: Path) -> int:
    with opened(path) as found:
        return len(found["boxes"])
