"""One run of the program in a process of its own, and what strikes it.

The process is forked from one that has imported the program and started no network: a run costs a quarter of a second
and not two. What it does to files of the fault's folder is counted, and a fault may strike right before any of them.
"""

import gc
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from itertools import count
from pathlib import Path
from pkgutil import walk_packages

PATIENCE = 1800  # seconds: a run that takes longer hangs, also on a machine that is short of memory
HUNG = 1000  # the exit code that we give it
LEFT = 20  # seconds that processes of a run may outlive it
USUAL = {
    signal.SIGTERM: signal.SIG_DFL,
    signal.SIGHUP: signal.SIG_DFL,
    signal.SIGINT: signal.default_int_handler,
}
COUNTED = ("open", "os.mkdir", "os.rename", "os.link", "os.remove", "os.rmdir", "shutil.rmtree")
BESIDES = (  # what the program imports when it is wanted
    "cv2", "numba", "sklearn.decomposition", "scipy.ndimage", "threadpoolctl", "PIL.Image", "rich.progress", "dlib",
    "multiprocessing.popen_spawn_posix", "concurrent.futures.process", "pydantic.type_adapter",
)  # fmt: skip


@dataclass(frozen=True)
class Strike:
    """What happens to a run: `act` is called with its process id, right before the file operation of this number or
    so many seconds after the first."""

    act: Callable[[int], object]
    operation: int = 0
    seconds: float | None = None


@dataclass(frozen=True)
class Ended:
    """How a run ended, as the caller of the program sees it."""

    code: int  # negative: the signal
    out: str
    err: str
    operations: int
    seconds: float  # since the first operation
    outlived: bool = False  # by its own workers


def import_all() -> None:
    """Once, in the parent; networks stay unopened, for their threads would not live on in a fork."""
    import faceveil
    from faceveil.models.cards import all_cards
    from faceveil.models.runtime import openvino

    own = [module.name for module in walk_packages(faceveil.__path__, "faceveil.")]
    for name in (*(name for name in own if not _is_left_out(name)), *BESIDES):
        with suppress(ModuleNotFoundError):  # it is for speed alone
            import_module(name)
    openvino()
    all_cards()
    gc.freeze()  # forks share what nobody touches


def _is_left_out(module: str) -> bool:
    return ".torch" in module or module.endswith("__main__")


def run(
    argv: list[str],
    folder: Path,
    environment: dict[str, str],
    strike: Strike | None = None,
    file_limit: int | None = None,
) -> Ended:
    """Run `faceveil` with these arguments and wait for its end. Its output goes to files in the folder."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(reader)
            _become_the_program(argv, folder, environment, strike, file_limit, writer)
        finally:
            os._exit(97)
    os.close(writer)
    operations, seconds, hung = _watch(pid, reader, strike)
    os.close(reader)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    out, err = ((folder / name).read_text(errors="replace") for name in ("stdout", "stderr"))
    return Ended(HUNG if hung else code, out, err, operations, seconds, _outlived(pid))


def _become_the_program(
    argv: list[str],
    folder: Path,
    environment: dict[str, str],
    strike: Strike | None,
    limit: int | None,
    pipe: int,
) -> None:
    import tempfile

    from faceveil.cli import program

    os.setsid()
    for number, handler in USUAL.items():
        signal.signal(number, handler)
    os.environ.update(environment)
    tempfile.tempdir = None
    for number, name in ((1, "stdout"), (2, "stderr")):
        os.dup2(os.open(folder / name, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), number)
    sys.stdin, sys.stdout, sys.stderr = (os.fdopen(os.dup(n), mode) for n, mode in enumerate("rww"))
    if limit is not None:
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    sys.argv = ["faceveil", *argv]
    sys.addaudithook(_counter(str(folder), strike, pipe))
    program()


def _counter(folder: str, strike: Strike | None, pipe: int) -> Callable[[str, tuple[object, ...]], None]:
    """Tells the parent of every operation on files of the folder, by a byte, and strikes when its number has come."""
    numbers = count(1)

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if event in COUNTED and _concerns(folder, event, arguments):
            os.write(pipe, b".")
            if strike and next(numbers) == strike.operation:
                strike.act(os.getpid())

    return hook


def _concerns(folder: str, event: str, arguments: tuple[object, ...]) -> bool:
    """Its path is in the folder, or is relative to a folder that is being cleared away."""
    first = arguments[0]
    if isinstance(first, bytes):
        first = os.fsdecode(first)
    inside = isinstance(first, str | os.PathLike) and os.fspath(first).startswith(folder)
    return inside or (event in ("os.remove", "os.rmdir") and arguments[-1] != -1)


def _watch(pid: int, reader: int, strike: Strike | None) -> tuple[int, float, bool]:
    """Count what the run does until its end, and strike when the time has come."""
    operations, begun, due = 0, 0.0, None
    end = time.monotonic() + PATIENCE
    while True:
        now = time.monotonic()
        ready, _, _ = select.select([reader], [], [], max(0.0, (due or end) - now))
        if ready:
            got = os.read(reader, 65536)
            if not got:
                return operations, time.monotonic() - begun if begun else 0.0, False
            operations += len(got)
            if not begun:
                begun = time.monotonic()
                due = begun + strike.seconds if strike and strike.seconds is not None else None
        elif due is not None and strike:
            due = None
            strike.act(pid)
        else:
            os.kill(pid, signal.SIGKILL)
            return operations, float(PATIENCE), True


def _outlived(group: int) -> bool:
    """Whether processes of a run are still there some time after its end; they are ended."""
    end = time.monotonic() + LEFT
    with suppress(ProcessLookupError):
        while time.monotonic() < end:
            os.killpg(group, 0)
            time.sleep(0.02)
        os.killpg(group, signal.SIGKILL)
        return True
    return False


def processes_of(session: int) -> list[int]:
    """The living processes of a session, where the system tells."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, IndexError, ValueError):
            fields = entry.read_text().rpartition(")")[2].split()
            if int(fields[3]) == session and fields[0] not in "ZX":
                found.append(int(entry.parent.name))
    return found
