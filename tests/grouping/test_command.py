"""faceveil group on the command line."""

import csv
import json

import numpy as np
import pytest
from typer.testing import CliRunner

from faceveil.cli import app
from faceveil.errors import FaceveilError


@pytest.fixture
def here(tmp_path, rng):
    np.save(tmp_path / "vectors.npy", rng.normal(size=(60, 5)))
    people = "photo,person\n" + "".join(f"{i},p{i // 2}\n" for i in range(60))
    (tmp_path / "people.csv").write_text(people)
    (tmp_path / "attributes.csv").write_text("sex\n" + "".join(f"{'fm'[i % 7 == 0]}\n" for i in range(60)))
    (tmp_path / "table.csv").write_text(
        "ID,ZIP-CODE,AGE,GENDER,DISEASE\nt1,0123,22,FEMALE,CANCER\nt2,0124,24,MALE,FLU\nt3,0125,26,MALE,AIDS\n"
        "t4,1220,31,MALE,COLD\nt5,1221,39,MALE,FLU\n"
    )
    return tmp_path


def run(*words):
    result = CliRunner().invoke(app, ["group", *map(str, words)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def read(path):
    with path.open(newline="") as lines:
        return list(csv.DictReader(lines))


def test_vectors_become_a_file_of_groups_and_a_page(here):
    run(here / "vectors.npy", "-k", 4, "-o", here / "groups.csv", "--seed", 7, "--report", here / "page.html")
    rows = read(here / "groups.csv")
    assert [row["row"] for row in rows] == [str(i) for i in range(60)]
    assert np.bincount([int(row["group"]) for row in rows]).min() >= 4
    assert "60 vectors in" in (here / "page.html").read_text()


def test_figures_come_as_json(here):
    figures = json.loads(run(here / "vectors.npy", "-k", 4, "--grouper", "mdav", "--json").stdout)
    assert figures["grouper"] == "mdav"
    assert figures["smallest"] >= 4
    assert figures["information_loss"] > 0


def test_subjects_and_criteria_are_read_from_files(here):
    words = [
        "--subjects",
        here / "people.csv",
        "--attributes",
        here / "attributes.csv",
        "--l-diversity",
        "sex=2",
    ]
    figures = json.loads(run(here / "vectors.npy", "-k", 4, *words, "--seed", 1, "--json").stdout)
    assert figures["people"] == 30
    assert "holds" in figures["criteria"][0]
    assert "information loss" in figures["price"]


def test_a_table_is_grouped_and_unified(here):
    run(here / "table.csv", "-k", 2, "--columns", "ZIP-CODE,AGE,GENDER", "--unified", here / "out.csv")
    assert [row["ZIP-CODE"] for row in read(here / "out.csv")] == ["012*"] * 3 + ["122*"] * 2
    assert [row["AGE"] for row in read(here / "out.csv")] == ["24"] * 3 + ["35"] * 2


def test_what_a_grouper_takes_can_be_set(here):
    figures = run(here / "vectors.npy", "-k", 4, "--grouper", "hierarchical", "--set", "linkage=average")
    assert "hierarchical" in figures.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["vectors.npy", "-k", 99], "show 60"),
        (["vectors.npy", "-k", 2, "--grouper", "no"], "No grouper is called"),
        (["vectors.npy", "-k", 2, "--set", "effort"], "name=value"),
        (["vectors.npy", "-k", 2, "--unified", "u.csv"], "--columns"),
        (["vectors.npy", "-k", 2, "--l-diversity", "sex=2"], "--attributes"),
        (["table.csv", "-k", 2], "not a number"),
        (["table.csv", "-k", 2, "--columns", "NAME"], "no column"),
        (["missing.npy", "-k", 2], "cannot be read"),
        (["people.txt", "-k", 2], "npy, .npz or .csv"),
        (["vectors.npy", "-k", 2, "-o", "nowhere/groups.csv"], "cannot be written"),
    ],
)
def test_what_is_wrong_is_said(here, monkeypatch, words, message):
    monkeypatch.chdir(here)
    with pytest.raises(FaceveilError, match=message):
        run(*words)
