"""What must hold after a fault. Each check gives the problems it found, in words."""

import hashlib
import re

from benchmarks.faults.judge import LIKE, SAME, Judge
from benchmarks.faults.kinds import KINDS, journalled
from benchmarks.faults.place import Place, files_of
from benchmarks.faults.process import HUNG, Ended
from benchmarks.faults.reference import Reference

DONE = (0, 3)  # all photos protected; some quarantined
SIGNALS = {1: "SIGHUP", 2: "SIGINT", 15: "SIGTERM"}
Problems = list[str]


def of_the_end(place: Place, ended: Ended, reference: Reference) -> Problems:
    """The exit code is right, and stderr names the cause."""
    kind, code, err = KINDS[place.fault.kind], ended.code, ended.err
    problems = ["processes outlived the run"] if ended.outlived else []
    if code == HUNG:
        return ["the run hung"]
    if re.search("Traceback|Exception ignored", err):
        problems.append("a traceback on stderr")
    if code in DONE:
        if not kind.of_inputs and code != reference.code:
            problems.append(f"exit code {code} and not {reference.code}")
        return problems + _quarantined_are_named(place, ended)
    if code == -9 and kind.kills:
        return problems
    if code - 128 in SIGNALS and place.fault.kind == "signal":
        return problems + _unless(f"stopped by {SIGNALS[code - 128]}" in err, "the signal is not named")
    if -code in SIGNALS and place.fault.kind == "signal":  # before it listens, or after its last word
        begun = any(place.state.rglob("begun.json"))
        return problems + _unless(not begun, "the run died of the signal without a word")
    said = re.search(f"^faceveil: .*({place.says or kind.says})", err, re.MULTILINE)
    return problems + _unless(code in (1, 2) and said, f"exit code {code}, and the cause is not named")


def _unless(right: object, problem: str) -> Problems:
    return [] if right else [problem]


def _quarantined_are_named(place: Place, ended: Ended) -> Problems:
    """What is not there is spoken of."""
    missing = [name for name in place.names if not (place.output / name).exists()]
    silent = [name for name in missing if name not in ended.err]
    crops = "crops" in place.fault.case
    return [] if crops or not silent else [f"{silent[0]} was not written and is not named"]


def of_leaks(place: Place, judge: Judge, reference: Reference) -> Problems:
    """No original face is in the output, in finished files or unfinished ones."""
    of_nobody = set(reference.files.values())  # a view without a face may come out as it went in
    problems = []
    for name, data in files_of(place.output).items():
        if data in place.originals and data not in of_nobody:
            problems.append(f"{name} is an original")
        seen = judge(data, place.originals)
        if seen.eyes < SAME:
            problems.append(f"{name} shows an original's eyes ({seen.eyes:.1f} levels)")
        if seen.distance < LIKE:
            problems.append(f"{name} is recognised ({seen.distance:.2f} of the threshold)")
    return problems


def of_finished(place: Place, reference: Reference) -> Problems:
    """What counts as done is there, as it was written; what lay there before is whole."""
    there = files_of(place.output) if place.output.exists() else {}
    problems = [
        f"{name} is done by the journal and is not there as it was written"
        for name, digest in journalled(place.state).items()
        if hashlib.sha256(there.get(name, b"")).hexdigest() != digest
    ]
    for name, data in place.earlier_release.items():
        if there.get(name) not in (data, reference.files[name]):
            problems.append(f"{name} of the earlier release is lost")
    return problems


def of_traces(place: Place, ended: Ended) -> Problems:
    """Faces of originals stay where the program says, and nothing stays after a complete run."""
    problems = []
    if place.elsewhere_was_used():
        problems.append("temporary files went elsewhere than TMPDIR")
    if ended.code < 0:  # killed: it cannot say
        return problems
    left = [path for path in place.temporary.iterdir() if not path.name.startswith("faceveil-runs-")]
    problems += [f"{path.name} is left and not named" for path in left if str(path) not in ended.err]
    if ended.code in DONE:
        problems += _unless(not left, "faces of originals are left after a complete run")
        problems += _unless(not any(place.memories()), "the run's memory is left after its end")
        hidden = [path.name for path in place.output.rglob(".*")]
        problems += _unless(not hidden, f"{hidden[:1]} is left in the output")
    return problems


def of_the_end_of(ended: Ended, expected: Reference) -> Problems:
    """A run that nothing disturbs ends as it should."""
    problems = _unless(ended.code == expected.code, f"it ended with {ended.code}: {ended.err[-300:]}")
    return problems + _unless("Traceback" not in ended.err, "a traceback on stderr")


def of_the_result(place: Place, expected: dict[str, bytes], *, whole: bool = True) -> Problems:
    """The same files as an undisturbed run gives; `whole`: and no others."""
    there = files_of(place.output)
    names = sorted({*there, *expected} if whole else expected)
    differing = [name for name in names if there.get(name) != expected.get(name)]
    return [f"{name} is not as an undisturbed run gives it" for name in differing[:3]]
