"""Networks as an earlier run prepared them, for a start in half the time.

What the engine makes of a graph is kept in a folder of the user's own, apart from the weights, which may come from
others. A file there decides what is a face, and no card pins it. So one counts only if this user wrote it and nobody
else may write to it, if it is whole, and if it was made from the same weights by the same code, engine, settings and
processor. Anything else is prepared anew, and where nothing can be kept a run is slower and the same.
"""

import hashlib
import io
import json
import os
import platform
import secrets
import stat
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import platformdirs

from faceveil.models.store import PACKAGE, Store

DIGEST = hashlib.sha256().digest_size
SOURCES = ("models/*.py", "models/data/yunet*", "faces/*.py")  # what graphs are built by and of
LIMITS = ("ONEDNN_", "DNNL_", "OV_")  # settings that change what the engine makes of a graph begin so
KEPT = 30 * 24 * 3600  # seconds: older ones may be of versions that are gone


def folder() -> Path:
    """Where prepared networks are kept."""
    return platformdirs.user_cache_path("faceveil-prepared", appauthor=False)


@dataclass(frozen=True)
class Recipe:
    """A graph that is built of a card's weights; `name` tells it from others of that card."""

    card: str
    name: str
    build: Callable[[], Any]

    def compiled(self, core: Any, config: dict[str, Any]) -> Any:
        """The graph as the engine runs it: as it was kept, or built, compiled and kept now."""
        Store().path(self.card)  # the weights must be here and whole all the same
        key = _key(self, core, config)
        place = folder() / key.hex()
        kept = _read(place, key)
        if kept is not None:
            with suppress(RuntimeError):  # the engine does not take it
                return core.import_model(io.BytesIO(kept), "CPU", config)
        fresh = core.compile_model(self.build(), "CPU", config)
        _keep(place, key, fresh)
        return fresh


def _key(recipe: Recipe, core: Any, config: dict[str, Any]) -> bytes:
    """A digest of all that decides what the engine makes of the graph."""
    about = [
        recipe.name,
        [member.sha256 for member in Store().card(recipe.card).members],
        sorted((option, str(value)) for option, value in config.items()),
        core.get_versions("CPU")["CPU"].build_number,
        core.get_property("CPU", "FULL_DEVICE_NAME"),
        _processor(),
        sorted(item for item in os.environ.items() if item[0].startswith(LIMITS)),
        _sources(),
    ]
    return hashlib.sha256(json.dumps(about).encode()).digest()


def _processor() -> str:
    """What it can do, where the system says so: its name alone may stand for many."""
    with suppress(OSError, StopIteration), Path("/proc/cpuinfo").open(encoding="utf-8") as lines:
        return next(line for line in lines if line.startswith(("flags", "Features")))
    return platform.machine()


@cache
def _sources() -> str:
    digest = hashlib.sha256()
    for path in sorted(path for pattern in SOURCES for path in PACKAGE.glob(pattern)):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()


def _read(place: Path, key: bytes) -> bytes | None:
    """What was kept there, if nobody but this user can have written it and it is whole."""
    if sys.platform == "win32":  # has other rights
        return None
    with suppress(OSError), os.fdopen(os.open(place, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
        status = os.fstat(file.fileno())
        if status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            digest, content = file.read(DIGEST), file.read()
            if digest == _digest(key, content):
                return content
    return None


def _keep(place: Path, key: bytes, fresh: Any) -> None:
    """Aside first and then renamed, so that others see a whole file or none."""
    if sys.platform == "win32":
        return
    aside = place.with_name(f".new-{secrets.token_hex(8)}")
    with suppress(OSError, RuntimeError):  # nowhere to write, or an engine that cannot export
        content = fresh.export_model().getvalue()
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(_digest(key, content) + content)
            aside.replace(place)
        finally:
            aside.unlink(missing_ok=True)
        for old in place.parent.iterdir():
            if old.stat().st_mtime < time.time() - KEPT:
                old.unlink(missing_ok=True)


def _digest(key: bytes, content: bytes) -> bytes:
    return hashlib.sha256(key + content).digest()
