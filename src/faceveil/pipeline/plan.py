"""Plan: which file becomes which, decided and checked before anything is written."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from faceveil.errors import OutputError, UsageError
from faceveil.photos import SkippedFile, find_photos
from faceveil.photos.formats import format_of_name

STATE = ".faceveil"  # folder inside the output folder while a run is under way
MANIFEST = "run.json"
CROPS = "group-*"  # folders of released crops


@dataclass(frozen=True)
class Job:
    """One photo: where it is, what it is called below the output folder, where it goes."""

    source: Path
    name: str
    target: Path


@dataclass(frozen=True)
class Plan:
    """All photos of a run, and the files that are no photos."""

    jobs: tuple[Job, ...]
    skipped: tuple[SkippedFile, ...]
    output: Path
    manifest: Path
    state: Path

    @property
    def unseen(self) -> tuple[SkippedFile, ...]:
        """What may be or hold photos and could not be opened."""
        return tuple(file for file in self.skipped if file.unseen)

    @property
    def folder(self) -> Path:
        """The folder that outputs are below."""
        return self.manifest.parent


def make_plan(inputs: Sequence[Path], output: Path) -> Plan:
    """The plan for these files and folders. One file and an output with a photo's suffix is file to file."""
    found = find_photos(inputs)
    one_file = len(inputs) == 1 and not inputs[0].is_dir()
    if one_file and format_of_name(output) and not output.is_dir():
        folder, manifest = output.parent, output.with_suffix(".run.json")
        jobs = [Job(photo.path, output.name, output) for photo in found.photos]
        state = folder / f"{STATE}-{output.name}"
    else:
        folder, manifest, state = output, output / MANIFEST, output / STATE
        jobs = [Job(p.path, p.relative.as_posix(), output / p.relative) for p in found.photos]
        _refuse_nesting(inputs, output)
    plan = Plan(tuple(jobs), tuple(found.skipped), output, manifest, state)
    _refuse_own_sources(plan)
    _refuse_own_names(plan)
    if not jobs:
        unseen = "".join(f" {file.path}: {file.reason}." for file in plan.unseen)
        raise UsageError(
            f"no photo in {', '.join(map(str, inputs))}. "
            f"faceveil reads JPEG, PNG, WebP, TIFF, BMP, HEIC and AVIF.{unseen}"
        )
    return plan


def _refuse_nesting(inputs: Sequence[Path], output: Path) -> None:
    out = output.resolve()
    if output.exists() and not output.is_dir():
        raise OutputError(f"{output} is a file. Give a folder for several photos.")
    for source in (path.resolve() for path in inputs):
        if source.is_dir() and out.is_relative_to(source):
            raise OutputError(f"{output} lies inside {source}, which is read. Choose a folder outside it.")
        if source.is_relative_to(out):
            raise OutputError(
                f"{source} lies inside {output}: originals would stand among the results. Choose another folder."
            )


def _refuse_own_sources(plan: Plan) -> None:
    sources = {os.path.realpath(job.source) for job in plan.jobs}
    for path in (*(job.target for job in plan.jobs), plan.manifest):
        if os.path.realpath(path) in sources:
            raise OutputError(f"{path} is an original and is not overwritten. Choose another output.")


def _refuse_own_names(plan: Plan) -> None:
    """A photo, or a folder of photos, cannot have the name of a file that the run itself writes beside them."""
    own = {plan.manifest.name.casefold(), plan.state.name.casefold()}
    for job in plan.jobs:
        first = PurePosixPath(job.name).parts[0]
        if first.casefold() in own:
            raise OutputError(f"{job.source} would take the place of the run's own {first}. Rename it.")
