"""Run: carry out a plan photo by photo. A photo is written whole and checked, or not at all."""

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from faceveil.errors import PhotoError, ProtectionError
from faceveil.faces.detect import prepare
from faceveil.photos import write_bytes
from faceveil.pipeline.engines import Engine, serial
from faceveil.pipeline.engines import engine as engine_named
from faceveil.pipeline.journal import Journal, Outcome, Status
from faceveil.pipeline.manifest import Summary, manifest
from faceveil.pipeline.plan import Job, Plan, make_plan
from faceveil.pipeline.protect import protect_photo
from faceveil.pipeline.settings import SECOND, Settings, rng_for
from faceveil.pipeline.work import Clock, encoded, put, quarantined, read_source, without_path


def run(
    plan: Plan,
    settings: Settings,
    *,
    engine: Engine = serial,
    resume: bool = False,
    overwrite: bool = False,
    progress: Callable[[str], None] = lambda stage: None,
) -> Summary:
    """Carry out the plan. Every photo is written whole or not at all; OutputError ends the run, `resume` goes on.

    `progress` is called with the name of the stage whenever a photo is done.
    """
    how = _run_of_a_set(settings) if settings.knows_the_set else _run_each
    return how(plan, settings, engine=engine, resume=resume, overwrite=overwrite, progress=progress)


def _run_of_a_set(settings: Settings) -> Callable[..., Summary]:
    """Imported when wanted: what works photo by photo starts without it."""
    from faceveil.pipeline.company import in_company
    from faceveil.pipeline.set_run import run_set

    return partial(run_set, stages=in_company) if settings.needs_company else run_set


def _run_each(
    plan: Plan,
    settings: Settings,
    *,
    engine: Engine,
    resume: bool,
    overwrite: bool,
    progress: Callable[[str], None],
) -> Summary:
    """Photo by photo, for methods that protect face by face."""
    start = time.perf_counter()
    with Journal.open(plan, settings, resume=resume, overwrite=overwrite) as journal:
        outcomes = dict(journal.done)
        jobs = [job for job in plan.jobs if job.name not in outcomes]
        for outcome in engine(partial(_protect_file, settings=settings, staging=plan.state), jobs):
            journal.add(outcome)
            outcomes[outcome.name] = outcome
            progress("protecting")
        ordered = [outcomes[job.name] for job in plan.jobs]
        summary = Summary(ordered, settings, plan, time.perf_counter() - start)
        write_bytes(manifest(summary), plan.manifest, overwrite=True, staging=plan.state)
        journal.remove()
    return summary


def _protect_file(job: Job, settings: Settings, staging: Path) -> Outcome:
    """Read, protect, encode, check, write. What is wrong with the photo quarantines it; what is wrong with the
    output folder or the weights ends the run."""
    clock = Clock()
    try:
        photo, source = read_source(job, settings)
        prepare(
            photo.pixels, settings.detector, SECOND[settings.detector], mesh=settings.face_method.needs_mesh
        )
        clock.lap("read")
        result = protect_photo(photo, settings, rng_for(settings.seed, job.name))
        clock.lap("protect")
        data = encoded(result.photo, job, settings)
    except (PhotoError, ProtectionError) as error:
        return quarantined(job, without_path(str(error), job.source), clock.laps)
    except MemoryError:
        return quarantined(job, "not enough memory for this photo.", clock.laps)
    sha256 = put(data, job, staging)
    clock.lap("write")
    status: Status = "protected" if result.faces else "no-face"
    return Outcome(
        job.name, status, result.faces, result.found_late, notes=photo.notes, seconds=clock.laps, sha256=sha256,
        source=source,
    )  # fmt: skip


def anonymize(
    inputs: Sequence[Path | str] | Path | str,
    output: Path | str,
    *,
    settings: Settings | None = None,
    engine: Engine | str = "threads",
    resume: bool = False,
    overwrite: bool = False,
    progress: Callable[[str], None] = lambda stage: None,
) -> Summary:
    """Protect files and folders: the command `faceveil anonymize` as a function. Options are those of `run`.

    `engine` may be a name, as on the command line. "processes" needs a script that can be imported.
    """
    paths = [inputs] if isinstance(inputs, str | Path) else list(inputs)
    plan = make_plan([Path(path) for path in paths], Path(output))
    chosen = engine_named(engine) if isinstance(engine, str) else engine
    return run(
        plan, settings or Settings(), engine=chosen, resume=resume, overwrite=overwrite, progress=progress
    )
