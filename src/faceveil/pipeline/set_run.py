"""Run a method that needs all faces at once: survey, decide, apply, group again, and withdraw what breaks the claim.

Each stage can be cut off and gone on with. Until run.json is written the output is not complete, and the
originals' faces lie in the private folder, which is removed at the end.
"""

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from faceveil.errors import GroupingError, ProtectionError, UsageError
from faceveil.photos import write_bytes
from faceveil.pipeline.apply import (
    Replacement,
    crops_of,
    outcomes_of_crops,
    reasons_of,
    remove_crops,
    replace_in_photo,
    write_crops,
)
from faceveil.pipeline.decide import (
    Decision,
    decide,
    decided,
    keep,
)
from faceveil.pipeline.engines import Engine
from faceveil.pipeline.journal import Journal, Outcome, remove_file
from faceveil.pipeline.look import with_gallery
from faceveil.pipeline.manifest import SetResult, Summary, manifest
from faceveil.pipeline.plan import Plan
from faceveil.pipeline.private import PrivateFolder
from faceveil.pipeline.regroup import Regrouped, fallen_photos, groupless_photos, regroup
from faceveil.pipeline.settings import Settings, rng_for
from faceveil.pipeline.settle import faces_by_photo, record_of, settled
from faceveil.pipeline.survey import Surveyed, assemble, missing_photos, survey_photo
from faceveil.pipeline.watched import AT_RISK, watch_of
from faceveil.pipeline.work import Clock, is_as_written, quarantined
from faceveil.privacy.claim import judge_crops
from faceveil.privacy.examine import Terms
from faceveil.privacy.verify import strangers

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
        private = PrivateFolder.open(journal.memory)
        if private.new:
            journal.forget()
        try:
            outcomes, result = (stages or _stages)(plan, settings, journal, private, engine, progress)
            summary = Summary(outcomes, settings, plan, time.perf_counter() - start, result)
            write_bytes(manifest(summary), plan.manifest, overwrite=True, staging=plan.state)
        except (GroupingError, UsageError):  # the same photos and settings will never do
            journal.remove()
            raise
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
    crops: dict[str, str] = {}
    if settings.release == "crops":
        crops = _release_crops(plan, settings, surveyed, decision, progress)
        done |= outcomes_of_crops(decision, surveyed, plan.jobs)
        released = set(surveyed.photos)
    else:
        decision, outcomes = _release_photos(plan, settings, surveyed, decision, journal, engine, progress)
        done |= outcomes
        released = {number for number, outcome in done.items() if outcome.status != "quarantined"}
    clock.lap("releasing")
    record = record_of(plan, settings, surveyed, decision, released)
    people = len(np.unique(decision.subjects)) if len(surveyed) else 0
    figures, notes = _grouped_again(decision, released)
    risk, said = _at_risk(settings, done.values())
    result = SetResult(
        record,
        people,
        decision.figures | figures | risk,
        (*decision.notes, *notes, *said, *_beside(plan, done, crops)),
        clock.laps,
        crops,
    )
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


def _release_crops(
    plan: Plan, settings: Settings, surveyed: Surveyed, decision: Decision, progress: Progress
) -> dict[str, str]:
    """Write the crops; the hash of each by its name. What `verify` would find in them leaves none of them there."""
    crops = crops_of(decision, rng_for(settings.seed, "\0crops"))
    terms, hashes = Terms.of(settings.describe()), dict[str, str]()
    try:
        for name, digest in write_crops(crops, plan.output, surveyed.folder, plan.state, terms):
            hashes[name] = digest
            progress("writing")
        record = record_of(plan, settings, surveyed, decision, surveyed.photos)
        if record.k is not None:
            for finding in judge_crops(record, str(settings.describe()["subjects"]), hashes).findings:
                raise ProtectionError(f"{finding.where}: {finding.reason} Nothing is released.")
    except ProtectionError:
        remove_crops(plan.output)
        raise
    return hashes


