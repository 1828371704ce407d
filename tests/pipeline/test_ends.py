"""What a run leaves behind wherever it is cut off: also among its first and its last steps."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.pipeline.pixel_mean import PixelMean

from faceveil import Settings, anonymize, method
from faceveil.errors import OutputError
from faceveil.pipeline import journal, private
from faceveil.pipeline.journal import GO_ON
from faceveil.pipeline.plan import MANIFEST, STATE

BLACK = Settings(method=method("blackout"))
K3 = Settings(method=PixelMean(k=3), seed=7)
ONE_PROCESS_DIES = """
import os, signal, sys, time
from faceveil.pipeline.engines import processes

if __name__ == "__main__":
    for _ in processes(time.sleep, [0] * 4 + [600] * 4, workers=2):
        print("ready", flush=True)
"""


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch) -> Path:
    """The user's state folder of this test."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "faceveil" / "runs"


def cut_off_in(monkeypatch: pytest.MonkeyPatch, remove: str) -> None:
    """The first file or folder that is cleared away from now on under such a name is the last."""

    def part_of(path, *arguments, **options):
        if remove in str(path):
            next(iter(sorted(Path(path).iterdir()))).unlink()
            raise KeyboardInterrupt
        shutil_rmtree(path, *arguments, **options)

    shutil_rmtree = journal.shutil.rmtree
    monkeypatch.setattr(journal.shutil, "rmtree", part_of)


def test_a_run_that_is_cut_off_while_it_forgets_is_complete(photos, tmp_path, state, monkeypatch):
    out = tmp_path / "out"
    with monkeypatch.context() as patch:
        cut_off_in(patch, str(state))
        with pytest.raises(KeyboardInterrupt):
            anonymize(photos, out, settings=BLACK)
    with pytest.raises(OutputError, match="nothing to resume"):
        anonymize(photos, out, settings=BLACK, resume=True)
    assert list(state.iterdir()) == [] and (out / MANIFEST).exists() and not (out / STATE).exists()


def test_nobody_goes_on_with_faces_that_are_half_deleted(crowd, tmp_path, state, temporary, monkeypatch):
    out = tmp_path / "out"
    with monkeypatch.context() as patch:
        cut_off_in(patch, str(temporary))
        with pytest.raises(KeyboardInterrupt):
            anonymize(crowd, out, settings=K3)
    with pytest.raises(OutputError, match="nothing to resume"):
        anonymize(crowd, out, settings=K3, resume=True)
    assert list(state.iterdir()) == list(temporary.iterdir()) == []


@pytest.mark.parametrize("when", ["before the note", "after the folder"])
def test_no_private_folder_is_made_that_nobody_remembers(crowd, tmp_path, temporary, monkeypatch, when):
    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        if when == "before the note":
            patch.setattr(private, "write_bytes", lambda *_, **__: interrupted())
        else:
            patch.setattr(journal.Journal, "forget", interrupted)
        with pytest.raises(KeyboardInterrupt) as end:
            anonymize(crowd, tmp_path / "out", settings=K3)
    assert GO_ON in end.value.__notes__
    left = list(temporary.iterdir())
    assert len(left) == (when == "after the folder")
    assert all(any(str(path) in note for note in end.value.__notes__) for path in left)


def test_faces_go_where_tmpdir_says_or_nowhere(crowd, tmp_path, temporary, monkeypatch):
    """Python itself would go on to the next folder that it knows."""
    other = tmp_path / "other"
    other.mkdir()
    monkeypatch.setenv("TEMP", str(other))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "gone"))
    before = other.stat().st_mtime_ns
    with pytest.raises(OutputError, match=r"no temporary folder can be made in .*gone"):
        anonymize(crowd, tmp_path / "out", settings=K3)
    assert other.stat().st_mtime_ns == before


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="asks Linux which processes there are")
def test_workers_end_with_a_program_that_is_killed(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(ONE_PROCESS_DIES)
    program = subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert program.stdout is not None and program.stdout.readline() == b"ready\n"
    program.kill()
    program.wait()
    program.stdout.close()
    end = time.monotonic() + 30
    while (left := of_session(program.pid)) and time.monotonic() < end:
        time.sleep(0.05)
    for process in left:
        os.kill(process, signal.SIGKILL)
    assert not left


def of_session(session: int) -> list[int]:
    """Its processes that live."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, of, *_ = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(of) == session and state not in "ZX":
            found.append(int(path.parent.name))
    return found
