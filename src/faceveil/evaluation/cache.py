"""A store of arrays by key, in memory or in one SQLite file.

Keys are hashes of content and of the network's weights, so a changed photo or network is never served an old
answer. Embeddings of faces are biometric data: nothing is kept on disk unless a file is named.
"""

import hashlib
import sqlite3
import threading
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faceveil.errors import OutputError

Array = NDArray[np.float32]


def key_of(*parts: str | bytes | NDArray[Any]) -> bytes:
    """One key of several parts."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part if isinstance(part, bytes) else part.tobytes()
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.digest()


class Cache:
    """Arrays of float32 with one or two axes. Safe for threads."""

    def __init__(self, path: Path | None = None) -> None:
        try:
            self._file = sqlite3.connect(path or ":memory:", check_same_thread=False, isolation_level=None)
            self._file.execute("PRAGMA journal_mode=WAL")
            self._file.execute("PRAGMA synchronous=NORMAL")
            self._file.execute(
                "CREATE TABLE IF NOT EXISTS arrays (key BLOB PRIMARY KEY, width INT, data BLOB)"
            )
        except sqlite3.Error as error:
            raise OutputError(f"{path} cannot be used as a cache: {error}. Name another file.") from error
        self._lock = threading.Lock()
        self.hits = self.misses = 0

    def get(self, key: bytes) -> Array | None:
        """What was put under this key, or None."""
        with self._lock:
            row = self._file.execute("SELECT width, data FROM arrays WHERE key = ?", (key,)).fetchone()
            if row is None:
                self.misses += 1
                return None
            self.hits += 1
        return np.frombuffer(row[1], np.float32).reshape(-1, row[0])

    def put(self, key: bytes, rows: Array) -> Array:
        """Keep rows × width and give it back."""
        rows = np.ascontiguousarray(np.atleast_2d(rows), np.float32)
        with self._lock:
            entry = (key, rows.shape[1], rows.tobytes())
            self._file.execute("INSERT OR REPLACE INTO arrays VALUES (?, ?, ?)", entry)
        return rows

    def close(self) -> None:
        self._file.close()
