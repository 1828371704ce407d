"""k-same with neighbours from a gallery, from the command line: a face for each, and nothing claimed."""

import json
import shutil

import numpy as np
import pytest
from typer.testing import CliRunner

from faceveil.cli import app
from faceveil.errors import UsageError
from faceveil.methods import method
from faceveil.photos import read_photo
from faceveil.privacy.verify import verify


@pytest.fixture
def gallery(tmp_path, examples):
    """Three people who are not in the photos, in a folder of its own."""
    folder = tmp_path / "the-others"
    folder.mkdir()
    for number in (4, 5, 6):
        shutil.copy(examples / f"portrait-{number}.jpg", folder / f"{number}.jpg")
    return folder


def command(*arguments):
    given = [str(argument) for argument in arguments]
    return CliRunner().invoke(app, ["anonymize", *given, "--engine", "serial"])


def test_the_output_says_that_neighbours_come_from_a_gallery_and_nothing_is_claimed(
    crowd, gallery, tmp_path, temporary
):
    out = tmp_path / "out"
    done = command(
        crowd / "sub" / "two.png", "-o", out, "--method", "k-same-eigen", "-k", 2, "--gallery", gallery
    )
    assert done.exit_code == 0, done.output
    assert "No guarantee" in done.output and "not a claim" in done.output and "no groups" in done.output
    assert "k-anonymity" not in done.output and "faceveil verify" not in done.output
    record = json.loads((out / "run.json").read_text())
    assert record["parameters"] == {"k": 2, "neighbours": "gallery"} and record["released"]["k"] is None
    assert record["guarantee"].startswith("No guarantee") and gallery.name not in json.dumps(record)
    assert list(temporary.iterdir()) == []
    verdict = verify(out)
    assert verdict.holds and verdict.k is None and verdict.kind == "files"


def test_a_gallery_of_k_people_gives_everybody_their_mean(crowd, gallery, tmp_path):
    """With as many neighbours as the gallery has people, there is but one face."""
    out = tmp_path / "out"
    done = command(
        crowd / "sub" / "two.png", "-o", out, "--method", "k-same-pixel", "-k", 3, "--gallery", gallery,
        "--release", "crops",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    files = sorted(out.glob("group-*/*.png"))
    assert len(files) == 2 and len({file.read_bytes() for file in files}) == 1
    from faceveil.faces import align_ffhq, find_faces

    photos = [read_photo(path).pixels for path in sorted(gallery.iterdir())]
    people = [align_ffhq(find_faces(photo)[0], 256).crop(photo).astype(float) for photo in photos]
    assert np.abs(read_photo(files[0]).pixels - np.mean(people, axis=0)).mean() < 1


def test_a_gallery_with_too_few_people_is_refused_before_the_photos_are_looked_at(
    crowd, gallery, tmp_path, temporary
):
    done = command(crowd, "-o", tmp_path / "out", "--method", "k-same-pixel", "-k", 4, "--gallery", gallery)
    assert isinstance(done.exception, UsageError) and "gallery of 4 people" in str(done.exception)
    assert list(temporary.iterdir()) == [] and list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"gallery": "nowhere"}, "folder of photos"),
        ({"gallery": ".", "grouper": "best"}, "leave --grouper or --gallery out"),
    ],
)
def test_a_gallery_that_cannot_serve_is_refused(options, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    from pathlib import Path

    with pytest.raises(UsageError, match=words):
        method("k-same-m", **{**options, "gallery": Path(options["gallery"])})
