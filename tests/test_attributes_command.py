"""faceveil attributes: what is printed, and the exit code."""

import json

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from faceveil.cli import app
from faceveil.models.attrnet import AttrNet


@pytest.fixture
def run():
    return lambda *words: CliRunner().invoke(app, ["attributes", *map(str, words)])


@pytest.fixture
def landscape(tmp_path):
    path = tmp_path / "landscape.png"
    Image.fromarray(np.full((120, 160, 3), [120, 160, 90], np.uint8)).save(path)
    return path


def test_a_face_is_told_as_json(run, examples) -> None:
    told = run(examples / "portrait-1.jpg", "--json")
    assert told.exit_code == 0
    result = json.loads(told.stdout)
    (face,) = result["photos"][0]["faces"]
    assert tuple(face["labels"]) == tuple(result["labels"]) == AttrNet().labels
    assert all(0 <= value <= 1 for value in face["labels"].values())
    assert 0 < face["age"] < 100 and 0 <= face["female"] <= 1
    assert max(face["expressions"], key=face["expressions"].get) == face["expression"]
    assert all(abs(face["pose"][axis]) < 30 for axis in ("yaw", "pitch", "roll"))
    assert len(face["blendshapes"]) == 52 and all(0 <= value <= 1 for value in face["blendshapes"].values())
    assert face["blendshapes"]["mouthSmileLeft"] > 0.5
    x0, y0, x1, y1 = face["box_xyxy"]
    assert 0 < x1 - x0 < 512 and 0 < y1 - y0 < 512


def test_a_pipe_gets_one_line_per_face(run, examples) -> None:
    told = run(examples / "portrait-1.jpg", examples / "portrait-2.jpg")
    assert told.exit_code == 0
    lines = [line.split("\t") for line in told.stdout.splitlines()]
    assert lines[0][:5] == ["photo", "face", "age", "gender seen", "expression"]
    assert lines[0][-1] == "does" and "mouthSmileLeft 0.9" in lines[1][-1]
    assert [line[0].rsplit("/", 1)[1] for line in lines[1:]] == ["portrait-1.jpg", "portrait-2.jpg"]


def test_a_photo_without_a_face_is_said_and_the_others_are_read(run, examples, landscape) -> None:
    told = run(landscape, examples / "portrait-1.jpg")
    assert told.exit_code == 3
    assert f"no face: {landscape}" in told.stderr
    assert "portrait-1.jpg" in told.stdout


def test_a_broken_photo_is_said_and_the_others_are_read(run, examples, tmp_path) -> None:
    (tmp_path / "broken.jpg").write_bytes(b"\xff\xd8\xff\xe0 cut off")
    told = run(tmp_path / "broken.jpg", examples / "portrait-1.jpg", "--json")
    assert told.exit_code == 1
    first, second = json.loads(told.stdout)["photos"]
    assert "broken.jpg" in first["file"] and first["error"] and len(second["faces"]) == 1


def test_a_file_that_is_not_there_is_wrong_usage(run) -> None:
    assert run("nowhere.jpg").exception is not None
