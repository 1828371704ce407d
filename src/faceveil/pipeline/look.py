"""Look at a set without releasing anything: the survey alone, for tuning and for the gallery of a k-same method."""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from faceveil.errors import UsageError
from faceveil.faces import FaceSet
from faceveil.methods import SetMethod
from faceveil.methods.method import WatchedMethod
from faceveil.photos import find_photos
from faceveil.pipeline.engines import Engine, serial
from faceveil.pipeline.plan import Job
from faceveil.pipeline.settings import SUBJECTS, Settings
from faceveil.pipeline.subjects import subjects_of
from faceveil.pipeline.survey import assemble, survey_photo


@contextmanager
def surveyed_set(
    inputs: Sequence[Path],
    settings: Settings,
    *,
    engine: Engine = serial,
    progress: Callable[[int], None] | None = None,
    within: Path | None = None,
) -> Iterator[tuple[FaceSet, dict[str, str]]]:
    """The faces of these photos, and what is wrong with those that cannot be read. Gone when the block ends.

    They are kept in a folder of their own among the system's temporary files, or `within` another one.
    """
    photos = find_photos(inputs).photos
    if not photos:
        raise UsageError(f"no photo in {', '.join(map(str, inputs))}.")
    jobs = [Job(photo.path, photo.relative.as_posix(), photo.path) for photo in photos]
    with tempfile.TemporaryDirectory(prefix="faceveil-", dir=within) as name:
        failed: dict[int, str] = {}
        for number, reason in engine(_Survey(settings, Path(name)), list(enumerate(jobs))):
            if progress:
                progress(len(jobs))
            if reason is not None:
                failed[number] = reason
        kept = [number for number in range(len(jobs)) if number not in failed]
        found = assemble(Path(name), kept, failed)
        if not len(found):
            raise UsageError(f"no face in {len(jobs)} photos.")
        names = [job.name for job in jobs]
        nothing = np.zeros((0, 0), np.float32)
        embeddings = found.array("embeddings") if settings.subjects == "auto" else nothing
        subjects = subjects_of(settings.subjects, found.photo_of, names, embeddings)
        faces = found.face_set(subjects, np.arange(len(found)))
        yield faces, {jobs[number].name: reason for number, reason in failed.items()}


@contextmanager
def with_gallery(
    settings: Settings, folder: Path, *, engine: Engine = serial
) -> Iterator[tuple[SetMethod, tuple[str, ...]]]:
    """The method for this release, with the faces of its gallery if it has one (kept within `folder`), and what to
    say of them."""
    method: Any = settings.method
    if settings.release == "photos" and isinstance(method, WatchedMethod):
        method = method.for_photos(settings.paste)
    gallery = getattr(method, "gallery", None)
    if not isinstance(gallery, Path):
        yield method, ()
        return
    # A table of subjects names the photos of the set and not those of the gallery.
    how = settings.subjects if settings.subjects in SUBJECTS else "auto"
    chosen = replace(settings, subjects=how)
    with surveyed_set([gallery], chosen, engine=engine, within=folder) as (faces, failed):
        unread = (f"{len(failed)} photos of the gallery could not be read.",) if failed else ()
        yield method.with_gallery(faces), unread


class _Survey:
    """survey_photo with its settings, in a form that travels to other processes."""

    def __init__(self, settings: Settings, folder: Path) -> None:
        self.settings, self.folder = settings, folder

    def __call__(self, item: tuple[int, Job]) -> tuple[int, str | None]:
        return survey_photo(item, self.settings, self.folder)
