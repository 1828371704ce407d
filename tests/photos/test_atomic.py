"""A written photo is there as a whole or not at all: killed processes, full disks, existing files."""

import os
import random
import shutil
import subprocess
import sys
import time

import numpy as np
import pytest

from faceveil.errors import OutputError
from faceveil.photos import Photo, decode_photo, read_photo, remove_leftovers, write_bytes, write_photo

PHOTO = Photo(np.random.default_rng(3).integers(0, 256, (300, 400, 3), dtype=np.uint8))

WRITE_FOR_EVER = """
import sys
from pathlib import Path
import numpy as np
from faceveil.photos import Photo, write_photo
folder, kind = Path(sys.argv[1]), sys.argv[2]
photo = Photo(np.random.default_rng(3).integers(0, 256, (300, 400, 3), dtype=np.uint8))
print("ready", flush=True)
number = 0
while True:
    if kind == "same":
        write_photo(photo, folder / "photo.png", overwrite=True)
    else:
        write_photo(photo, folder / f"{number}.png")
    number += 1
"""


@pytest.mark.parametrize("kind", ["same", "new"])
def test_a_killed_writer_leaves_no_half_photo(tmp_path, kind):
    pauses = random.Random(11)
    written = 0
    for round_number in range(3):
        folder = tmp_path / str(round_number)
        folder.mkdir()
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITE_FOR_EVER, str(folder), kind], stdout=subprocess.PIPE, text=True
        )
        assert writer.stdout is not None and writer.stdout.readline() == "ready\n"
        time.sleep(pauses.uniform(0.02, 0.3))
        writer.kill()
        writer.wait()
        writer.stdout.close()
        for path in folder.glob("[!.]*"):
            assert np.array_equal(read_photo(path).pixels, PHOTO.pixels)
            written += 1
        remove_leftovers(folder)
        assert not list(folder.glob(".*"))
    assert written > 0


def test_a_limit_on_file_size_leaves_nothing_behind(tmp_path):
    resource = pytest.importorskip("resource")
    code = (
        "import sys, resource; from pathlib import Path; from faceveil.errors import OutputError\n"
        "from faceveil.photos import write_bytes\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))\n"
        "try: write_bytes(bytes(20000), Path(sys.argv[1]))\n"
        "except OutputError as error: print(error)\n"
    )
    assert resource.RLIMIT_FSIZE is not None
    result = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "photo.png")], capture_output=True, text=True, check=True
    )
    assert "no file of this size" in result.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def tiny_disk(tmp_path):
    """A file system of 64 KiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = shutil.which("mount")
    command = [str(mount), "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    if not mount or os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small file system needs root")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_is_told_and_leaves_what_was_there(tiny_disk):
    small = Photo(PHOTO.pixels[:20, :20])
    write_photo(small, tiny_disk / "photo.png")
    for path, overwrite in ((tiny_disk / "other.png", False), (tiny_disk / "photo.png", True)):
        with pytest.raises(OutputError, match="the disk is full"):
            write_photo(PHOTO, path, overwrite=overwrite)
    assert [path.name for path in tiny_disk.iterdir()] == ["photo.png"]
    assert np.array_equal(read_photo(tiny_disk / "photo.png").pixels, small.pixels)


def test_an_existing_file_is_not_overwritten_unless_told(tmp_path):
    path = tmp_path / "photo.png"
    path.write_bytes(b"mine")
    with pytest.raises(OutputError, match="exists and is not overwritten"):
        write_photo(PHOTO, path)
    assert path.read_bytes() == b"mine"
    write_photo(PHOTO, path, overwrite=True)
    assert np.array_equal(read_photo(path).pixels, PHOTO.pixels)
    assert [entry.name for entry in tmp_path.iterdir()] == ["photo.png"]


def test_a_dangling_link_is_not_written_through(tmp_path):
    (tmp_path / "photo.png").symlink_to(tmp_path / "elsewhere.png")
    with pytest.raises(OutputError, match="exists"):
        write_photo(PHOTO, tmp_path / "photo.png")
    assert not (tmp_path / "elsewhere.png").exists()


def test_two_writers_of_one_name_make_one_file_and_one_error(tmp_path, monkeypatch):
    path = tmp_path / "photo.png"
    monkeypatch.setattr(os.path, "lexists", lambda _: False)  # both looked before either wrote
    write_bytes(b"first", path)
    with pytest.raises(OutputError, match="exists"):
        write_bytes(b"second", path)
    assert path.read_bytes() == b"first"


def test_staging_keeps_unfinished_files_out_of_the_output_folder(tmp_path):
    (tmp_path / "out").mkdir()
    with pytest.raises(OutputError, match="the folder does not exist"):
        write_photo(PHOTO, tmp_path / "out" / "photo.png", staging=tmp_path / "staging")
    (tmp_path / "staging").mkdir()
    write_photo(PHOTO, tmp_path / "out" / "photo.png", staging=tmp_path / "staging")
    assert list((tmp_path / "staging").iterdir()) == []
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["photo.png"]


def test_a_missing_folder_and_a_file_in_the_way_are_told(tmp_path):
    with pytest.raises(OutputError, match="the folder does not exist"):
        write_photo(PHOTO, tmp_path / "no" / "photo.png")
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(OutputError, match="a part of the path is a file"):
        write_photo(PHOTO, tmp_path / "file" / "photo.png")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_is_told(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(OutputError, match="does not let you write"):
        write_photo(PHOTO, tmp_path / "photo.png")


def test_new_files_have_ordinary_permissions(tmp_path):
    write_photo(PHOTO, tmp_path / "photo.png")
    (tmp_path / "plain").write_bytes(b"")
    assert (tmp_path / "photo.png").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_the_bytes_written_are_the_bytes_encoded(tmp_path):
    write_photo(PHOTO, tmp_path / "photo.png")
    assert np.array_equal(decode_photo((tmp_path / "photo.png").read_bytes()).pixels, PHOTO.pixels)
