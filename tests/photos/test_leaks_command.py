"""faceveil leaks, run as a user runs it."""

import json
import os
import subprocess
import sys

import pytest


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "faceveil", "leaks", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def folder(files, tmp_path):
    (tmp_path / "clean.png").write_bytes(files.encode(files.scene(), "PNG"))
    (tmp_path / "dirty.jpg").write_bytes(files.dirty_jpeg())
    (tmp_path / "broken.jpg").write_bytes(b"no photo")
    return tmp_path


def test_a_clean_file_exits_with_0(folder):
    result = run(folder / "clean.png")
    assert (result.returncode, result.stderr) == (0, "")
    assert "nothing besides pixels" in result.stdout


def test_a_file_with_metadata_exits_with_3_and_lists_it(folder):
    result = run(folder / "clean.png", folder / "dirty.jpg")
    assert result.returncode == 3
    assert "gps" in result.stdout and "thumbnail" in result.stdout and "Ada Example" in result.stdout


def test_an_unreadable_file_exits_with_1_and_the_others_go_on(folder):
    result = run(folder)
    assert result.returncode == 1
    assert "broken.jpg" in result.stderr and "dirty.jpg" in result.stdout


def test_json_holds_the_same(folder):
    result = run("--json", folder)
    report = json.loads(result.stdout)
    by_name = {entry["file"].rsplit("/", 1)[-1]: entry for entry in report["files"]}
    assert by_name["clean.png"]["leaks"] == []
    assert {"kind", "name", "size", "description"} == set(by_name["dirty.jpg"]["leaks"][0])
    assert "not a picture" in by_name["broken.jpg"]["error"]


def test_a_missing_file_is_wrong_usage(folder):
    assert run(folder / "nothing.jpg").returncode == 2


def test_files_of_one_name_in_two_folders_are_both_scanned(folder):
    (folder / "sub").mkdir()
    (folder / "sub" / "clean.png").write_bytes((folder / "dirty.jpg").read_bytes())
    result = run(folder / "clean.png", folder / "sub" / "clean.png")
    assert result.returncode == 3 and result.stdout.count("clean.png:") == 2


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
@pytest.mark.parametrize("option", [[], ["--json"]])
def test_a_file_name_that_is_no_text_is_printed(folder, option):
    strange = os.fsdecode(bytes(folder) + b"/photo-\xff.png")
    (folder / "clean.png").rename(strange)
    result = run(*option, strange)
    assert result.returncode == 0 and "photo-" in result.stdout


def test_help_states_the_exit_codes():
    assert "0 nothing found, 3 something found, 1 a file could not be read" in " ".join(
        run("--help").stdout.split()
    )
