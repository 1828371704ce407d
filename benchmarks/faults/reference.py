"""What an undisturbed run gives: the bytes that a resumed run must end with, and how long it takes."""

import os
import pickle
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from benchmarks.faults.fault import Fault
from benchmarks.faults.place import Place, files_of, place_of

EARLIER = "8"  # the seed of the release that lies there before


@dataclass(frozen=True)
class Reference:
    """An undisturbed run."""

    files: dict[str, bytes]
    manifest: bytes
    code: int
    operations: int
    seconds: float

    @property
    def size(self) -> int:
        return sum(map(len, self.files.values())) + len(self.manifest) + 4096 * len(self.files)

    @property
    def largest(self) -> int:
        return max(map(len, self.files.values()))


class References:
    """Each is made when it is first wanted, and kept in a file for the other workers."""

    def __init__(self, work: Path, home: Path) -> None:
        self._work, self._home = work, home

    def of(self, fault: Fault, seed: str | None = None) -> Reference:
        """The undisturbed run of this fault's case, scene and engine."""
        engine = fault.engine if seed is None else "serial"
        name = f"{fault.case} {fault.scene} {engine} {seed}".replace(" ", "-")
        kept = self._work / f"{name}.reference"
        if not kept.exists():
            with place_of(replace(fault, engine=engine), self._work, self._home) as place:
                made = undisturbed(place, seed)
            aside = kept.with_suffix(f".{os.getpid()}")
            aside.write_bytes(pickle.dumps(made))
            aside.replace(kept)
        return _read(kept)


@lru_cache(50)
def _read(path: Path) -> Reference:
    made = pickle.loads(path.read_bytes())
    assert isinstance(made, Reference)
    return made


def undisturbed(place: Place, seed: str | None = None) -> Reference:
    """Run as the place is, into its output folder."""
    ended = place.run(**({"seed": seed} if seed else {}))
    if ended.code not in (0, 3):
        raise RuntimeError(f"an undisturbed run of {place.fault.case} ended with {ended.code}: {ended.err}")
    manifest = (place.output / "run.json").read_bytes()
    return Reference(files_of(place.output), manifest, ended.code, ended.operations, ended.seconds)
