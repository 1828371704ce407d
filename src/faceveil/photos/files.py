"""Open regular files and nothing else: a pipe keeps its reader waiting, and a device may never end."""

import errno
import os
import stat
from io import BufferedReader
from pathlib import Path


def open_regular(path: Path, *, follow: bool = True) -> BufferedReader:
    """The file, for reading; OSError where there is none, and where it is a folder, pipe, socket or device.

    Without `follow` a link is refused too.
    """
    _refuse_other(path.stat(follow_symlinks=follow))  # opening a device may do something to it
    flags = os.O_RDONLY | _flag("O_NONBLOCK") | _flag("O_NOCTTY") | _flag("O_BINARY") | _flag("O_CLOEXEC")
    descriptor = os.open(path, flags | (0 if follow else _flag("O_NOFOLLOW")))
    try:
        _refuse_other(os.fstat(descriptor))  # it may have been another file a moment ago
    except OSError:
        os.close(descriptor)
        raise
    return os.fdopen(descriptor, "rb")


def _refuse_other(status: os.stat_result) -> None:
    if stat.S_ISREG(status.st_mode):
        return
    kind = "folder" if stat.S_ISDIR(status.st_mode) else "link" if stat.S_ISLNK(status.st_mode) else ""
    raise OSError(errno.EINVAL, f"it is a {kind or 'pipe, socket or device'}, not a file")


def _flag(name: str) -> int:
    return int(getattr(os, name, 0))  # not every system has all
