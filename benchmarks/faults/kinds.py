"""What each kind of fault does to a run, and what the program must say if the fault ends it.

`arrange` prepares the place, `strike` hits the run, `meanwhile` acts between its end and `--resume`.
"""

import json
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import platformdirs
from benchmarks.faults.cases import cards_of
from benchmarks.faults.process import Strike, processes_of
from benchmarks.faults.scenes import another, damaged, encoded, newcomer

if TYPE_CHECKING:
    from benchmarks.faults.place import Place
    from benchmarks.faults.reference import Reference

FULL = "disk is full|no file of this size|No space left"
READ_ONLY = "ead-only file system|is read-only"
GROUPS = "people|persons|faces"  # a set that lost photos may have too few people for its groups
PROCESSES_ALONE = ("worker dies",)
Step = Callable[["Place", "Reference"], None]


def _nothing(place: "Place", reference: "Reference") -> None:
    pass


def _never(place: "Place", reference: "Reference") -> Strike | None:
    return None


@dataclass(frozen=True)
class Kind:
    """`says` is looked for on stderr where the fault ends the run; `of_inputs` faults change what comes out."""

    weight: float
    says: str = "$nothing"
    arrange: Step = _nothing
    strike: Callable[["Place", "Reference"], Strike | None] = _never
    meanwhile: Step = _nothing
    of_inputs: bool = False
    kills: bool = False
    resumes: bool = True


def _at(place: "Place", reference: "Reference", act: Callable[[int], object]) -> Strike:
    moment = place.fault.moment
    if place.fault.by_clock:
        return Strike(act, seconds=moment * reference.seconds)
    return Strike(act, operation=1 + int(moment * reference.operations))


def _kill(place: "Place", reference: "Reference") -> Strike:
    return _at(place, reference, lambda pid: os.kill(pid, signal.SIGKILL))


