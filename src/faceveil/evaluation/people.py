"""Which anonymised photo belongs to which original, and whom each shows.

Photos are paired by their path below the two folders; the suffix may differ (a .png made from a .jpg). People
come from the folder each photo lies in, from a CSV file, from LFW's name pattern, or every photo is a person. They
are whom the main face of a photo shows; `who.py` tells whom the others show.
"""

import csv
import io
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

import numpy as np
from numpy.typing import NDArray

from faceveil.errors import UsageError
from faceveil.photos import find_photos, open_regular
from faceveil.photos.formats import names_a_picture, sniff
from faceveil.photos.names import shown

NUMBERED = re.compile(r"(.+)_\d+$")  # Name_0001


@dataclass(frozen=True)
class PhotoPair:
    """An original and what was made of it; `anonymised` is None where nothing was released."""

    name: str  # the original's path below its folder, as it can be printed
    original: Path
    anonymised: Path | None
    person: str


@dataclass(frozen=True)
class Pairs:
    """All pairs, in the order of their names, and what has no partner."""

    pairs: list[PhotoPair]
    unpaired: list[str]  # released photos without an original, by name
    subjects: str = "each"  # how people were told: folder, name, each, faces, auto, or the path of a CSV file
    released: dict[Path, str] = field(
        default_factory=dict
    )  # every released picture with its name, hidden ones too
    other_files: list[str] = field(default_factory=list)  # in the release, that are no pictures
    closed: list[str] = field(default_factory=list)  # files and folders of the release that cannot be opened

    @property
    def people(self) -> list[str]:
        return sorted({pair.person for pair in self.pairs})

    @property
    def person_index(self) -> NDArray[np.intp]:
        """Each pair's person as a number."""
        index = {person: number for number, person in enumerate(self.people)}
        return np.array([index[pair.person] for pair in self.pairs], np.intp)


def pair_photos(originals: Path, anonymised: Path, subjects: str = "auto") -> Pairs:
    """Pair two folders. `subjects`: folder, name, each, faces, the path of a CSV file, or auto."""
    for folder in (originals, anonymised):
        if not folder.is_dir():
            raise UsageError(f"{folder} is not a folder; give a folder of photos.")
    found, closed, others = _release(anonymised)
    released = _by_stem(found)
    sources = find_photos([originals]).photos
    if not sources:
        raise UsageError(f"{originals} holds no photos.")
    names = [shown(photo.relative.as_posix()) for photo in sources]
    subjects = _way(names) if subjects == "auto" else subjects
    person_of = _people(names, subjects)
    pairs = []
    for name, photo in zip(names, sources, strict=True):
        partner = released.pop(_stem(photo.relative.as_posix()), None)
        pairs.append(PhotoPair(name, photo.path, partner, person_of[name]))
    if not any(pair.anonymised for pair in pairs):
        raise UsageError(
            f"no photo of {anonymised} has the name of a photo of {originals}. "
            "Pairs are made by the path below the two folders; only the suffix may differ."
        )
    paired = {pair.anonymised for pair in pairs}
    strangers = sorted(shown(name) for path, name in found.items() if path not in paired)
    return Pairs(pairs, strangers, subjects, found, others, closed)


def _release(folder: Path) -> tuple[dict[Path, str], list[str], list[str]]:
    """Every picture below a folder with its name, also hidden ones; what cannot be opened; other files."""
    pictures: dict[Path, str] = {}
    closed, others, left = [], [], [folder]
    while left:
        found = find_photos([left.pop()])
        pictures |= {photo.path: photo.path.relative_to(folder).as_posix() for photo in found.photos}
        for path in (one.path for one in found.skipped):
            name = shown(path.relative_to(folder).as_posix())
            if not os.access(path, os.R_OK | os.X_OK if path.is_dir() else os.R_OK):
                closed.append(name)
            elif path.name.startswith(".") and (path.is_dir() or _is_picture(path)):
                left.append(path)
            elif not path.is_dir():
                others.append(name)
    return pictures, sorted(closed), sorted(others)


def _is_picture(path: Path) -> bool:
    try:
        with open_regular(path) as file:
            return names_a_picture(path) or sniff(file.read(64)) is not None
    except OSError:
        return False


def _by_stem(pictures: Mapping[Path, str]) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for path, name in pictures.items():
        stem = _stem(name)
        if stem in found:
            raise UsageError(f"{found[stem]} and {path} differ only in their suffix; keep one of them.")
        found[stem] = path
    return found


def _stem(name: str) -> str:
    return str(PurePosixPath(name).with_suffix(""))


def _way(names: list[str]) -> str:
    """How names tell people; auto where they do not, and faces have to be seen first."""
    nested = all("/" in name for name in names)
    numbered = all(NUMBERED.match(PurePosixPath(name).stem) for name in names)
    return "folder" if nested else "name" if numbered else "auto"


def _people(names: list[str], subjects: str) -> dict[str, str]:
    if subjects in ("each", "faces", "auto"):
        return {name: name for name in names}
    if subjects == "folder":
        return {name: PurePosixPath(name).parent.as_posix() for name in names}
    if subjects == "name":
        return {name: _person_in_name(name) for name in names}
    return _people_of_table(names, Path(subjects))


def _person_in_name(name: str) -> str:
    found = NUMBERED.match(PurePosixPath(name).stem)
    if not found:
        raise UsageError(
            f"{name} does not look like Name_0001; give the people with --subjects folder or a CSV."
        )
    return found[1]


def _people_of_table(names: list[str], path: Path) -> dict[str, str]:
    table = {row["photo"]: row["person"] for row in read_table(path, ("photo", "person"))}
    missing = [name for name in names if name not in table]
    if missing:
        raise UsageError(f"{path} names no person for {missing[0]} (and {len(missing) - 1} more).")
    return {name: table[name] for name in names}


def read_text(path: Path) -> str:
    """A file of text the user made; without a byte order mark."""
    try:
        with open_regular(path) as file:
            return file.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{path} is not in UTF-8 (byte {error.start}); save it with this encoding and try again."
        ) from error
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}.") from error


def read_table(path: Path, columns: tuple[str, ...]) -> list[dict[str, str]]:
    """The rows of a CSV file that has at least these columns."""
    if not path.is_file():
        raise UsageError(f"{path} is neither a file nor one of: auto, folder, name, each, faces.")
    reader = csv.DictReader(io.StringIO(read_text(path), newline=""))
    try:
        rows = list(reader)
    except csv.Error as error:
        raise UsageError(f"{path} is not a table in CSV: {error}.") from error
    lacking = [column for column in columns if column not in (reader.fieldnames or ())]
    if lacking:
        raise UsageError(f"{path} needs the columns {', '.join(columns)}; {', '.join(lacking)} is missing.")
    short = [row for row in rows if any(row[column] is None for column in columns)]
    if short:
        raise UsageError(f"{path} has a row without all of {', '.join(columns)}: {list(short[0].values())}.")
    return rows
