"""Results are written over nothing that is there or is read."""

import importlib.util
from pathlib import Path

import pytest
from typer.testing import CliRunner

from faceveil.cli import app
from faceveil.errors import OutputError

_spec = importlib.util.spec_from_file_location("evaluation_conftest", Path(__file__).with_name("conftest.py"))
photos = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(photos)

FAST = ("--recognizer", "mobilefacenet.facesdk", "--no-utility", "--no-restoration")


@pytest.fixture
def folders(tmp_path) -> list[str]:
    before = photos.write_set(tmp_path / "before", people=2, photos=1)
    after = photos.write_set(tmp_path / "after", photos.covered, people=2, photos=1)
    (tmp_path / "there.txt").write_text("precious")
    (tmp_path / "link").symlink_to(before)
    (tmp_path / "people.csv").write_text("photo,person\ns1/1.png,a\ns2/1.png,b\n")
    return [str(before), str(after)]


def calls(place: str) -> dict[str, list[str]]:
    return {
        "evaluate": ["--report", place],
        "evaluate ": ["--json", place],
        "certify": ["--max-risk", "0.5", "--report", place],
    }


@pytest.mark.parametrize(
    ("place", "given", "said"),
    [
        ("there.txt", [], "exists already"),
        ("before/s1/1.png", ["--overwrite"], "is read"),
        ("link/s1/new.html", ["--overwrite"], "is read"),
        ("after/page.html", [], "is read"),
        ("people.csv", ["--overwrite"], "is read"),
        ("before", ["--overwrite"], "is read"),
        ("nowhere/page.html", [], "not a folder"),
    ],
)
def test_results_go_over_nothing_that_is_there_or_is_read(place, given, said, folders, tmp_path):
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    given = [*given, "--subjects", str(tmp_path / "people.csv")]
    for command, options in calls(str(tmp_path / place)).items():
        done = CliRunner().invoke(app, [command.strip(), *folders, *options, *given])
        assert isinstance(done.exception, OutputError) and said in str(done.exception), command
    if place != "nowhere/page.html":
        done = CliRunner().invoke(
            app, ["tune", folders[0], folders[1], "--report", str(tmp_path / place), *given]
        )
        assert isinstance(done.exception, OutputError) and said in str(done.exception)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_page_and_figures_need_a_place_each_and_a_cache_stays_out_of_the_release(folders, tmp_path):
    both = ["--report", str(tmp_path / "x"), "--json", str(tmp_path / "x")]
    done = CliRunner().invoke(app, ["evaluate", *folders, *both])
    assert isinstance(done.exception, OutputError) and "two results" in str(done.exception)
    done = CliRunner().invoke(app, ["evaluate", *folders, "--cache", f"{folders[1]}/cache.sqlite"])
    assert isinstance(done.exception, OutputError) and "is read" in str(done.exception)


def test_an_older_result_is_replaced_where_that_is_asked_for(folders, tmp_path):
    call = ["evaluate", *folders, *FAST, "--json", str(tmp_path / "there.txt"), "--overwrite"]
    done = CliRunner().invoke(app, call)
    assert done.exit_code == 0, done.output
    assert (tmp_path / "there.txt").read_text().startswith("{")
