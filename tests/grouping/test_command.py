"""faceveil group on the command line."""

import csv
import json
import os
import zipfile
from pathlib import Path

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


def make_odd_files():
    """Files that no command should wait for, die of, or fill the memory with."""
    header = {"descr": "<f8", "fortran_order": False, "shape": (10**9, 960)}  # 7 TiB
    with Path("giant.npy").open("wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
    with zipfile.ZipFile("giant.npz", "w") as archive:
        archive.write("giant.npy", "vectors.npy")
    Path("damaged.npz").write_bytes(Path("giant.npz").read_bytes()[:-20])
    Path("latin.csv").write_bytes("größe\n1\n".encode("latin-1"))
    Path("wide.csv").write_text("a\n" + "1" * 200_000)
    if hasattr(os, "mkfifo"):
        os.mkfifo("pipe.csv")
    else:
        Path("pipe.csv").mkdir()
    huge = np.random.default_rng(0).normal(size=(20, 4))
    huge[3, 1] = 1e155
    np.save("huge.npy", huge)


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
        (["vectors.npy", "-k", 2, "-o", "people.csv"], "exists"),
        (["vectors.npy", "-k", 2, "-o", "vectors.npy", "--overwrite"], "is read itself"),
        (["vectors.npy", "-k", 2, "-o", "new.csv", "--report", "./new.csv"], "another output"),
        (["giant.npy", "-k", 2], "giant.npy cannot be read"),
        (["giant.npz", "-k", 2], "more than fits in memory|cannot be read"),
        (["damaged.npz", "-k", 2], "damaged.npz cannot be read"),
        (["latin.csv", "-k", 2], "not in UTF-8"),
        (["wide.csv", "-k", 2], "cannot be read as a CSV"),
        (["pipe.csv", "-k", 2], "pipe or device"),
        (["vectors.npy", "-k", 2, "--subjects", "pipe.csv"], "pipe or device"),
        (["huge.npy", "-k", 2], "row 3 holds 1e\\+155"),
    ],
)
def test_what_is_wrong_is_said(here, monkeypatch, words, message):
    monkeypatch.chdir(here)
    make_odd_files()
    with pytest.raises(FaceveilError, match=message):
        run(*words)


def test_outputs_that_exist_are_replaced_on_request(here):
    (here / "groups.csv").write_text("mine")
    run(here / "vectors.npy", "-k", 4, "-o", here / "groups.csv", "--overwrite", "--grouper", "mdav")
    assert len(read(here / "groups.csv")) == 60
