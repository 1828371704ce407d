"""Original faces that a release shows under any name, and released files that nobody can judge, fail the gate."""

import importlib.util
import json
import os
from pathlib import Path

import cv2
import numpy as np
import pytest
from typer.testing import CliRunner

from faceveil.cli import app
from faceveil.evaluation import Options, certify, evaluate
from faceveil.report import page

_spec = importlib.util.spec_from_file_location("evaluation_conftest", Path(__file__).with_name("conftest.py"))
photos = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(photos)

PEOPLE = 10
NAMES = [f"s{person}/1.png" for person in range(1, PEOPLE + 1)]


@pytest.fixture(scope="module")
def before(tmp_path_factory) -> Path:
    return photos.write_set(tmp_path_factory.mktemp("before"), people=PEOPLE, photos=1)


@pytest.fixture
def after(tmp_path) -> Path:
    return photos.write_set(tmp_path / "after", photos.covered, people=PEOPLE, photos=1)


@pytest.fixture
def judged(before, cache_file):
    options = Options(subjects="folder", cache=cache_file, utility=False, restoration=False)
    return lambda after: evaluate(before, after, options)


def raw(person: int) -> np.ndarray:
    return photos.orl(person, 1)


def smaller(image: np.ndarray) -> np.ndarray:
    return cv2.resize(image, None, fx=0.9, fy=0.9, interpolation=cv2.INTER_AREA)


def recompressed(image: np.ndarray) -> np.ndarray:
    return cv2.imdecode(cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, 40])[1], cv2.IMREAD_COLOR)


def elsewhere(image: np.ndarray) -> np.ndarray:
    """In a larger picture, where no original face stood: no pixels to compare, so the recognisers tell."""
    return cv2.copyMakeBorder(image, 200, 10, 10, 180, cv2.BORDER_REPLICATE)


WAYS = (  # how, and then: told by, turned, mirrored
    (lambda image: image, "pixels", 0, False),
    (lambda image: np.rot90(image), "pixels", 270, False),
    (lambda image: np.rot90(image, 2), "pixels", 180, False),
    (lambda image: np.rot90(image, 3), "pixels", 90, False),
    (lambda image: image[:, ::-1], "pixels", 0, True),
    (smaller, "pixels", 0, False),
    (recompressed, "pixels", 0, False),
    (elsewhere, "recognisers", 0, False),
    (lambda image: np.rot90(elsewhere(image)), "recognisers", 270, False),
)


def test_originals_under_others_names_are_found_however_they_are_turned(after, judged):
    for person, (change, *_) in enumerate(WAYS, start=1):
        photos.save(after / f"s{person + 1}" / "1.png", np.ascontiguousarray(change(raw(person))))
    found = judged(after)
    naive = [one.found.value for one in found.attacks if one.attack == "naive"]
    assert naive == [0, 0, 0], "the attacks go by names"
    told = {one.original: (one.released, one.person, one.by, one.turned, one.mirrored) for one in found.shown}
    assert len(found.shown) == len(WAYS)
    for person, (_, *expected) in enumerate(WAYS, start=1):
        assert told[f"s{person}/1.png"] == (f"s{person + 1}/1.png", f"s{person}", *expected)
    verdict = certify(found, 0.99)
    assert not verdict.passed and "9 released pictures show an original face" in verdict.sentence
    assert found.shown[0].sentence in verdict.sentence and "What the release holds" in page(found)
    assert json.loads(found.to_json())["shown"][0]["released"] == found.shown[0].released


def test_originals_in_added_files_and_moved_under_their_own_names_are_found(after, judged):
    added = {"more.png": 1, ".hidden.png": 2, ".folder/1.png": 3, "no suffix": 4}
    for name, person in added.items():
        photos.save(after / "new.png", raw(person))
        (after / name).parent.mkdir(exist_ok=True)
        (after / "new.png").rename(after / name)
    photos.save(after / "s5" / "1.png", np.ascontiguousarray(np.rot90(raw(5))))
    photos.save(after / "s6" / "1.png", elsewhere(raw(6)))
    photos.save(after / "s7" / "1.png", photos.orl(8, 2))  # another photo of a person
    alpha = 255 - raw(9)[..., 0]
    cv2.imwrite(str(after / "alpha.png"), np.dstack([np.zeros((*alpha.shape, 3), np.uint8), alpha]))
    photos.save(after / "stranger.png", photos.orl(30, 1))
    found = judged(after)
    expected = set(added.items())
    expected |= {("s5/1.png", 5), ("s6/1.png", 6), ("s7/1.png", 8), ("alpha.png", 9)}
    assert {(one.released, one.original) for one in found.shown} == {
        (n, f"s{person}/1.png") for n, person in expected
    }
    assert set(found.unpaired) == {*added, "alpha.png", "stranger.png"}
    verdict = certify(found, 0.99)
    assert not verdict.passed and "6 files of the release have no original" in verdict.sentence


