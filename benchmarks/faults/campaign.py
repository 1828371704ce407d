"""Attempt faults one after the other, keep a log that a later start goes on with, and make tables of it."""

import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.faults import checks
from benchmarks.faults.cases import is_of_a_set
from benchmarks.faults.checks import DONE, Problems
from benchmarks.faults.fault import Fault
from benchmarks.faults.judge import Judge
from benchmarks.faults.kinds import KINDS
from benchmarks.faults.place import Place, place_of
from benchmarks.faults.process import Ended
from benchmarks.faults.reference import EARLIER, Reference, References, undisturbed


@dataclass(frozen=True)
class Tried:
    """One fault and what became of it: the run went on, was stopped, refused, or the fault could not be made."""

    number: int
    kind: str
    case: str
    engine: str
    outcome: str
    resumed: bool
    problems: tuple[str, ...]
    seconds: float


class Campaign:
    """What all faults share: undisturbed runs and the judge."""

    def __init__(self, work: Path, home: Path, judge: Judge) -> None:
        self._work, self._home, self._judge = work, home, judge
        self._references = References(work, home)

    def attempt(self, fault: Fault) -> Tried:
        """One fault, from its arrangement to the checks after `--resume`."""
        start = time.monotonic()
        reference = self._references.of(fault)
        with place_of(fault, self._work, self._home) as place:
            if fault.over:
                earlier = self._references.of(fault, EARLIER)
                place.bring(earlier.files, earlier.manifest)
            outcome, resumed, problems = self._carry_out(place, reference)
        return Tried(
            fault.number, fault.kind, fault.case, fault.engine, outcome, resumed, tuple(dict.fromkeys(problems)),
            round(time.monotonic() - start, 3),
        )  # fmt: skip

    def _carry_out(self, place: Place, reference: Reference) -> tuple[str, bool, Problems]:
        kind = KINDS[place.fault.kind]
        kind.arrange(place, reference)
        if place.skipped:
            return "could not be made", False, []
        more = ("--overwrite",) if place.earlier_release else ()
        ended = place.run(*more, strike=kind.strike(place, reference))
        problems = checks.of_the_end(place, ended, reference) + checks.of_traces(place, ended)
        problems += checks.of_leaks(place, self._judge, reference)
        if ended.code in DONE:
            files = self._untouched(place, reference) if kind.of_inputs else reference.files
            problems += checks.of_the_result(place, files, whole=not kind.of_inputs)
            return outcome_of(ended), False, problems
        problems += checks.of_finished(place, reference)
        if not kind.resumes:
            return outcome_of(ended), False, problems
        place.make_room()
        kind.meanwhile(place, reference)
        return outcome_of(ended), True, problems + self._resume(place, reference)

    def _resume(self, place: Place, reference: Reference) -> Problems:
        """Go on, and see that the end is that of an undisturbed run."""
        again = place.run("--resume")
        if again.code == 1 and "nothing to resume" in again.err:  # it was complete, or had not begun
            if place.is_complete(reference.files):
                left = ["resumed: the run's memory is left"] if place.memories() else []
                return left + checks.of_leaks(place, self._judge, reference)
            again = place.run("--overwrite")
        if again.code == 2 and is_of_a_set(place.fault.case) and "was added, removed or changed" in again.err:
            again = place.start_anew()
        expected = self._expected(place, reference)
        problems = checks.of_the_end_of(again, expected) + checks.of_traces(place, again)
        problems += checks.of_the_result(place, expected.files)
        problems += checks.of_leaks(place, self._judge, expected)
        return [f"resumed: {one}" for one in problems]

    def _expected(self, place: Place, reference: Reference) -> Reference:
        """What a run on the photos as they are now gives."""
        if not place.touched:
            return reference
        place.output = place.disk / "expected"
        try:
            return undisturbed(place)
        finally:
            place.output = place.disk / "out"

    def _untouched(self, place: Place, reference: Reference) -> dict[str, bytes]:
        """Photos that were not touched come out as ever, where each is protected on its own."""
        if is_of_a_set(place.fault.case):
            return {}
        return {name: data for name, data in reference.files.items() if name not in place.touched}


def outcome_of(ended: Ended) -> str:
    """How the run took the fault."""
    if ended.code in DONE:
        return "went on" if ended.code == 0 else "quarantined"
    return "killed" if ended.code == -9 else "stopped, said why"
