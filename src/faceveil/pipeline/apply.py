"""Apply, the third stage for a set: put each group's face into the photos, or write one crop per face."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from faceveil.errors import PhotoError, ProtectionError
from faceveil.faces import Alignment, Face
from faceveil.faces.looks import find_in_photo
from faceveil.faces.replace import cover_face, is_replaced, replace_face
from faceveil.models.npz import mapped
from faceveil.photos import Photo, encode_photo, read_photo, write_bytes
from faceveil.photos.transparency import shown
from faceveil.pipeline.decide import Decision, pictures_file
from faceveil.pipeline.journal import Outcome, Status, make_folder
from faceveil.pipeline.plan import CROPS, Job
from faceveil.pipeline.protect import describe_standing, with_changed
from faceveil.pipeline.settings import SECOND, Settings
from faceveil.pipeline.survey import HIDDEN, PhotoFaces, Surveyed, digest, hidden, read_faces
from faceveil.pipeline.work import Clock, encoded, put, quarantined, without_path

CROP_FOLDER, CROP_FILE = re.compile(r"group-[0-9]{4,}"), re.compile(r"[0-9]{4,}\.png")
NO_GROUP = "the method found no group for this face."


@dataclass(frozen=True)
class Replacement:
    """What is to be done to one photo: what was found in it, and the pictures of its faces (−1: cover it)."""

    job: Job
    about: PhotoFaces
    pictures: tuple[int, ...]
    reasons: tuple[str, ...] = ()  # why faces are covered
    round: int = 0  # of the decision, which names the file of the pictures


def replace_in_photo(item: Replacement, settings: Settings, folder: Path, staging: Path) -> Outcome:
    """Read, replace, look again, encode, check, write; what is wrong with the photo quarantines it."""
    job, about, clock = item.job, item.about, Clock()
    try:
        photo = read_photo(job.source, max_pixels=settings.max_pixels, keep=settings.keep)
        if digest(photo) != about.digest:
            raise ProtectionError("the photo changed while the run was under way.")
        clock.lap("read")
        faces = read_faces(folder, about)
        result = _replaced(photo, faces, item.pictures, pictures_file(folder, item.round))
        clock.lap("replace")
        places = [place for _, place in faces]
        _refuse_standing(result, places, settings)
        _refuse_hidden(places, item.pictures, photo.size_wh)
        clock.lap("check")
        data = encoded(result, job, settings)
    except (PhotoError, ProtectionError) as error:
        return quarantined(job, without_path(str(error), job.source))
    except MemoryError:
        return quarantined(job, "not enough memory for this photo.")
    sha256 = put(data, job, staging)
    clock.lap("write")
    status: Status = "protected" if about.count else "no-face"
    notes = (*about.notes, *(f"a face is covered in black: {reason}" for reason in item.reasons))
    return Outcome(
        job.name, status, about.count, about.found_late, notes=notes, seconds=clock.laps, covered=len(item.reasons),
        sha256=sha256,
    )  # fmt: skip


def reasons_of(decision: Decision, about: PhotoFaces) -> list[str]:
    """Why faces of this photo are in no group, one reason for each."""
    rows = range(about.first, about.first + about.count)
    return [decision.reasons.get(row, NO_GROUP) for row in rows if decision.groups[row] < 0]


def _replaced(
    photo: Photo, faces: list[tuple[Face, Alignment]], pictures: tuple[int, ...], file: Path
) -> Photo:
    if not faces:
        return photo
    crops = mapped(file)
    image, regions = shown(photo), []
    for (face, place), picture in zip(faces, pictures, strict=True):
        if picture < 0:
            image, where = cover_face(image, face, place)
        else:
            image, where = replace_face(image, face, np.array(crops[picture]), place)
        regions.append(where)
    return with_changed(photo, image, regions)


def _refuse_standing(photo: Photo, places: list[Alignment], settings: Settings) -> None:
    """Both detectors look at the result: each face they see must be where one was replaced or covered."""
    for detector in (settings.detector, SECOND[settings.detector]):
        for face in find_in_photo(photo, detector, thorough=settings.thorough):
            if not is_replaced(face, places):
                raise ProtectionError(describe_standing(face, photo.size_wh, detector))


def _refuse_hidden(places: list[Alignment], pictures: tuple[int, ...], size_wh: tuple[int, int]) -> None:
    """Nobody could check a replaced face of which next to nothing is to be seen."""
    if any(
        picture >= 0 and unseen for picture, unseen in zip(pictures, hidden(places, size_wh), strict=True)
    ):
        raise ProtectionError(HIDDEN)


@dataclass(frozen=True)
class Crop:
    """One released face: a file that says which group it is in and nothing about its photo."""

    name: str
    picture: int


def crops_of(decision: Decision, rng: np.random.Generator) -> list[Crop]:
    """One file per released face, group by group, numbered by chance within its group."""
    crops = []
    for group in np.unique(decision.groups[decision.groups >= 0]).tolist():
        pictures = rng.permutation(decision.pictures[decision.groups == group])
        crops += [
            Crop(f"group-{group:04d}/{number:04d}.png", int(picture))
            for number, picture in enumerate(pictures, 1)
        ]
    return crops


def write_crops(crops: list[Crop], output: Path, folder: Path, staging: Path) -> Iterator[Crop]:
    """Write them anew, whatever an earlier start wrote; yield each when it is there."""
    remove_crops(output)
    pictures = mapped(pictures_file(folder, 0))
    data, of = b"", -1
    for crop in crops:
        if crop.picture != of:
            data, of = encode_photo(Photo(np.array(pictures[crop.picture]))), crop.picture
        make_folder((output / crop.name).parent)
        write_bytes(data, output / crop.name, overwrite=True, staging=staging)
        yield crop


def released_crops(output: Path) -> list[Path]:
    """The crops that are in this folder already: what has the names that a run gives, and is no link."""
    return sorted(
        path
        for folder in output.glob(CROPS)
        if CROP_FOLDER.fullmatch(folder.name) and not folder.is_symlink()
        for path in folder.glob("*.png")
        if CROP_FILE.fullmatch(path.name)
    )


def remove_crops(output: Path) -> None:
    """Delete the crops of an earlier start or release."""
    for path in released_crops(output):
        path.unlink()
    for folder in output.glob(CROPS):
        if folder.is_symlink() and CROP_FOLDER.fullmatch(folder.name):
            folder.unlink()  # what it leads to stays, and nothing is written there
        elif folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()


def outcomes_of_crops(decision: Decision, surveyed: Surveyed, jobs: Sequence[Job]) -> dict[int, Outcome]:
    """What became of each surveyed photo: faces without a group are withheld, with the reason."""
    outcomes = {}
    for number, about in surveyed.photos.items():
        reasons = reasons_of(decision, about)
        notes = (*about.notes, *(f"a face is not released: {reason}" for reason in reasons))
        released = about.count - len(reasons)
        status: Status = "protected" if released else "quarantined" if reasons else "no-face"
        reason = reasons[0] if status == "quarantined" else ""
        outcomes[number] = Outcome(
            jobs[number].name,
            status,
            released,
            about.found_late,
            reason,
            notes,
            withheld=len(reasons),
        )
    return outcomes
