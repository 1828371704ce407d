"""Journal: which photos of a run are done, so that a run that was cut off can go on.

It lies where only this user can write (pipeline/memory.py). A photo counts as done while its own bytes and those that
were written of it are what they were. The output holds a folder for unfinished files while the run is under way.
"""

import json
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import BinaryIO, Literal, get_args

from faceveil.errors import OutputError, UsageError
from faceveil.photos import write_bytes
from faceveil.photos.write import cannot_write
from faceveil.pipeline.memory import file_digest, memory_of
from faceveil.pipeline.plan import CROPS, Plan
from faceveil.pipeline.private import farewell, noted_folder
from faceveil.pipeline.settings import Settings

Status = Literal["protected", "no-face", "quarantined"]
BEGUN = "begun.json"
DONE = "done.jsonl"
GO_ON = "What is done stays done: go on with --resume."


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
    source: str = ""  # the SHA-256 of the photo it was made from; never published


EXAMPLE = Outcome("", "no-face")  # of the kind that each value should be


class Journal:
    """Which photos are done; `memory` is the folder that remembers it until the run is complete."""

    def __init__(self, plan: Plan, memory: Path, done: dict[str, Outcome]) -> None:
        self.plan, self.memory, self.done = plan, memory, done
        try:
            self._file = (memory / DONE).open("ab")
        except OSError as error:
            raise cannot_write(memory / DONE, error) from error
        if not _locked(self._file):
            self._file.close()
            raise OutputError(f"a run into {plan.output} is under way. Wait for its end.")
        self._append("")  # ends a line that was being written when the run was killed

    @classmethod
    def open(cls, plan: Plan, settings: Settings, *, resume: bool, overwrite: bool) -> "Journal":
        """Begin a run, or go on with one that was cut off."""
        memory = memory_of(plan.state)
        known, marked = (memory / BEGUN).exists(), plan.state.is_dir() or plan.state.is_symlink()
        if marked and (plan.state.is_symlink() or not known):
            raise OutputError(
                f"{plan.state} is of a run that is not known here: another user's or another machine's, or the "
                "folder was moved. Delete it and start anew with --overwrite."
            )
        if resume and not known and plan.manifest.exists():
            forget_run(memory)  # what a run leaves that was killed right at its end
            raise OutputError(f"{plan.manifest} says that this run is complete; there is nothing to resume.")
        if marked and not resume:
            raise OutputError(
                f"a run into {plan.output} was cut off. Go on with --resume, or delete {plan.state} and start anew "
                f"with --overwrite{_private_faces(memory)}."
            )
        photos = _digests(plan) if settings.knows_the_set else {}
        if known and resume:
            _refuse_other(plan, memory, settings, photos)
            make_folder(plan.state)
            return cls(plan, memory, _still_done(plan, memory, sources_are_known=bool(photos)))
        if not overwrite:
            _refuse_existing(plan, settings)
        forget_run(memory)  # its folder in the output is gone: nobody wants to go on
        make_folder(memory)
        begun = {"output": str(plan.output), "fingerprint": settings.fingerprint, "photos": photos}
        write_bytes(json.dumps(begun).encode(), memory / BEGUN)
        try:
            make_folder(plan.state)  # last: a folder that nobody remembers is refused
        except OutputError:
            forget_run(memory)
            raise
        return cls(plan, memory, {})

    def forget(self) -> None:
        """Nothing counts as done any more: what it was made from is gone."""
        self.done.clear()
        self._file.truncate(0)

    def add(self, outcome: Outcome) -> None:
        """Note a photo as done, after it was written."""
        self._append(json.dumps(asdict(outcome)))

    def _append(self, line: str) -> None:
        try:
            self._file.write(line.encode() + b"\n")
            self._file.flush()
        except OSError as error:
            raise cannot_write(self.memory / DONE, error) from error

    def __enter__(self) -> "Journal":
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        with suppress(OSError):  # a full disk was said already
            self._file.close()
        if error is not None and self.memory.exists():
            if private := noted_folder(self.memory):
                error.add_note(farewell(private))
            error.add_note(GO_ON)

    def remove(self) -> None:
        """The run is complete: leave no trace of it but the manifest, no faces either."""
        self._file.close()
        shutil.rmtree(self.plan.state, ignore_errors=True)
        forget_run(self.memory)


