"""Where a run remembers what it has done, so that it can go on: a folder of this user's own for each output.

Who may write into an output folder, or into that of temporary files, must not decide what a resumed run deletes or
takes for done. So nothing in the output is believed: what is remembered lies in the user's state folder, where nobody
else can write.
"""

import hashlib
import os
import stat
import sys
import tempfile
from pathlib import Path

import platformdirs

from faceveil.errors import OutputError
from faceveil.photos import open_regular


def memory_of(place: Path) -> Path:
    """The folder that remembers the run which writes here; it need not exist."""
    return _home() / hashlib.sha256(os.fsencode(os.path.realpath(place))).hexdigest()[:32]


def is_own_folder(path: Path) -> bool:
    """A real folder that nobody else can open: not one that somebody put in its place."""
    try:
        status = path.lstat()
    except OSError:
        return False
    if not stat.S_ISDIR(status.st_mode):
        return False
    # Windows has other rights: there the user's folders are closed to others.
    return sys.platform == "win32" or (status.st_uid == os.geteuid() and not status.st_mode & 0o077)


def file_digest(path: Path, *, follow: bool = True) -> str:
    """The SHA-256 of a regular file, "" where there is none that can be read."""
    try:
        with open_regular(path, follow=follow) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def _home() -> Path:
    """The user's state folder, or where it cannot be made (no home, read-only) one among temporary files."""
    home = platformdirs.user_state_path("faceveil", appauthor=False) / "runs"
    try:
        if not home.is_absolute():  # there is no home
            raise FileNotFoundError
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        user = os.geteuid() if sys.platform != "win32" else "own"
        home = Path(tempfile.gettempdir()) / f"faceveil-runs-{user}"
        _make(home)
    if not is_own_folder(home):
        raise OutputError(
            f"{home} must be a folder that only you can open, for a run trusts what it finds there. "
            "Set its owner and mode (700), or XDG_STATE_HOME to another place."
        )
    return home


def _make(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"{folder} cannot be made ({error.strerror}). Set XDG_STATE_HOME to a place where you can write."
        ) from error