def test_an_added_picture_fails_although_it_shows_nobody_who_is_known(after, judged):
    photos.save(after / "stranger.png", photos.orl(30, 1))
    found = judged(after)
    assert not found.shown and not certify(found, 0.99).passed


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_what_cannot_be_read_fails_and_nothing_waits_for_a_pipe_or_device(before, after, cache_file):
    for name in NAMES:
        (after / name).write_bytes(os.urandom(1000))
    (after / NAMES[1]).unlink()
    os.mkfifo(after / NAMES[1])
    (after / NAMES[2]).unlink()
    (after / NAMES[2]).symlink_to("/dev/zero")
    call = ["certify", str(before), str(after), "--max-risk", "0.99", "--subjects", "folder", "--json"]
    done = CliRunner().invoke(
        app, [*call, "--cache", str(cache_file), "--recognizer", "mobilefacenet.facesdk"]
    )
    said = json.loads(done.stdout)
    assert done.exit_code == 3 and said["passed"] is False and len(said["unreadable"]) == PEOPLE
    assert f"{PEOPLE} files of the release cannot be read" in said["reason"]


def test_a_released_photo_whose_original_cannot_be_read_fails(after, tmp_path, cache_file):
    sources = photos.write_set(tmp_path / "sources", people=PEOPLE, photos=1)
    (sources / "s2" / "1.png").write_bytes(b"junk")
    found = evaluate(
        sources, after, Options(subjects="folder", cache=cache_file, utility=False, restoration=False)
    )
    assert found.uncompared == ["s2/1.png"] and len(found.unreadable_originals) == 1
    assert "s2/1.png" in certify(found, 0.99).sentence


def test_originals_that_were_not_released_and_other_files_are_said_and_pass(after, judged):
    (after / "s2" / "1.png").unlink()
    (after / "run.json").write_text("{}")
    found = judged(after)
    verdict = certify(found, 0.9)
    assert verdict.passed and found.withheld == 1 and found.other_files == ["run.json"]
    assert f"1 of {PEOPLE} originals was not released" in verdict.sentence
    assert "1 file of the release is no picture" in verdict.sentence and "was not released" in page(found)


def test_shared_and_blurred_faces_are_no_originals(tmp_path, judged):
    """Each two people get the mean of their photos, near both and counted by the attacks already; others a blur."""

    def changed(image: np.ndarray, person: int, _: int) -> np.ndarray:
        if person > 8:
            return cv2.blur(image, (9, 9))
        other = raw(person + 1 if person % 2 else person - 1)
        return ((image.astype(np.uint16) + other) // 2).astype(np.uint8)

    found = judged(photos.write_set(tmp_path / "released", changed, PEOPLE, 1))
    assert found.exposed and not found.shown


@pytest.mark.skipif(os.name != "posix", reason="names are text on this system")
def test_names_that_are_no_utf8_are_judged_and_shown_with_escapes(tmp_path, cache_file):
    odd = os.fsdecode(b"caf\xe9\x1b[31m.png")
    for folder, change in (("before", None), ("after", photos.covered)):
        photos.write_set(tmp_path / folder, change, people=3, photos=1)
        (tmp_path / folder / "s2" / "1.png").rename(tmp_path / folder / "s2" / odd)
    photos.save(tmp_path / "after" / "s1" / "1.png", photos.orl(2, 1))
    call = ["evaluate", str(tmp_path / "before"), str(tmp_path / "after"), "--no-utility", "--no-restoration"]
    call += [
        "--report",
        str(tmp_path / "page.html"),
        "--json",
        str(tmp_path / "found.json"),
        "--cache",
        str(cache_file),
    ]
    done = CliRunner().invoke(app, call)
    assert done.exit_code == 0, done.output
    shown = json.loads((tmp_path / "found.json").read_text("utf-8"))["shown"]
    assert [(one["released"], one["original"]) for one in shown] == [("s1/1.png", "s2/caf\\xe9\\x1b[31m.png")]
    assert "caf\\xe9" in (tmp_path / "page.html").read_text("utf-8") and "\x1b" not in done.output
