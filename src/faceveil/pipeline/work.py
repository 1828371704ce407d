"""What the work on one photo has in common, whatever is done to it: time it, write it, name what is wrong."""

import hashlib
import time
from collections.abc import Collection
from pathlib import Path

from faceveil.errors import ProtectionError
from faceveil.photos import Photo, decode_photo, encode_photo, format_for, scan_leaks, write_bytes
from faceveil.photos.read import read_bytes
from faceveil.pipeline.journal import Outcome, make_folder, remove_file
from faceveil.pipeline.plan import Job
from faceveil.pipeline.settings import Settings


class Clock:
    """Seconds spent in each stage."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, stage: str) -> None:
        """The time since the last lap belongs to this stage."""
        now = time.perf_counter()
        self.laps[stage] = now - self._last
        self._last = now


def read_source(job: Job, settings: Settings) -> tuple[Photo, str]:
    """The photo, and the SHA-256 of the bytes that it was read from."""
    data = read_bytes(job.source, max_pixels=settings.max_pixels)
    photo = decode_photo(
        data, path=job.source, max_pixels=settings.max_pixels, keep_metadata=settings.keep_metadata
    )
    return photo, hashlib.sha256(data).hexdigest()


def encoded(photo: Photo, job: Job, settings: Settings) -> bytes:
    """The bytes of the result, in the format of its name."""
    return checked_bytes(photo, format_for(job.target, photo), settings.keep_metadata)


def checked_bytes(photo: Photo, format: str, keep_metadata: Collection[str]) -> bytes:
    """The photo's bytes, checked by code that did not write them: pixels, allowed metadata, nothing else."""
    data = encode_photo(photo, format)
    if leaks := scan_leaks(data, allow=keep_metadata):
        raise ProtectionError(f"the file would still carry {leaks[0].name} ({leaks[0].kind}).")
    return data


def put(data: bytes, job: Job, staging: Path) -> str:
    """Write the file whole, with the folders it needs; the hash that run.json names."""
    make_folder(job.target.parent)
    write_bytes(data, job.target, overwrite=True, staging=staging)
    return hashlib.sha256(data).hexdigest()


def is_as_written(job: Job, outcome: Outcome) -> bool:
    """Whether the file there is the one that the outcome tells of: not of an earlier round, nor anybody else's."""
    try:
        return hashlib.sha256(job.target.read_bytes()).hexdigest() == outcome.sha256
    except OSError:
        return False


def quarantined(job: Job, reason: str, seconds: dict[str, float] | None = None) -> Outcome:
    """The photo is not released; what an earlier run left under its name goes too."""
    remove_file(job.target)
    return Outcome(job.name, "quarantined", reason=reason, seconds=seconds or {})


def without_path(message: str, path: Path) -> str:
    """The reason alone: the file is named beside it."""
    return message.removeprefix(str(path)).lstrip(": ")
