"""Apply, the third stage for a set: put each group's face into the photos, or write one crop per face.

A photo is examined as it will be read, encoded and decoded again, by the code of `verify`, before it is written.
"""

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from faceveil.errors import PhotoError, ProtectionError
from faceveil.faces import Alignment, Face
from faceveil.faces.put_in import put_in
from faceveil.faces.replace import cover_face, replace_face
from faceveil.models.npz import mapped
from faceveil.photos import Photo, decode_photo, encode_photo, format_for, read_photo, write_bytes
from faceveil.photos.metadata import ALPHA
from faceveil.photos.transparency import shown
from faceveil.pipeline.decide import Decision, pictures_file
from faceveil.pipeline.journal import Outcome, Status, make_folder
from faceveil.pipeline.plan import CROPS, Job
from faceveil.pipeline.protect import with_changed
from faceveil.pipeline.settings import Settings
from faceveil.pipeline.settle import keep_cuts, reason_of
from faceveil.pipeline.survey import PhotoFaces, Surveyed, digest, read_faces
from faceveil.pipeline.watched import AT_RISK, is_at_risk
from faceveil.pipeline.work import Clock, put, quarantined, without_path
from faceveil.privacy.examine import Finding, Terms, carried, examine
from faceveil.privacy.record import ReplacedFace

CROP_FOLDER, CROP_FILE = re.compile(r"group-[0-9]{4,}"), re.compile(r"[0-9]{4,}\.png")
NO_GROUP = "the method found no group for this face."


@dataclass(frozen=True)
class Replacement:
    """What is to be done to one photo: what was found in it, the pictures of its faces (−1: cover it), and what
    run.json will say of them."""

    number: int
    job: Job
    about: PhotoFaces
    pictures: tuple[int, ...]
    record: tuple[ReplacedFace, ...]
    groups: tuple[tuple[int, ...], ...] = ()  # of each face the rows of all faces of its group
    reasons: tuple[str, ...] = ()  # why faces are covered
    round: int = 0  # of the decision, which names the file of the pictures


def replace_in_photo(item: Replacement, settings: Settings, folder: Path, staging: Path) -> Outcome:
    """Read, replace, encode, examine, write; what is wrong with the photo quarantines it."""
    job, about, clock = item.job, item.about, Clock()
    try:
        photo = read_photo(job.source, max_pixels=settings.max_pixels, keep_metadata=settings.keep_metadata)
        if digest(photo) != about.digest:
            raise ProtectionError("the photo changed while the run was under way.")
        clock.lap("read")
        faces = read_faces(folder, about)
        if settings.joins:
            result = _joined(photo, faces, item.record)
        else:
            result = _replaced(photo, faces, item.pictures, pictures_file(folder, item.round))
        clock.lap("replace")
        data = encode_photo(result, format_for(job.target, result))
        clock.lap("encode")
        written = decode_photo(data, max_pixels=settings.max_pixels, keep_metadata=(ALPHA,))
        terms = Terms.of(settings.describe())
        examined = examine(job.name, written, item.record, terms)
        _refuse([*carried(job.name, data, terms), *examined.findings])
        if is_at_risk(shown(written), item.record, item.groups, examined.seen, settings, folder):
            raise ProtectionError(AT_RISK)
        clock.lap("check")
    except (PhotoError, ProtectionError) as error:
        return quarantined(job, without_path(str(error), job.source))
    except MemoryError:
        return quarantined(job, "not enough memory for this photo.")
    keep_cuts(folder, item.number, examined.cuts)
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


def _joined(photo: Photo, faces: Sequence[tuple[Face, Alignment]], record: Sequence[ReplacedFace]) -> Photo:
    """First what is covered, for the faces beside it are drawn with it in view."""
    image, regions = shown(photo), []
    for (face, place), about in zip(faces, record, strict=True):
        if about.joined is None:
            image, where = cover_face(image, face, place)
            regions.append(where)
    image, drawn = put_in(image, [about.joined for about in record if about.joined])
    return with_changed(photo, image, [*regions, *drawn]) if faces else photo


def _refuse(findings: Sequence[Finding]) -> None:
    """What `verify` would find in the file stops it."""
    if findings:
        raise ProtectionError(reason_of(findings[0]))


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


def write_crops(
    crops: list[Crop], output: Path, folder: Path, staging: Path, terms: Terms
) -> Iterator[tuple[str, str]]:
    """Write them anew, whatever an earlier start wrote; yield the name and hash of each when it is there."""
    remove_crops(output)
    pictures = mapped(pictures_file(folder, 0))
    data, of = b"", -1
    for crop in crops:
        if crop.picture != of:
            data, of = encode_photo(Photo(np.array(pictures[crop.picture]))), crop.picture
            _refuse(carried(crop.name, data, terms))
        make_folder((output / crop.name).parent)
        write_bytes(data, output / crop.name, overwrite=True, staging=staging)
        yield crop.name, hashlib.sha256(data).hexdigest()


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
