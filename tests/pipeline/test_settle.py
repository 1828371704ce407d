"""A run asks of its own release what `verify` will ask, before it says that it is one."""

import hashlib
import shutil
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image
from tests.pipeline.pixel_mean import PixelMean

from faceveil import Settings, anonymize
from faceveil.photos import Photo, read_photo, write_photo
from faceveil.pipeline import subjects
from faceveil.pipeline.engines import serial
from faceveil.pipeline.watched import AT_RISK
from faceveil.privacy import examine
from faceveil.privacy.examine import Terms
from faceveil.privacy.verify import verify
from faceveil.privacy.watch import Watch

K2 = Settings(method=PixelMean(k=2), seed=7, subjects="each", paste="identical")
pytestmark = pytest.mark.usefixtures("temporary")


@pytest.fixture(scope="module")
def three_and_a_coarse_one(examples: Path, tmp_path_factory) -> Path:
    """Three people, and a small face in a JPEG so coarse that what is put in there is spoilt."""
    folder = tmp_path_factory.mktemp("coarse")
    people = [read_photo(examples / f"portrait-{number}.jpg").pixels for number in (1, 2, 3, 6)]
    for number, person in enumerate(people[:3]):
        small = cv2.resize(person, (160, 160), interpolation=cv2.INTER_AREA)
        write_photo(Photo(small), folder / f"{number}.png")
    canvas = np.full((192, 192, 3), 120, np.uint8)
    canvas[60:108, 60:108] = cv2.resize(people[3], (48, 48), interpolation=cv2.INTER_AREA)
    Image.fromarray(canvas).save(folder / "coarse.jpg", quality=8, subsampling=2)
    return folder


def test_a_face_that_would_not_hold_is_withheld_and_the_rest_holds(three_and_a_coarse_one, tmp_path):
    """It differs from the others of its group by more than is allowed, which only shows in the file."""
    out = tmp_path / "out"
    summary = anonymize(three_and_a_coarse_one, out, settings=K2, engine=serial)
    assert [outcome.name for outcome in summary.quarantined] == ["coarse.jpg"]
    assert "would not hold: a face differs" in summary.quarantined[0].reason
    assert not (out / "coarse.jpg").exists() and summary.exit_code == 3
    verdict = verify(out)
    assert verdict.holds and verdict.faces == verdict.files == 3


def test_a_photo_is_examined_as_it_is_published(three_and_a_coarse_one, tmp_path, monkeypatch):
    seen, find = set(), examine.find_in_photo

    def spy(photo, *rest, **options):
        seen.add(hashlib.sha256(photo.pixels.tobytes()).digest())
        return find(photo, *rest, **options)

    monkeypatch.setattr(examine, "find_in_photo", spy)
    photo = tmp_path / "photos"
    photo.mkdir()
    for number in range(3):
        pixels = read_photo(three_and_a_coarse_one / f"{number}.png").pixels
        Image.fromarray(pixels).save(photo / f"{number}.jpg", quality=40)
    anonymize(photo, tmp_path / "out", settings=K2, engine=serial)
    written = [read_photo(path).pixels for path in (tmp_path / "out").glob("*.jpg")]
    assert {hashlib.sha256(pixels.tobytes()).digest() for pixels in written} == seen and len(seen) == 3


def test_people_are_counted_again_before_anything_is_claimed(three_and_a_coarse_one, tmp_path, monkeypatch):
    """A run that took one folder's photos for three people would publish a claim that its files disprove."""
    monkeypatch.setattr(subjects, "numbered", lambda labels: np.arange(len(labels)))
    out, wrong = tmp_path / "out", replace(K2, subjects="folder")
    summary = anonymize(three_and_a_coarse_one, out, settings=wrong, engine=serial)
    assert len(summary.quarantined) == 4 and "the files show 1" in summary.quarantined[0].reason
    assert verify(out).holds and verify(out).faces == 0


def test_a_file_that_is_not_the_one_the_journal_tells_of_is_made_again(three_and_a_coarse_one, tmp_path):
    """As when a run is killed between writing a photo anew and noting it."""

    def dying(work, items):
        for number, item in enumerate(items):
            if work.func.__name__ == "replace_in_photo" and number == 2:
                raise KeyboardInterrupt
            yield work(item)

    out = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        anonymize(three_and_a_coarse_one, out, settings=K2, engine=dying)
    shutil.copy(three_and_a_coarse_one / "0.png", out / "0.png")
    anonymize(three_and_a_coarse_one, out, settings=K2, engine=serial, resume=True)
    assert verify(out).holds and verify(out).files == 3


class WatchedMean(PixelMean):
    """The mean of two faces, which recognisers know both in; it says that nobody is recognised."""

    @property
    def watch(self) -> Watch:
        return Watch(("mobilenet.facelib",))

    def for_photos(self, paste: str) -> PixelMean:
        return self


def test_photos_in_which_a_new_face_is_recognised_are_withheld_and_counted(three_and_a_coarse_one, tmp_path):
    out, photos = tmp_path / "out", tmp_path / "photos"
    shutil.copytree(three_and_a_coarse_one, photos, ignore=shutil.ignore_patterns("coarse*"))
    summary = anonymize(photos, out, settings=replace(K2, method=WatchedMean(k=2)), engine=serial)
    at_risk = [outcome.name for outcome in summary.quarantined if outcome.reason == AT_RISK]
    assert len(at_risk) >= 2 and not any((out / name).exists() for name in at_risk)
    assert summary.result.figures["photos_withheld_at_risk"] == len(at_risk)
    assert any(note.startswith(f"{len(at_risk)} photos are withheld") for note in summary.result.notes)
    assert verify(out).holds


def test_nothing_is_put_into_photos_where_crops_are_released_and_other_files_there_are_told(
    three_and_a_coarse_one, tmp_path
):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "notes.txt").write_text("of somebody else")
    crops = replace(K2, method=WatchedMean(k=2), release="crops")
    summary = anonymize(three_and_a_coarse_one, tmp_path / "out", settings=crops, engine=serial)
    assert summary.exit_code == 0 and any("1 files in" in note for note in summary.result.notes)
    assert [finding.where for finding in verify(tmp_path / "out").findings] == ["notes.txt"]


def test_members_and_the_rest_are_watched_at_thresholds_of_their_own():
    name = "mobilefacenet.facesdk"
    known = np.zeros((4, 128), np.float32)
    known[:3, 0] = 1  # two members and another, the same as the new face; the fourth could not be measured
    known[1] = 0
    known[1, 1] = 1
    known[3] = np.nan
    members = np.array([True, True, False, True])
    seen = {name: np.eye(1, 128, dtype=np.float32)}
    margins = Watch((name,)).margins(seen, {name: known}, members)
    assert (margins < 0).tolist() == [True, False, False, False] and np.isinf(margins[2:]).all()
    all_watched = Watch((name,), everyone=True).margins(seen, {name: known}, members)
    assert (all_watched < 0).tolist() == [True, False, True, False]
    assert Watch(()).margins({}, {}, members).tolist() == [np.inf] * 4


def test_the_detector_of_the_run_looks_at_its_release_besides_the_two_that_always_do():
    assert Terms.of({"detector": "haar"}).detectors == ("yunet", "blazeface", "haar")
    assert Terms.of(Settings(method=PixelMean()).describe()).detectors == ("yunet", "blazeface")