def _locked(file: BinaryIO) -> bool:
    """Whether no other run holds it: two runs into one folder would take each other's work for their own."""
    with suppress(ImportError, OSError):  # a system or a file system without locks
        import fcntl

        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def forget_run(memory: Path) -> None:
    """Delete what a run into this folder remembers, and the faces it kept."""
    (memory / BEGUN).unlink(missing_ok=True)  # first: nobody goes on with what is half deleted
    if private := noted_folder(memory):
        shutil.rmtree(private)
    if memory.exists():
        shutil.rmtree(memory)


def _still_done(plan: Plan, memory: Path, *, sources_are_known: bool) -> dict[str, Outcome]:
    """The photos whose output is there, as it was written, and made from what the photo is now; stale ones go.

    Quarantined photos are tried again: the reason may be gone.
    """
    jobs = {job.name: job for job in plan.jobs}
    done = {}
    for name, outcome in {outcome.name: outcome for outcome in _read_outcomes(memory / DONE)}.items():
        job, target = jobs.get(name), plan.folder / name
        if not outcome.sha256 or file_digest(target, follow=False) != outcome.sha256:
            continue  # never written, or not what was written: it is done again
        if job and (sources_are_known or file_digest(job.source) == outcome.source):
            done[name] = outcome
        else:
            remove_file(target)
    return done


def _read_outcomes(path: Path) -> Iterator[Outcome]:
    """The lines that are whole; the photos of others are done again."""
    for line in path.read_bytes().splitlines() if path.exists() else []:
        with suppress(ValueError, TypeError, KeyError):
            values = json.loads(line)
            outcome = Outcome(**{**values, "notes": tuple(values["notes"])})
            if _is_sound(outcome):
                yield outcome


def _is_sound(outcome: Outcome) -> bool:
    """Whether each value is of the kind that it should be."""
    same = all(
        isinstance(getattr(outcome, entry.name), type(getattr(EXAMPLE, entry.name)))
        for entry in fields(Outcome)
    )
    return same and outcome.status in get_args(Status)


def _digests(plan: Plan) -> dict[str, str]:
    """A set is one whole: its run goes on only with the same photos."""
    return {job.name: file_digest(job.source) for job in plan.jobs}


def _refuse_other(plan: Plan, memory: Path, settings: Settings, photos: dict[str, str]) -> None:
    try:
        begun = json.loads((memory / BEGUN).read_text(encoding="utf-8"))
        before, known = begun["fingerprint"], dict(begun["photos"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise OutputError(
            f"{memory / BEGUN} is damaged. Delete {plan.state} and start anew with --overwrite."
        ) from error
    anew = f"delete {plan.state} and start anew with --overwrite"
    if before != settings.fingerprint:
        raise UsageError(
            "the run to resume had another method, other parameters or another version of faceveil. "
            f"Use the same ones, or {anew}."
        )
    other = [name for name in {**known, **photos} if known.get(name) != photos.get(name)]
    if other:
        raise UsageError(
            f"the run to resume had other photos: {other[0]} was added, removed or changed. "
            f"A set is one whole: bring it back as it was, or {anew}."
        )


def _private_faces(memory: Path) -> str:
    private = noted_folder(memory)
    return f", which deletes the originals' faces that were kept in {private}" if private else ""


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


def remove_file(path: Path) -> None:
    """Delete an output that may not stay."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise OutputError(f"{path} cannot be removed ({error.strerror}). Remove it by hand.") from error
