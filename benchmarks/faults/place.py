"""The place of one fault: photos, output, temporary and state folder, each of which can be a small disk."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from benchmarks.faults.fault import Fault
from benchmarks.faults.process import Ended, Strike, run
from benchmarks.faults.scenes import scene

SEED = "7"  # of every run: what is undisturbed is the same for all faults of a case
ROOM = "64m"
DISKS = ("disk", "temporary", "state")  # the output is a folder on the first
NAMES = {"output": "disk", "temporary": "temporary", "state": "state"}


class Place:
    """Folders of one fault. `originals` are the contents that ever stood under the name of a photo."""

    def __init__(self, folder: Path, fault: Fault, home: Path) -> None:
        self.folder, self.fault, self.rng = folder, fault, fault.rng
        self.photos, self.disk = folder / "photos", folder / "disk"
        self.output, self.temporary, self.state = self.disk / "out", folder / "temporary", folder / "state"
        self.elsewhere = folder / "elsewhere"
        self.environment = {
            "TMPDIR": str(self.temporary),
            "TEMP": str(self.elsewhere),  # where Python would go instead: nothing may come to lie there
            "XDG_STATE_HOME": str(self.state),
            "FACEVEIL_HOME": str(home),
            "FACEVEIL_OFFLINE": "1",
        }
        self.home, self.says, self.skipped = home, "", False
        self.file_limit: int | None = None
        self.originals: list[bytes] = []
        self.touched: set[str] = set()  # photos that are not as the scene has them
        self.mounted: list[Path] = []
        for name in ("photos", "elsewhere", *DISKS):
            (folder / name).mkdir(mode=0o700, parents=True)
        for name, data in scene(fault.scene).items():
            self.put(name, data)
        self.earlier_release: dict[str, bytes] = {}
        self._elsewhere_before = self.elsewhere.stat().st_mtime_ns

    def put(self, name: str, data: bytes) -> None:
        """A photo of this content, in one step."""
        path, fresh = self.photos / name, self.folder / "fresh"
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh.write_bytes(data)
        fresh.replace(path)
        self.originals.append(data)

    def touch(self, name: str, data: bytes) -> None:
        """A photo is not what it was."""
        self.put(name, data)
        self.touched.add(name)

    def note(self, name: str, *contents: bytes) -> None:
        """A photo that will not be what it was."""
        self.touched.add(name)
        self.originals += contents

    @property
    def names(self) -> list[str]:
        """The photos that are there."""
        return sorted(
            path.relative_to(self.photos).as_posix() for path in self.photos.rglob("*") if path.is_file()
        )

    def run(self, *more: str, strike: Strike | None = None, seed: str = SEED) -> Ended:
        """Run the program on the photos."""
        argv = ["anonymize", str(self.photos), "-o", str(self.output), *self.fault.options]
        argv += ["--seed", seed, "--engine", self.fault.engine, "--workers", "2", *more]
        return run(argv, self.folder, self.environment, strike, self.file_limit)

    def bring(self, files: dict[str, bytes], manifest: bytes) -> None:
        """An earlier release lies in the output folder."""
        self.earlier_release = files
        for name, data in {**files, "run.json": manifest}.items():
            (self.output / name).parent.mkdir(parents=True, exist_ok=True)
            (self.output / name).write_bytes(data)

    def start_anew(self) -> Ended:
        """As the program advises where a run cannot be resumed."""
        shutil.rmtree(self.output / ".faceveil", ignore_errors=True)
        return self.run("--overwrite")

    def memories(self) -> list[Path]:
        """What runs remember of themselves."""
        homes = [self.state / "faceveil" / "runs", *self.temporary.glob("faceveil-runs-*")]
        return [path for home in homes if home.is_dir() for path in home.iterdir()]

    def is_complete(self, files: dict[str, bytes]) -> bool:
        """Whether the output is a finished release of these files."""
        return (self.output / "run.json").exists() and files_of(self.output) == files

    def elsewhere_was_used(self) -> bool:
        return self.elsewhere.stat().st_mtime_ns != self._elsewhere_before

    def limit(self, what: str, room: int, *, names: int = 0, read_only: bool = False) -> bool:
        """Make this folder a file system with room for so many bytes more, or so many names; False where that takes
        rights that we have not."""
        if not may_mount():
            return False
        target, kept = self.folder / NAMES[what], self.folder / f"{what}-before"
        target.rename(kept)
        target.mkdir(mode=0o700)
        _mount("-t", "tmpfs", "-o", f"size={ROOM},mode=700", "tmpfs", str(target))
        self.mounted.append(target)
        shutil.copytree(kept, target, dirs_exist_ok=True)
        status = os.statvfs(target)
        used = (status.f_blocks - status.f_bfree) * status.f_frsize
        options = [f"size={used + max(room, 4096)}"]
        options += [f"nr_inodes={status.f_files - status.f_ffree + names}"] if names else []
        return _mount("-o", ",".join(["remount", *options, *(["ro"] if read_only else [])]), str(target))

    def make_room(self) -> None:
        """All file systems can be written again."""
        self.file_limit = None
        for target in self.mounted:
            _mount("-o", f"remount,rw,size={ROOM},nr_inodes=100000", str(target))

    def weights_of(self, card: str) -> Path:
        return self.folder / "home" / "weights" / card

    def link_weights(self, card: str) -> None:
        """Have these weights in a store of the fault's own, as links."""
        self.environment["FACEVEIL_HOME"] = str(self.folder / "home")
        shutil.copytree(self.home / "weights" / card, self.weights_of(card), copy_function=_link)

    def close(self) -> None:
        for target in reversed(self.mounted):
            subprocess.run(["umount", "-l", str(target)], check=False, capture_output=True)


@contextmanager
def place_of(fault: Fault, work: Path, home: Path) -> Iterator[Place]:
    """A place that is cleared away in the end."""
    folder = Path(tempfile.mkdtemp(prefix="fault-", dir=work))
    place = Place(folder, fault, home)
    try:
        yield place
    finally:
        place.close()
        shutil.rmtree(folder, ignore_errors=True)


@cache
def may_mount() -> bool:
    """Whether small file systems can be made here: that takes root."""
    return hasattr(os, "geteuid") and os.geteuid() == 0 and shutil.which("mount") is not None and _can_mount()


def _can_mount() -> bool:
    with tempfile.TemporaryDirectory() as folder:
        if not _mount("-t", "tmpfs", "-o", "size=64k", "tmpfs", folder):
            return False
        return subprocess.run(["umount", folder], check=False, capture_output=True).returncode == 0


def _mount(*arguments: str) -> bool:
    return subprocess.run(["mount", *arguments], check=False, capture_output=True).returncode == 0


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copy2(source, target)


def files_of(folder: Path) -> dict[str, bytes]:
    """Every file of an output folder but the manifest, whose timings differ."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not path.is_symlink() and path.name != "run.json"
    }
