"""The private folder of a run: the originals' faces while a set is worked on.

It lies outside the output, in the system's folder for temporary files (TMPDIR), where only its owner may read,
and is removed at the end. The run's own memory (pipeline/memory.py) notes where it is, so that `--resume` finds it.
"""

import json
import os
import secrets
import tempfile
from dataclasses import dataclass
from pathlib import Path

from faceveil.errors import OutputError
from faceveil.photos import write_bytes
from faceveil.pipeline.memory import is_own_folder

NOTE = "private.json"
PREFIX = "faceveil-"


@dataclass(frozen=True)
class PrivateFolder:
    """`new` says that nothing of an earlier start is there."""

    path: Path
    new: bool

    @classmethod
    def open(cls, memory: Path) -> "PrivateFolder":
        """The folder of the run with this memory, or a new one."""
        before = noted_folder(memory)
        if before is not None:
            return cls(before, new=False)
        path = temporary() / f"{PREFIX}{secrets.token_hex(8)}"
        # Noted first: no folder is there that nobody remembers.
        write_bytes(json.dumps({"folder": str(path)}).encode(), memory / NOTE, overwrite=True)
        try:
            path.mkdir(mode=0o700)
        except OSError as error:
            raise no_folder(path.parent, error) from error
        return cls(path, new=True)


def farewell(path: Path) -> str:
    """What to say when a run ends early and leaves its private folder behind."""
    return (
        f"The faces of the originals are kept in {path} for --resume. Delete that folder if you do not go on."
    )


def no_folder(place: Path, error: OSError) -> OutputError:
    """What to say where no temporary folder can be made."""
    return OutputError(
        f"no temporary folder can be made in {place} ({error.strerror}). Set TMPDIR to a place with room."
    )


def temporary() -> Path:
    """Where TMPDIR says and nowhere else: Python would go elsewhere where that is full or cannot be written."""
    return Path(os.environ.get("TMPDIR") or tempfile.gettempdir()).absolute()


def noted_folder(memory: Path) -> Path | None:
    """Where the run with this memory keeps its faces, if that is still a folder of ours."""
    try:
        path = Path(json.loads((memory / NOTE).read_text(encoding="utf-8"))["folder"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return path if path.name.startswith(PREFIX) and is_own_folder(path) else None