def _release_photos(
    plan: Plan,
    settings: Settings,
    surveyed: Surveyed,
    decision: Decision,
    journal: Journal,
    engine: Engine,
    progress: Progress,
) -> tuple[Decision, dict[int, Outcome]]:
    """Replace, see who lost a group to photos that failed, group those again and replace, until all have k people."""
    number_of = {plan.jobs[number].name: number for number in surveyed.photos}
    done = {
        number_of[name]: outcome
        for name, outcome in journal.done.items()
        if name in number_of and is_as_written(plan.jobs[number_of[name]], outcome)
    }
    while True:
        refused = _refused(settings, surveyed, decision)
        but = {*done, *refused, *fallen_photos(decision, surveyed.photo_of, refused, _k(settings))}
        for outcome in _replace(plan, settings, surveyed, decision, but, engine):
            journal.add(outcome)
            number = number_of[outcome.name]
            done[number] = outcome
            if outcome.status == "quarantined":
                refused[number] = outcome.reason
            progress("replacing again" if decision.round else "replacing")
        refused = settled(plan, settings, surveyed, decision, refused)
        again = _group_again(settings, surveyed, decision, refused, engine, progress)
        if again is None:
            break
        for number in again.photos:  # before the decision: what is there was made by the one that counts
            remove_file(plan.jobs[number].target)
            done.pop(number, None)
        keep(again.decision, again.crops, surveyed.folder, joins=settings.joins)
        decision = again.decision
    fallen = fallen_photos(decision, surveyed.photo_of, refused, _k(settings))
    without = refused | dict.fromkeys(fallen, FELL_BELOW)
    return decision, done | {number: quarantined(plan.jobs[number], why) for number, why in without.items()}


def _refused(settings: Settings, surveyed: Surveyed, decision: Decision) -> dict[int, str]:
    """The photos that the decision itself keeps back, with the reason."""
    groupless = groupless_photos(decision, surveyed.photo_of, settings)
    reasons = {number: reasons_of(decision, surveyed.photos[number])[0] for number in groupless}
    return reasons | decision.refused


def _replace(
    plan: Plan,
    settings: Settings,
    surveyed: Surveyed,
    decision: Decision,
    but: Collection[int],
    engine: Engine,
) -> Iterator[Outcome]:
    """Put the groups' faces into all photos but these."""
    recorded = faces_by_photo(surveyed, decision)
    watched = np.unique(decision.groups[decision.groups >= 0]) if watch_of(settings) else ()
    members = {int(group): tuple(np.flatnonzero(decision.groups == group).tolist()) for group in watched}
    items = [
        Replacement(
            number,
            plan.jobs[number],
            about,
            tuple(decision.pictures[about.rows].tolist()),
            recorded[number],
            tuple(members.get(group, ()) for group in decision.groups[about.rows].tolist()),
            tuple(reasons_of(decision, about)),
            decision.round,
        )
        for number, about in surveyed.photos.items()
        if number not in but
    ]
    work = partial(replace_in_photo, settings=settings, folder=surveyed.folder, staging=plan.state)
    return iter(engine(work, items))


def _group_again(
    settings: Settings,
    surveyed: Surveyed,
    decision: Decision,
    refused: dict[int, str],
    engine: Engine,
    progress: Progress,
) -> Regrouped | None:
    if not fallen_photos(decision, surveyed.photo_of, refused, _k(settings)):
        return None
    progress("grouping again")
    with with_gallery(settings, surveyed.folder, engine=engine) as (method, _):
        return regroup(surveyed, decision, refused, settings, method)


def _grouped_again(decision: Decision, released: Collection[int]) -> tuple[dict[str, float], tuple[str, ...]]:
    """What became of the photos that lost a group to others: in figures and in words."""
    if not decision.again:
        return {}, ()
    photos, saved = len(decision.again), len(set(decision.again) & set(released))
    note = (
        f"{photos} photos lost a group because others could not be released. Their people were grouped again, "
        f"and {saved} of these photos are released."
    )
    figures = {"rounds_again": decision.round, "photos_again": photos, "photos_again_released": saved}
    return {name: float(value) for name, value in figures.items()}, (note,)


def _at_risk(settings: Settings, outcomes: Iterable[Outcome]) -> tuple[dict[str, float], tuple[str, ...]]:
    """How many photos are withheld because a new face is recognised in them: in figures and in words."""
    if watch_of(settings) is None:
        return {}, ()
    count = sum(outcome.reason == AT_RISK for outcome in outcomes)
    note = f"{count} photos are withheld because a watching recogniser still takes a new face in them for a member."
    return {"photos_withheld_at_risk": float(count)}, (note,) if count else ()


def _beside(plan: Plan, done: Mapping[int, Outcome], crops: Collection[str]) -> tuple[str, ...]:
    """A word on files of others in the output folder, for which the claim says nothing."""
    photos = {outcome.name for outcome in done.values() if outcome.sha256}
    count = len(strangers(plan.output, photos | set(crops)))
    if not count:
        return ()
    return (
        f"{count} files in {plan.output} are not of this run: nothing is claimed of them; verify names them.",
    )


def _k(settings: Settings) -> int:
    return settings.method.guarantee.k or 1
