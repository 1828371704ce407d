"""Files of latents, and the commands that write and read them."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from faceveil.cli import app
from faceveil.errors import OutputError, UsageError
from faceveil.models.latents import Latents, read_latents
from faceveil.photos import read_photo

run = CliRunner().invoke


def latents(names: list[str]) -> Latents:
    count = len(names)
    codes = np.random.default_rng(0).standard_normal((count, 23, 512), np.float32)
    return Latents(codes, tuple(names), np.arange(count, dtype=np.float32))


part = st.text(
    st.characters(exclude_characters="/\\:\0", exclude_categories=["C", "Z"]), min_size=1, max_size=6
)
names = st.lists(st.lists(part.filter(lambda p: p not in (".", "..")), min_size=1, max_size=3).map("/".join))


@settings(max_examples=30, deadline=None)
@given(names=names.map(lambda all_: list(dict.fromkeys(all_))[:4]))
def test_what_is_written_is_read_again(tmp_path_factory, names: list[str]) -> None:
    path = tmp_path_factory.mktemp("latents") / "x.npz"
    written = latents(names)
    path.write_bytes(written.to_bytes())
    read = read_latents(path)
    assert read.names == written.names
    assert (read.latents == written.latents).all() and (read.errors == written.errors).all()


@pytest.mark.parametrize("name", ["../up", "/etc/x", "a/../../b", "", "C:x", "a\\b", "."])
def test_a_name_that_would_leave_the_output_folder_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="name"):
        latents([name])


def test_the_same_name_twice_is_refused() -> None:
    with pytest.raises(UsageError, match="unique"):
        latents(["anna", "anna"])


def test_codes_that_are_not_finite_are_refused() -> None:
    with pytest.raises(UsageError, match="finite"):
        Latents(np.full((1, 23, 512), np.nan, np.float32), ("a",), np.zeros(1, np.float32))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_or_a_damaged_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.npz")
    (tmp_path / "damaged.npz").write_bytes(b"PK\x03\x04 and no more")
    for name, word in [("pipe.npz", "a folder, pipe or device"), ("damaged.npz", "not a file of latents")]:
        with pytest.raises(UsageError, match=word):
            read_latents(tmp_path / name)


def test_a_file_that_wants_to_run_code_is_not_run(tmp_path: Path) -> None:
    class Hostile:
        def __reduce__(self):
            return (Path.touch, (tmp_path / "ran",))

    np.savez(tmp_path / "x.npz", latents=np.array([Hostile()], dtype=object), names=["a"], errors=[0.0])
    with pytest.raises(UsageError, match="not a file of latents"):
        read_latents(tmp_path / "x.npz")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04broken", b"text", None])
def test_another_file_is_refused_by_name(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "x.npz"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UsageError, match=r"x\.npz"):
        read_latents(path)


def test_sample_writes_faces_that_render_gives_again(tmp_path: Path) -> None:
    codes = tmp_path / "codes.npz"
    sample = ["sample", "3", "--size", "64", "--seed", "4", "--latents", str(codes), "--json", "-o"]
    done = run(app, [*sample, str(tmp_path / "one")], catch_exceptions=False)
    files = [Path(file) for file in json.loads(done.stdout)["files"]]
    assert [file.name for file in files] == ["face-0000.png", "face-0001.png", "face-0002.png"]
    run(app, ["render", str(codes), "--size", "64", "-o", str(tmp_path / "two")], catch_exceptions=False)
    for file in files:
        photo = read_photo(file)
        assert photo.size_wh == (64, 64)
        assert (photo.pixels == read_photo(tmp_path / "two" / file.name).pixels).all()


def test_without_a_seed_every_run_draws_other_faces(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        run(app, ["sample", "1", "--size", "64", "-o", str(tmp_path / folder)], catch_exceptions=False)
    one, two = (read_photo(tmp_path / folder / "face-0000.png").pixels for folder in ("one", "two"))
    assert (one != two).any()


def test_files_that_exist_stop_the_run_before_it_renders(tmp_path: Path) -> None:
    (tmp_path / "face-0001.png").write_bytes(b"mine")
    with pytest.raises(OutputError, match="exists"):
        sample = [
            "sample",
            "2",
            "--size",
            "64",
            "--latents",
            str(tmp_path / "codes.npz"),
            "-o",
            str(tmp_path),
        ]
        run(app, sample, catch_exceptions=False)
    assert (tmp_path / "face-0001.png").read_bytes() == b"mine"
    assert [file.name for file in tmp_path.iterdir()] == ["face-0001.png"]


def test_a_wrong_size_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="64, 128, 256, 512, 1024"):
        run(app, ["sample", "1", "--size", "300", "-o", str(tmp_path)], catch_exceptions=False)
