"""Run a method that needs all faces at once: survey, decide, apply, and withdraw what would break the claim.

Each stage can be cut off and gone on with. Until run.json is written the output is not complete, and the
originals' faces lie in the private folder, which is removed at the end.
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial

import numpy as np

from faceveil.errors import GroupingError, UsageError
from faceveil.faces import Alignment
from faceveil.faces.face_set import CROP_SIZE
from faceveil.photos import write_bytes
from faceveil.pipeline.apply import (
    Replacement,
    crops_of,
    outcomes_of_crops,
    quarantined,
    reasons_of,
    replace_in_photo,
    write_crops,
)
from faceveil.pipeline.decide import (
    Decision,
    decide,
    decided,
    people_in_groups,
    takes_photos_away,
    withdrawn,
)
from faceveil.pipeline.engines import Engine
from faceveil.pipeline.journal import Journal, Outcome
from faceveil.pipeline.look import with_gallery
from faceveil.pipeline.manifest import SetResult, Summary, manifest
from faceveil.pipeline.plan import Plan
from faceveil.pipeline.private import PrivateFolder
from faceveil.pipeline.settings import Settings, rng_for
from faceveil.pipeline.survey import Surveyed, assemble, missing_photos, survey_photo
from faceveil.pipeline.work import Clock
from faceveil.privacy.record import COVERED, GroupSize, ReleaseRecord, ReplacedFace, name_key

Progress = Callable[[str], None]  # called with the stage whenever a photo is done
Stages = Callable[
    [Plan, Settings, Journal, PrivateFolder, Engine, Progress], tuple[list[Outcome], SetResult | None]
]
FELL_BELOW = "a group in it has too few people left, because other photos are quarantined."


def run_set(
    plan: Plan,
    settings: Settings,
    *,
    engine: Engine,
    resume: bool,
    overwrite: bool,
    progress: Progress,
    stages: Stages | None = None,
) -> Summary:
    """Carry out the plan for a whole set; `stages` say how, by default for a method that takes all faces at once."""
    start = time.perf_counter()
    if settings.release == "crops" and plan.folder != plan.output:
        raise UsageError(f"--release crops writes a folder of faces; {plan.output} names one photo.")
    with Journal.open(plan, settings, resume=resume, overwrite=overwrite) as journal:
        private = PrivateFolder.open(plan.state)
        if private.new:
            journal.forget()
        try:
            outcomes, result = (stages or _stages)(plan, settings, journal, private, engine, progress)
            summary = Summary(outcomes, settings, plan, time.perf_counter() - start, result)
            write_bytes(manifest(summary), plan.manifest, overwrite=True, staging=plan.state)
        except (GroupingError, UsageError):  # the same photos and settings will never do
            private.remove()
            journal.remove()
            raise
        except BaseException as error:
            error.add_note(private.farewell)
            raise
        private.remove()
        journal.remove()
    return summary


def _stages(
    plan: Plan,
    settings: Settings,
    journal: Journal,
    private: PrivateFolder,
    engine: Engine,
    progress: Progress,
) -> tuple[list[Outcome], SetResult]:
    clock = Clock()
    surveyed, decision = _decide(plan, settings, private, engine, progress, clock)
    done = {
        number: Outcome(plan.jobs[number].name, "quarantined", reason=reason)
        for number, reason in surveyed.failed.items()
    }
    if settings.release == "crops":
        crops = crops_of(decision, rng_for(settings.seed, "\0crops"))
        for _ in write_crops(crops, plan.output, private.path, plan.state):
            progress("writing")
        done |= outcomes_of_crops(decision, surveyed, plan.jobs)
        released = set(surveyed.photos)
    else:
        done |= _replace_all(plan, settings, surveyed, decision, journal, engine, progress)
        _withdraw(plan, settings, surveyed, decision, done)
        released = {number for number, outcome in done.items() if outcome.status != "quarantined"}
    clock.lap("releasing")
    record = _record(plan, settings, surveyed, decision, released)
    people = len(np.unique(decision.subjects)) if len(surveyed) else 0
    result = SetResult(record, people, decision.figures, decision.notes, clock.laps)
    return [done[number] for number in range(len(plan.jobs))], result


def _decide(
    plan: Plan,
    settings: Settings,
    private: PrivateFolder,
    engine: Engine,
    progress: Progress,
    clock: Clock,
) -> tuple[Surveyed, Decision]:
    """Look at the photos and decide, or read what was decided before."""
    before = decided(private.path)
    if before is not None:
        return Surveyed(private.path), before
    # The gallery first, so that one with too few people is refused at once.
    with with_gallery(settings, private.path, engine=engine) as (method, said):
        surveyed = survey(plan, settings, private, engine, progress)
        clock.lap("looking")
        progress("grouping")
        decision = decide(surveyed, [job.name for job in plan.jobs], settings, method)
    clock.lap("grouping")
    return surveyed, replace(decision, notes=(*said, *decision.notes))


def survey(
    plan: Plan, settings: Settings, private: PrivateFolder, engine: Engine, progress: Progress
) -> Surveyed:
    """The faces of all photos, from this start or an earlier one."""
    folder = private.path
    if Surveyed.exists(folder):
        return Surveyed(folder)
    numbers = range(len(plan.jobs))
    items = [(number, plan.jobs[number]) for number in missing_photos(folder, numbers)]
    failed = {}
    for number, reason in engine(partial(survey_photo, settings=settings, folder=folder), items):
        progress("looking")
        if reason is not None:
            failed[number] = reason
    return assemble(folder, [number for number in numbers if number not in failed], failed)


def _replace_all(
    plan: Plan,
    settings: Settings,
    surveyed: Surveyed,
    decision: Decision,
    journal: Journal,
    engine: Engine,
    progress: Progress,
) -> dict[int, Outcome]:
    without = _without_group(surveyed, decision) if takes_photos_away(settings) else set()
    lost = withdrawn(decision.groups, decision.subjects, surveyed.photo_of, without, _k(settings))
    number_of = {plan.jobs[number].name: number for number in surveyed.photos}
    done = {number_of[name]: outcome for name, outcome in journal.done.items() if name in number_of}
    done |= {number: quarantined(plan.jobs[number], _reason(surveyed, decision, number)) for number in lost}
    items = [
        Replacement(
            plan.jobs[number],
            about,
            tuple(decision.pictures[about.rows].tolist()),
            tuple(reasons_of(decision, about)),
        )
        for number, about in surveyed.photos.items()
        if number not in done
    ]
    work = partial(replace_in_photo, settings=settings, folder=surveyed.folder, staging=plan.state)
    for outcome in engine(work, items):
        journal.add(outcome)
        done[number_of[outcome.name]] = outcome
        progress("replacing")
    return done


def _withdraw(
    plan: Plan, settings: Settings, surveyed: Surveyed, decision: Decision, done: dict[int, Outcome]
) -> None:
    """A photo that failed while it was written takes its people from their groups: look again who has k."""
    failed = [number for number in surveyed.photos if done[number].status == "quarantined"]
    everyone = surveyed.photo_of
    for number in withdrawn(decision.groups, decision.subjects, everyone, failed, _k(settings)) - set(failed):
        done[number] = quarantined(plan.jobs[number], FELL_BELOW)


def _record(
    plan: Plan, settings: Settings, surveyed: Surveyed, decision: Decision, released: Iterable[int]
) -> ReleaseRecord:
    """What anyone needs to check the claim."""
    there = (decision.groups >= 0) & np.isin(surveyed.photo_of, list(released))
    groups, subjects = decision.groups[there], decision.subjects[there]
    faces = dict(zip(*(part.tolist() for part in np.unique(groups, return_counts=True)), strict=True))
    sizes = {
        group: GroupSize(faces[group], people) for group, people in people_in_groups(groups, subjects).items()
    }
    k = settings.method.guarantee.k
    if settings.release == "crops":
        return ReleaseRecord("crops", k, sizes)
    alignments = np.array(surveyed.array("alignments")) if len(surveyed) else np.zeros((0, 2, 3))
    photos = {
        name_key(plan.jobs[number].name): tuple(
            ReplacedFace(max(int(decision.groups[row]), COVERED), Alignment(alignments[row], CROP_SIZE))
            for row in range(about.first, about.first + about.count)
        )
        for number, about in surveyed.photos.items()
        if number in released
    }
    return ReleaseRecord("photos", k, sizes, photos)


def _without_group(surveyed: Surveyed, decision: Decision) -> set[int]:
    return set(surveyed.photo_of[decision.groups < 0].tolist())


def _reason(surveyed: Surveyed, decision: Decision, number: int) -> str:
    said = reasons_of(decision, surveyed.photos[number])
    return said[0] if said else FELL_BELOW


def _k(settings: Settings) -> int:
    return settings.method.guarantee.k or 1
