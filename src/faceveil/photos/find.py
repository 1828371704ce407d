"""Photos in files and folders, in a stable order, and what was left out and why."""

import errno
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from faceveil.errors import UsageError
from faceveil.photos.files import open_regular
from faceveil.photos.formats import names_a_picture, sniff

NO_FILE = (errno.EINVAL, errno.ENOENT, errno.ELOOP, errno.ENXIO)  # a pipe or device, or a link to nowhere


@dataclass(frozen=True)
class FoundPhoto:
    """A file to read, and its name below the output folder."""

    path: Path
    relative: Path


@dataclass(frozen=True)
class SkippedFile:
    """A file or folder that is no photo, and why it was left out; `unseen` where it may be or hold one."""

    path: Path
    reason: str
    unseen: bool = False


@dataclass
class Found:
    """Everything below the arguments; a folder among the skipped stands for all it holds."""

    photos: list[FoundPhoto] = field(default_factory=list)
    skipped: list[SkippedFile] = field(default_factory=list)


def find_photos(paths: Iterable[Path | str]) -> Found:
    """The photos among `paths`; folders are searched recursively, in the order of their names.

    A file named as an argument is always taken, and so is every file in a folder whose suffix or first bytes
    say that it is a picture, also of a kind that faceveil cannot read: the reader refuses it by name.
    """
    found = Found()
    for path in map(Path, paths):
        if os.path.isdir(path):  # noqa: PTH112 (Path.is_dir fails where a folder above may not be searched)
            _search(path, path, found, set())
        elif os.path.lexists(path):
            found.photos.append(FoundPhoto(path, Path(path.name)))
        else:
            raise UsageError(f"{path} does not exist.")
    found.photos = _without_collisions(found.photos)
    return found


def _search(root: Path, folder: Path, found: Found, visited: set[tuple[int, int]]) -> None:
    try:
        status = folder.stat()
        entries = sorted(folder.iterdir(), key=lambda entry: entry.name)
    except OSError as error:
        found.skipped.append(SkippedFile(folder, _said("the folder cannot be opened", error), unseen=True))
        return
    if (status.st_dev, status.st_ino) in visited:
        found.skipped.append(SkippedFile(folder, "a link to a folder that was searched already"))
        return
    visited.add((status.st_dev, status.st_ino))
    for entry in entries:
        if entry.name.startswith("."):
            found.skipped.append(SkippedFile(entry, "hidden"))
        elif os.path.isdir(entry):  # noqa: PTH112
            _search(root, entry, found, visited)
        elif names_a_picture(entry):
            found.photos.append(FoundPhoto(entry, entry.relative_to(root)))
        else:
            _look_inside(root, entry, found)


def _look_inside(root: Path, entry: Path, found: Found) -> None:
    """Take a file whose first bytes are a picture's, whatever its name says."""
    try:
        with open_regular(entry) as file:
            picture = sniff(file.read(64)) is not None
    except OSError as error:
        unseen = error.errno not in NO_FILE
        found.skipped.append(SkippedFile(entry, _said("it cannot be opened", error), unseen))
        return
    if picture:
        found.photos.append(FoundPhoto(entry, entry.relative_to(root)))
    else:
        found.skipped.append(SkippedFile(entry, "not a picture"))


def _said(what: str, error: OSError) -> str:
    return f"{what} ({error.strerror or error})"


def _without_collisions(photos: list[FoundPhoto]) -> list[FoundPhoto]:
    """One photo for each output name: the same file twice is one, two files are an error."""
    by_name: dict[Path, FoundPhoto] = {}
    for photo in photos:
        first = by_name.setdefault(photo.relative, photo)
        if first is not photo and not _same_file(first.path, photo.path):
            raise UsageError(
                f"{first.path} and {photo.path} would both be written as {photo.relative}. "
                "Give their common parent folder, or run twice."
            )
    return list(by_name.values())


def _same_file(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False
