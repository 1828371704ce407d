"""Look at a set without releasing anything: the survey alone, for tuning."""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from faceveil.errors import UsageError
from faceveil.faces import FaceSet
from faceveil.photos import find_photos
from faceveil.pipeline.engines import Engine, serial
from faceveil.pipeline.plan import Job
from faceveil.pipeline.settings import Settings
from faceveil.pipeline.subjects import subjects_of
from faceveil.pipeline.survey import assemble, survey_photo


@contextmanager
def surveyed_set(
    inputs: Sequence[Path],
    settings: Settings,
    *,
    engine: Engine = serial,
    progress: Callable[[int], None] | None = None,
) -> Iterator[tuple[FaceSet, dict[str, str]]]:
    """The faces of these photos, and what is wrong with those that cannot be read. Gone when the block ends."""
    photos = find_photos(inputs).photos
    if not photos:
        raise UsageError(f"no photo in {', '.join(map(str, inputs))}.")
    jobs = [Job(photo.path, photo.relative.as_posix(), photo.path) for photo in photos]
    with tempfile.TemporaryDirectory(prefix="faceveil-") as name:
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


class _Survey:
    """survey_photo with its settings, in a form that travels to other processes."""

    def __init__(self, settings: Settings, folder: Path) -> None:
        self.settings, self.folder = settings, folder

    def __call__(self, item: tuple[int, Job]) -> tuple[int, str | None]:
        return survey_photo(item, self.settings, self.folder)
