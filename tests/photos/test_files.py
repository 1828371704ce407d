"""Only regular files are opened: nothing waits for a pipe's writer or reads a device that never ends."""

import os
from pathlib import Path

import pytest

from faceveil.photos import open_regular


def test_a_regular_file_is_opened(tmp_path):
    (tmp_path / "file").write_bytes(b"content")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    for name in ("file", "link"):
        with open_regular(tmp_path / name) as file:
            assert file.read() == b"content"
    with pytest.raises(OSError, match="a link"):
        open_regular(tmp_path / "link", follow=False)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_folders_pipes_and_devices_are_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/dev/zero")
    for path, word in [(tmp_path, "a folder"), (tmp_path / "pipe", "a pipe"), (tmp_path / "link", "device")]:
        with pytest.raises(OSError, match=word):
            open_regular(path)
    with pytest.raises(FileNotFoundError):
        open_regular(Path("nowhere"))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_file_that_becomes_a_pipe_before_it_is_opened_is_refused(tmp_path, monkeypatch):
    (tmp_path / "file").write_bytes(b"content")
    os.mkfifo(tmp_path / "pipe")
    before = (tmp_path / "file").stat()
    monkeypatch.setattr(os, "stat", lambda *_, **__: before)
    with pytest.raises(OSError, match="a pipe"):
        open_regular(tmp_path / "pipe")
