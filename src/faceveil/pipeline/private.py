"""The private folder of a run: the originals' faces while a set is worked on.

It lies outside the output, in the system's folder for temporary files (TMPDIR), where only its owner may read,
and is removed at the end. The output's state folder notes where it is, so that `--resume` finds it.
"""

import json
import os
import shutil
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path

from faceveil.errors import OutputError
from faceveil.photos import write_bytes

NOTE = "private.json"


@dataclass(frozen=True)
class PrivateFolder:
    """`new` says that nothing of an earlier start is there."""

    path: Path
    new: bool

    @classmethod
    def open(cls, state: Path) -> "PrivateFolder":
        """The folder of the run with this state, or a new one."""
        before = noted_folder(state)
        if before is not None and _is_ours(before):
            return cls(before, new=False)
        try:
            path = Path(tempfile.mkdtemp(prefix="faceveil-"))  # mode 0700
        except OSError as error:
            raise OutputError(
                f"no temporary folder can be made ({error.strerror}). Set TMPDIR to a place with room."
            ) from error
        write_bytes(json.dumps({"folder": str(path)}).encode(), state / NOTE, overwrite=True)
        return cls(path, new=True)

    def remove(self) -> None:
        """Delete it and all faces in it."""
        shutil.rmtree(self.path)

    @property
    def farewell(self) -> str:
        """What to say when a run ends early and leaves it behind."""
        return (
            f"The faces of the originals are kept in {self.path} for --resume. "
            "Delete that folder if you do not go on."
        )


def noted_folder(state: Path) -> Path | None:
    """Where the run with this state keeps its faces, as far as is known."""
    try:
        return Path(json.loads((state / NOTE).read_text(encoding="utf-8"))["folder"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _is_ours(path: Path) -> bool:
    """A real folder that nobody else can open: not one that somebody put in its place."""
    try:
        status = path.lstat()
    except OSError:
        return False
    if not stat.S_ISDIR(status.st_mode) or not path.name.startswith("faceveil-"):
        return False
    return os.name != "posix" or (status.st_uid == os.geteuid() and not status.st_mode & 0o077)