def _terminate(place: "Place", reference: "Reference") -> Strike:
    """As a user or a service does: to the program alone, or to it and its workers."""
    number = place.rng.choice([signal.SIGTERM, signal.SIGTERM, signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
    send = os.killpg if place.rng.random() < 0.5 else os.kill
    return _at(place, reference, lambda pid: send(pid, int(number)))


def _full(what: str) -> Step:
    def arrange(place: "Place", reference: "Reference") -> None:
        """Too little room for bytes, or for names."""
        moment = place.fault.moment
        room = int(moment * reference.size) if what == "output" else int(4096 * 1000**moment)
        few_names = place.rng.random() < 0.4
        names = 1 + int(moment * (3 + len(place.names))) if few_names else 0
        if place.limit(what, 64 << 20 if few_names else room, names=names):
            return
        place.file_limit = 1 + int(moment * reference.largest)
        place.skipped = what != "output"

    return arrange


def _read_only(what: str) -> Step:
    def arrange(place: "Place", reference: "Reference") -> None:
        place.skipped = not place.limit(what, 64 << 20, read_only=True)

    return arrange


def _damage(place: "Place", reference: "Reference") -> None:
    names = place.names
    for name in place.rng.choice(names, size=1 + int(place.rng.integers(len(names))), replace=False):
        place.touch(str(name), damaged((place.photos / name).read_bytes(), place.rng))


def _changes(place: "Place", reference: "Reference") -> Strike:
    name = str(place.rng.choice(place.names))
    fresh = place.folder / "another"
    fresh.write_bytes(another(name, (place.photos / name).read_bytes(), place.rng))
    place.note(name, fresh.read_bytes())
    return _at(place, reference, lambda pid: fresh.replace(place.photos / name))


def _vanishes(place: "Place", reference: "Reference") -> Strike:
    name = str(place.rng.choice(place.names))
    place.note(name)
    return _at(place, reference, lambda pid: (place.photos / name).unlink(missing_ok=True))


def _swap_inputs(place: "Place", reference: "Reference") -> None:
    """Two photos change places, one becomes another, one goes, one comes."""
    first, second = (str(name) for name in place.rng.choice(place.names, size=2, replace=False))
    way = place.rng.integers(4)
    if way == 0:
        one, other = ((place.photos / name).read_bytes() for name in (first, second))
        place.touch(first, other)
        place.touch(second, one)
    elif way == 1:
        place.touch(first, another(first, (place.photos / first).read_bytes(), place.rng))
    elif way == 2:
        place.note(first)
        (place.photos / first).unlink()
    else:
        place.touch("new.png", encoded(newcomer(0), ".png"))


def _swap_output(place: "Place", reference: "Reference") -> None:
    """Somebody puts an original into the place of what was made of it."""
    there = [name for name in place.names if (place.output / name).is_file()]
    if there:
        name = str(place.rng.choice(there))
        (place.output / name).write_bytes((place.photos / name).read_bytes())


def _tear_journal(place: "Place", reference: "Reference") -> None:
    """The machine stopped: the end of the journal never reached the disk."""
    for path in place.state.rglob("done.jsonl"):
        data = path.read_bytes()
        path.write_bytes(data[: int(place.rng.integers(len(data) + 1))])


def _spoil_weights(missing: bool) -> Step:
    def arrange(place: "Place", reference: "Reference") -> None:
        """A store with what this run needs alone, and one card of it gone or not what it was."""
        cards = cards_of(place.fault.case)
        card = str(place.rng.choice(sorted(cards)))
        for each in cards:
            place.link_weights(each)
        file = place.rng.choice(sorted(path for path in place.weights_of(card).rglob("*") if path.is_file()))
        data = file.read_bytes()
        file.unlink()  # it is a link: the store itself stays as it is
        if not missing:
            file.write_bytes(_tampered(data, place))
        place.says = card

    return arrange


def _tampered(data: bytes, place: "Place") -> bytes:
    at = int(place.rng.integers(len(data)))
    if place.rng.random() < 0.3:
        return data[:at]
    return data[:at] + bytes([data[at] ^ 1 << int(place.rng.integers(8))]) + data[at + 1 :]


def _heal_weights(place: "Place", reference: "Reference") -> None:
    place.environment["FACEVEIL_HOME"] = str(place.home)


def _spoil_prepared(place: "Place", reference: "Reference") -> None:
    """Networks that an earlier run prepared are damaged: they are prepared anew."""
    kept = platformdirs.user_cache_path("faceveil-prepared", appauthor=False)
    cache = place.folder / "cache"
    copy = cache / kept.name
    copy.mkdir(parents=True, mode=0o700)
    for path in sorted(kept.glob("[!.]*")):
        if place.rng.random() < 0.5 and path.stat().st_size < 8 << 20:
            (copy / path.name).write_bytes(_tampered(path.read_bytes(), place))
            (copy / path.name).chmod(0o600)
        else:
            with suppress(OSError):
                os.link(path, copy / path.name)
    place.environment["XDG_CACHE_HOME"] = str(cache)


def _worker_dies(place: "Place", reference: "Reference") -> Strike:
    def end_one(pid: int) -> None:
        workers = [one for one in processes_of(pid) if _is_worker(one)]
        if workers:
            os.kill(int(place.rng.choice(workers)), signal.SIGKILL)

    return Strike(end_one, seconds=place.fault.moment * reference.seconds)


def _is_worker(pid: int) -> bool:
    with suppress(OSError):
        return b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


def journalled(state: Path) -> dict[str, str]:
    """The hash of every file that the journal takes for finished."""
    found = {}
    for path in state.rglob("done.jsonl"):
        for line in path.read_bytes().splitlines():
            with suppress(ValueError):
                outcome = json.loads(line)
                found[outcome["name"]] = outcome["sha256"]
    return {name: digest for name, digest in found.items() if digest}


KINDS = {
    "kill": Kind(16, strike=_kill, kills=True),
    "signal": Kind(12, strike=_terminate),
    "worker dies": Kind(0.7, "worker process ended suddenly", strike=_worker_dies),
    "output full": Kind(12, FULL, _full("output")),
    "temporary folder full": Kind(6, FULL, _full("temporary")),
    "state folder full": Kind(4, FULL, _full("state")),
    "output read-only": Kind(2, READ_ONLY, _read_only("output")),
    "temporary folder read-only": Kind(2, READ_ONLY, _read_only("temporary")),
    "state folder read-only": Kind(2, READ_ONLY, _read_only("state")),
    "corrupt input": Kind(12, GROUPS, _damage, of_inputs=True, resumes=False),
    "input changes during the run": Kind(6, GROUPS, strike=_changes, of_inputs=True, resumes=False),
    "input vanishes during the run": Kind(4, GROUPS, strike=_vanishes, of_inputs=True, resumes=False),
    "inputs swapped before resume": Kind(8, strike=_kill, meanwhile=_swap_inputs, of_inputs=True, kills=True),
    "output swapped before resume": Kind(5, strike=_kill, meanwhile=_swap_output, kills=True),
    "journal torn before resume": Kind(4, strike=_kill, meanwhile=_tear_journal, kills=True),
    "weights missing": Kind(4, arrange=_spoil_weights(True), meanwhile=_heal_weights),
    "weights tampered with": Kind(4, arrange=_spoil_weights(False), meanwhile=_heal_weights),
    "prepared networks damaged": Kind(2, arrange=_spoil_prepared),
}
