"""Journal: which photos of a run are done, so that a run that was cut off can go on."""

import hashlib
import json
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

from faceveil.errors import OutputError, UsageError
from faceveil.photos import write_bytes
from faceveil.pipeline.plan import CROPS, Plan
from faceveil.pipeline.private import noted_folder
from faceveil.pipeline.settings import Settings

Status = Literal["protected", "no-face", "quarantined"]


@dataclass(frozen=True)
class Outcome:
    """What became of one photo. A quarantined one was not written, and `reason` says why."""

    name: str
    status: Status
    faces: int = 0
    found_late: int = 0
    reason: str = ""
    notes: tuple[str, ...] = ()
    seconds: dict[str, float] = field(default_factory=dict)
    withheld: int = 0  # faces that a release of crops leaves out
    covered: int = 0  # faces that no group took and that are black now
    sha256: str = ""  # of the file that was written


class Journal:
    """Which photos are done, kept in the output folder while the run is under way and removed at its end."""

    def __init__(self, plan: Plan, done: dict[str, Outcome]) -> None:
        self.plan, self.done = plan, done
        self._file = (plan.state / "done.jsonl").open("a", encoding="utf-8")

    @classmethod
    def open(cls, plan: Plan, settings: Settings, *, resume: bool, overwrite: bool) -> "Journal":
        """Begin a run, or go on with one that was cut off."""
        settings_file = plan.state / "settings.json"
        under_way = settings_file.exists()
        if resume and not under_way and plan.manifest.exists():
            raise OutputError(f"{plan.manifest} says that this run is complete; there is nothing to resume.")
        if under_way and not resume:
            raise OutputError(
                f"a run into {plan.output} was cut off. Go on with --resume, "
                f"or delete {_traces(plan)} and start anew."
            )
        if under_way:
            _refuse_other_settings(plan, settings_file, settings)
            return cls(plan, _still_done(plan))
        if not overwrite:
            _refuse_existing(plan, settings)
        make_folder(plan.state)
        write_bytes(json.dumps({"fingerprint": _fingerprint(plan, settings)}).encode(), settings_file)
        return cls(plan, {})

    def forget(self) -> None:
        """Nothing counts as done any more: what it was made from is gone."""
        self.done.clear()
        self._file.truncate(0)

    def add(self, outcome: Outcome) -> None:
        """Note a photo as done, after it was written."""
        self._file.write(json.dumps(asdict(outcome)) + "\n")
        self._file.flush()

    def __enter__(self) -> "Journal":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def remove(self) -> None:
        """The run is complete: leave no trace of it but the manifest."""
        self._file.close()
        shutil.rmtree(self.plan.state)


def _still_done(plan: Plan) -> dict[str, Outcome]:
    """Photos that were written and are still there. Quarantined ones are tried again: the reason may be gone."""
    written = {job.name for job in plan.jobs if job.target.exists()}
    outcomes = _read_outcomes(plan.state / "done.jsonl")
    return {o.name: o for o in outcomes if o.name in written and o.status != "quarantined"}


def _read_outcomes(path: Path) -> Iterator[Outcome]:
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        try:
            values = json.loads(line)
        except json.JSONDecodeError:  # the line that was being written when the run was killed
            continue
        yield Outcome(**{**values, "notes": tuple(values["notes"])})


def _fingerprint(plan: Plan, settings: Settings) -> str:
    """A set is one whole: its run goes on only with the same photos."""
    if not settings.knows_the_set:
        return settings.fingerprint
    names = json.dumps([settings.fingerprint, [job.name for job in plan.jobs]])
    return hashlib.sha256(names.encode()).hexdigest()


def _refuse_other_settings(plan: Plan, path: Path, settings: Settings) -> None:
    try:
        before = json.loads(path.read_text(encoding="utf-8"))["fingerprint"]
    except (OSError, ValueError, KeyError) as error:
        raise OutputError(f"{path} is damaged. Delete its folder and start anew with --overwrite.") from error
    if before != _fingerprint(plan, settings):
        photos = ", other photos" if settings.knows_the_set else ""
        raise UsageError(
            f"the run to resume had another method, other parameters{photos} or another version of faceveil. "
            f"Use the same ones, or delete {_traces(plan)} and start anew with --overwrite."
        )


def _traces(plan: Plan) -> str:
    """Where a run that was cut off left something."""
    private = noted_folder(plan.state)
    return f"{plan.state} and {private}" if private else str(plan.state)


def _refuse_existing(plan: Plan, settings: Settings) -> None:
    if settings.release == "crops":
        targets = sorted(plan.output.glob(CROPS))
    else:
        targets = [job.target for job in plan.jobs]
    there = [path for path in (*targets, plan.manifest) if path.exists()]
    if there:
        more = f" and {len(there) - 1} more" if len(there) > 1 else ""
        raise OutputError(f"{there[0]}{more} exist already. Choose an empty folder, or give --overwrite.")


def make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"{folder} cannot be made ({error.strerror}). Choose another output folder."
        ) from error
