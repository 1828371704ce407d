"""A package index on 127.0.0.1 with small made-up distributions, and pip settings that know only it."""

import base64
import hashlib
import io
import os
import tarfile
import threading
import time
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from faceveil.models.cards import Card, Distribution, Member

NET = bytes(range(256)) * 4096  # 1 MiB
EXTRA = b"extra weights" * 1000
PICTURES = {"a/1.pgm": b"one", "a/2.pgm": b"two", "b/1.pgm": b"three"}


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def wheel(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name), data)
    return buffer.getvalue()


def sdist(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


TOY = wheel(
    {"toy/net.bin": NET, "toy/extra.bin": EXTRA, "toy/setup.py": b"raise SystemExit('ran')"}
    | {f"toy/faces/{name}": data for name, data in PICTURES.items()}
)
SDIST = sdist({"toysdist-1.0/net.pt": EXTRA, "toysdist-1.0/setup.py": b"raise SystemExit('ran')"})


TOY_NAME = "toy-1.0-py3-none-any.whl"
SDIST_NAME = "toysdist-1.0.tar.gz"
TREE = "".join(f"{sha256(data)}  {name}\n" for name, data in sorted(PICTURES.items()))


class Toys:
    """The made-up distributions and the cards that pin them."""

    net, extra, pictures, wheel_name = NET, EXTRA, PICTURES, TOY_NAME
    wheel_bytes, sdist_bytes = TOY, SDIST
    wheel_of = staticmethod(wheel)
    sdist_of = staticmethod(sdist)
    wheel_file = Distribution("toy", "1.0", TOY_NAME, sha256(TOY), len(TOY))
    sdist_file = Distribution("toysdist", "1.0", SDIST_NAME, sha256(SDIST), len(SDIST))

    @staticmethod
    def member(path: str, data: bytes) -> Member:
        return Member(path, sha256(data), len(data))

    @staticmethod
    def card(card_id: str, distribution: Distribution | None, *members: Member) -> Card:
        return Card(card_id, "data", "toy", "MIT", "made up", "open", "", members, distribution)

    def table(self, distribution: Distribution | None = None) -> dict[str, Card]:
        file = distribution or self.wheel_file
        pictures = Member("toy/faces/*.pgm", sha256(TREE.encode()), sum(map(len, PICTURES.values())))
        entries = [
            self.card("toy.net", file, self.member("toy/net.bin", NET)),
            self.card("toy.extra", file, self.member("toy/extra.bin", EXTRA)),
            self.card("toy.faces", file, pictures),
            self.card("toy.sdist", self.sdist_file, self.member("toysdist-1.0/net.pt", EXTRA)),
        ]
        return {entry.id: entry for entry in entries}

    def pinned_wheel(self, files: dict[str, bytes]) -> tuple[bytes, Distribution]:
        """A wheel of that content and the distribution that pins it."""
        data = wheel(files)
        return data, Distribution("toy", "1.0", TOY_NAME, sha256(data), len(data))


@pytest.fixture
def toys() -> Toys:
    return Toys()


@dataclass
class LocalIndex:
    """What the server offers, how it misbehaves, and what it was asked."""

    files: dict[str, bytes]
    url: str = ""
    publish_hashes: bool = True
    understands_range: bool = True
    cut_after: list[int] = field(default_factory=list)  # bytes after which the next answers break off
    chunk_seconds: float = 0.0
    password: str | None = None
    downloads: list[str | None] = field(default_factory=list)  # the Range header of each file request


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    index: LocalIndex

    def do_GET(self) -> None:
        expected = self.index.password and "Basic " + base64.b64encode(self.index.password.encode()).decode()
        if expected and self.headers.get("Authorization") != expected:
            return self._send(401, b"who are you")
        parts = self.path.strip("/").split("/")
        if parts[0] == "simple":
            return self._page(parts[1])
        return self._file(parts[-1])

    def _page(self, project: str) -> None:
        names = [name for name in self.index.files if name.split("-")[0] == project]
        if not names:
            return self._send(404, b"no such project")
        mark = {
            n: f"#sha256={sha256(self.index.files[n])}" if self.index.publish_hashes else "" for n in names
        }
        body = "".join(f'<a href="/files/{n}{mark[n]}" data-requires-python="&lt;3">{n}</a>' for n in names)
        return self._send(200, f"<!DOCTYPE html><html><body>{body}</body></html>".encode())

    def _file(self, name: str) -> None:
        data = self.index.files[name]
        asked = self.headers.get("Range")
        self.index.downloads.append(asked)
        start = int(asked.removeprefix("bytes=").rstrip("-")) if asked and self.index.understands_range else 0
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        self.send_header("Content-Type", "application/octet-stream")
        self.send_header("Content-Length", str(len(data) - start))
        self.end_headers()
        end = start + self.index.cut_after.pop(0) if self.index.cut_after else len(data)
        for position in range(start, min(end, len(data)), 1 << 16):
            self.wfile.write(data[position : min(position + (1 << 16), end)])
            time.sleep(self.index.chunk_seconds)
        if end < len(data):
            self.close_connection = True

    def _send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """A client that was killed is part of the tests."""


@pytest.fixture
def pip_is_bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """No pip settings at all but the ones a test makes."""
    for name in list(os.environ):
        if name.startswith(("PIP_", "FACEVEIL_OFF")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)


@pytest.fixture
def index(pip_is_bare: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalIndex]:
    """A PEP 503 index that serves the toy distributions, and is pip's only index."""
    offered = LocalIndex({TOY_NAME: TOY, SDIST_NAME: SDIST})
    handler = type("Handler", (_Handler,), {"index": offered})
    server = _Server(("127.0.0.1", 0), handler)
    offered.url = f"http://127.0.0.1:{server.server_port}/simple"
    monkeypatch.setenv("PIP_INDEX_URL", offered.url)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield offered
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"
