"""Run: carry out a plan photo by photo. A photo is written whole and checked, or not at all."""

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from faceveil.errors import PhotoError, ProtectionError
from faceveil.photos import encode_photo, format_for, read_photo, scan_leaks, write_bytes
from faceveil.pipeline.engines import Engine, serial
from faceveil.pipeline.journal import Journal, Outcome, Status, make_folder
from faceveil.pipeline.manifest import Summary, manifest
from faceveil.pipeline.plan import Job, Plan, make_plan
from faceveil.pipeline.protect import protect_photo
from faceveil.pipeline.settings import Settings, rng_for


def run(
    plan: Plan,
    settings: Settings,
    *,
    engine: Engine = serial,
    resume: bool = False,
    overwrite: bool = False,
    progress: Callable[[Outcome], None] | None = None,
) -> Summary:
    """Carry out the plan. Every photo is written whole or not at all; OutputError ends the run, `resume` goes on."""
    start = time.perf_counter()
    with Journal.open(plan, settings, resume=resume, overwrite=overwrite) as journal:
        outcomes = dict(journal.done)
        jobs = [job for job in plan.jobs if job.name not in outcomes]
        for outcome in engine(partial(_protect_file, settings=settings, staging=plan.state), jobs):
            journal.add(outcome)
            outcomes[outcome.name] = outcome
            if progress:
                progress(outcome)
        ordered = [outcomes[job.name] for job in plan.jobs]
        summary = Summary(ordered, settings, plan, time.perf_counter() - start)
        write_bytes(manifest(summary), plan.manifest, overwrite=True, staging=plan.state)
        journal.remove()
    return summary


def _protect_file(job: Job, settings: Settings, staging: Path) -> Outcome:
    """Read, protect, encode, check, write. What is wrong with the photo quarantines it; what is wrong with the
    output folder or the weights ends the run."""
    clock = _Clock()
    try:
        photo = read_photo(job.source, max_pixels=settings.max_pixels, keep=settings.keep)
        clock.lap("read")
        result = protect_photo(photo, settings, rng_for(settings.seed, job.name))
        clock.lap("protect")
        data = encode_photo(result.photo, format_for(job.target, photo))
        _refuse_leaks(data, settings)
    except (PhotoError, ProtectionError) as error:
        return Outcome(job.name, "quarantined", reason=_without_path(str(error), job), seconds=clock.laps)
    except MemoryError:
        return Outcome(
            job.name, "quarantined", reason="not enough memory for this photo.", seconds=clock.laps
        )
    make_folder(job.target.parent)
    write_bytes(data, job.target, overwrite=True, staging=staging)
    clock.lap("write")
    status: Status = "protected" if result.faces else "no-face"
    return Outcome(job.name, status, result.faces, result.found_late, notes=photo.notes, seconds=clock.laps)


def _refuse_leaks(data: bytes, settings: Settings) -> None:
    """What is about to be written carries pixels and the allowed metadata, checked by code that did not write it."""
    if not settings.keep and (leaks := scan_leaks(data)):
        raise ProtectionError(f"the file would still carry {leaks[0].name} ({leaks[0].kind}).")


class _Clock:
    """Seconds spent in each stage."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, stage: str) -> None:
        now = time.perf_counter()
        self.laps[stage] = now - self._last
        self._last = now


def _without_path(message: str, job: Job) -> str:
    """The reason alone: the file is named beside it."""
    return message.removeprefix(str(job.source)).lstrip(": ")


def anonymize(
    inputs: Sequence[Path | str] | Path | str,
    output: Path | str,
    *,
    settings: Settings | None = None,
    **options: object,
) -> Summary:
    """Protect files and folders: the command `faceveil anonymize` as a function. Options are those of `run`."""
    paths = [inputs] if isinstance(inputs, str | Path) else list(inputs)
    plan = make_plan([Path(path) for path in paths], Path(output))
    return run(plan, settings or Settings(), **options)  # type: ignore[arg-type]
