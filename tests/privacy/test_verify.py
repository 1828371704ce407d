"""The verifier believes a genuine release and catches each way to break one.

Most ways are tried by somebody who knows of the hashes and rewrites those in run.json as well (`rehash`).
"""

import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from faceveil import Settings, anonymize, method
from faceveil.cli.verify import _print
from faceveil.errors import UsageError
from faceveil.faces import Face
from faceveil.faces.replace import replace_face
from faceveil.photos import Photo, read_photo, write_photo
from faceveil.privacy.examine import TOLERANCE
from faceveil.privacy.record import ReleaseRecord, name_key
from faceveil.privacy.verify import verify


def kinds(out: Path) -> set[str]:
    rehash(out)
    return {finding.kind for finding in verify(out).findings}


def rehash(out: Path) -> None:
    """Make run.json name the files that are there now, as a careful attacker would."""
    try:
        content = manifest(out)
    except ValueError:
        return
    files = [path for path in out.rglob("*") if path.is_file() and path.name != "run.json"]
    digests = {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
    content["files"] |= {name_key(path.relative_to(out).as_posix()): digests[path] for path in files}
    (out / "run.json").write_text(json.dumps(content))


def manifest(out: Path) -> dict:
    return json.loads((out / "run.json").read_text())


def edit(out: Path, change) -> None:
    content = manifest(out)
    change(content["released"])
    (out / "run.json").write_text(json.dumps(content))


def save(pixels: np.ndarray, path: Path) -> None:
    write_photo(Photo(pixels), path, overwrite=True)


def of_each_group(out: Path) -> tuple[str, str]:
    """A photo of one person from each of the two groups."""
    photos = ReleaseRecord.from_json(manifest(out)["released"]).photos
    first: dict[int, str] = {}
    for name in ("0.jpg", "1.jpg", "2.jpg", "3.jpg"):
        first.setdefault(photos[name_key(name)][0].group, name)
    one, other = first.values()
    return one, other


def place_in(out: Path, name: str):
    return ReleaseRecord.from_json(manifest(out)["released"]).photos[name_key(name)][0].place


def test_a_genuine_release_of_photos_holds(photos_out):
    verdict = verify(photos_out)
    assert verdict.holds and verdict.k == 3 and verdict.faces == 6 and verdict.smallest == 3
    assert 0 < verdict.largest_difference < TOLERANCE


def test_a_genuine_release_of_crops_holds(crops_out):
    verdict = verify(crops_out)
    assert verdict.holds and verdict.groups == 2 and verdict.largest_difference is None


@pytest.mark.parametrize("quality", [40, 90])
def test_photos_that_were_compressed_again_still_hold(photos_out, quality):
    for path in photos_out.glob("*.jpg"):
        Image.open(path).save(path, quality=quality)
    assert {finding.kind for finding in verify(photos_out).findings} == {"changed"}
    assert kinds(photos_out) == set()


def test_an_original_face_put_back_is_caught(photos_out, originals):
    shutil.copy(originals / "0.jpg", photos_out / "0.jpg")
    assert kinds(photos_out) == {"different-face"}
    assert {finding.where for finding in verify(photos_out).findings} == {"0.jpg"}


def test_original_eyes_put_back_are_caught(photos_out, originals):
    after, before = (read_photo(folder / "1.jpg").pixels.copy() for folder in (photos_out, originals))
    place = place_in(photos_out, "1.jpg")
    left, top = place.points_to_photo(np.array([80.0, 108])).astype(int)
    right, bottom = place.points_to_photo(np.array([176.0, 136])).astype(int)
    after[top:bottom, left:right] = before[top:bottom, left:right]
    save(after, photos_out / "1.jpg")
    assert "different-face" in kinds(photos_out)


def test_a_face_of_another_group_is_caught(photos_out):
    one, other = of_each_group(photos_out)
    there, here = place_in(photos_out, other), place_in(photos_out, one)
    crop = there.crop(read_photo(photos_out / other).pixels)
    image = read_photo(photos_out / one).pixels
    middle = here.points_to_photo(np.array([128.0, 150]))
    box = np.concatenate([middle - 40, middle + 40])
    swapped, _ = replace_face(image, Face(box, np.zeros((5, 2)), 1, "x"), crop, here)
    save(swapped, photos_out / one)
    assert kinds(photos_out) == {"different-face"}


def test_an_added_original_is_caught(photos_out, originals):
    shutil.copy(originals / "0.jpg", photos_out / "more.jpg")
    assert kinds(photos_out) == {"stranger"}


def test_an_added_person_in_a_released_photo_is_caught(photos_out, originals):
    image = read_photo(photos_out / "two.png").pixels
    save(np.hstack([image, read_photo(originals / "0.jpg").pixels]), photos_out / "two.png")
    assert kinds(photos_out) == {"unexplained-face"}


def test_a_removed_photo_that_leaves_a_group_below_k_is_caught(photos_out):
    (photos_out / "2.jpg").unlink()
    verdict = verify(photos_out)
    assert {finding.kind for finding in verdict.findings} == {"group-size"}
    assert any("not there" in note for note in verdict.notes)


def test_a_removed_photo_of_a_group_that_is_large_enough_is_only_noted(photos_out):
    def lower(record):
        record["k"] = 2

    edit(photos_out, lower)
    (photos_out / "2.jpg").unlink()
    verdict = verify(photos_out)
    assert verdict.holds and any("at least 2 people remain" in note for note in verdict.notes)


def raise_k(record):
    record["k"] = 4


def count_more_people(record):
    for size in record["groups"].values():
        size["people"] = size["faces"] + 1


def move_a_face_to_the_other_group(record):
    groups = list(record["groups"])
    face = next(faces[0] for faces in record["photos"].values() if faces[0][0] == int(groups[0]))
    face[0] = int(groups[1])


def move_a_face_and_the_counts(record):
    move_a_face_to_the_other_group(record)
    one, other = record["groups"].values()
    one["faces"], other["faces"] = one["faces"] - 1, other["faces"] + 1
    one["people"], other["people"], record["k"] = one["people"] - 1, other["people"] + 1, 2


def shift_a_place(record):
    next(iter(record["photos"].values()))[0][3] += 60


def forget_a_face(record):
    faces = next(faces for faces in record["photos"].values() if len(faces) == 2)
    group = str(faces.pop()[0])
    record["groups"][group]["faces"] -= 1
    record["k"] = 2
    record["groups"][group]["people"] -= 1


def spoil(record):
    next(iter(record["photos"].values()))[0][1:] = [0, 0, 0, 0, 0, 0]


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (raise_k, "group-size"),
        (count_more_people, "record"),
        (move_a_face_to_the_other_group, "record"),
        (move_a_face_and_the_counts, "different-face"),
        (shift_a_place, "different-face"),
        (forget_a_face, "unexplained-face"),
        (spoil, "record"),
    ],
)
def test_an_edited_record_is_caught(photos_out, change, kind):
    edit(photos_out, change)
    assert kind in kinds(photos_out)


def test_a_manifest_that_is_no_json_is_caught(photos_out):
    (photos_out / "run.json").write_text("{")
    assert kinds(photos_out) == {"record"}


def test_metadata_is_caught_unless_it_was_kept_by_name(photos_out):
    exif = Image.Exif()
    exif[0x0132] = "2020:01:01 00:00:00"
    Image.open(photos_out / "0.jpg").save(photos_out / "0.jpg", quality=95, exif=exif)
    assert kinds(photos_out) == {"metadata"}
    content = manifest(photos_out)
    (photos_out / "run.json").write_text(json.dumps({**content, "kept_metadata": ["DateTime"]}))
    assert kinds(photos_out) == set()


def test_other_files_and_unfinished_runs_are_caught(photos_out):
    (photos_out / "notes.txt").write_text("who is who")
    (photos_out / ".faceveil").mkdir()
    assert {finding.where for finding in verify(photos_out).findings} == {"notes.txt", ".faceveil"}


def test_a_changed_added_or_removed_crop_is_caught(crops_out):
    first = crops_out / "group-0001" / "0001.png"
    kept = first.read_bytes()
    save(255 - read_photo(first).pixels, first)
    assert kinds(crops_out) == {"different-face"}
    first.write_bytes(kept)
    shutil.copy(first, crops_out / "group-0001" / "0009.png")
    assert kinds(crops_out) == {"stranger"}
    (crops_out / "group-0001" / "0009.png").rename(crops_out / "original.png")
    assert kinds(crops_out) == {"stranger"}
    (crops_out / "original.png").unlink()
    first.unlink()
    assert kinds(crops_out) == {"group-size"}


def test_a_release_without_a_k_is_compared_with_its_hashes_alone(originals, tmp_path, capsys):
    out = tmp_path / "out"
    anonymize(originals, out, settings=Settings(method=method("blackout")))
    verdict = verify(out)
    assert verdict.holds and (verdict.k, verdict.kind, verdict.files, verdict.faces) == (None, "files", 5, 0)
    _print(verdict)
    said = capsys.readouterr().out
    assert "5 files have the hashes" in said and "faces were not looked for" in said and "holds" not in said
    shutil.copy(originals / "0.jpg", out / "0.jpg")
    assert [(finding.kind, finding.where) for finding in verify(out).findings] == [("changed", "0.jpg")]
    shutil.copy(originals / "0.jpg", out / "more.jpg")
    assert {finding.kind for finding in verify(out).findings} == {"changed", "stranger"}


@pytest.mark.parametrize("release", ["photos", "joined", "crops"])
def test_run_json_names_the_hash_of_every_file_and_of_nothing_else(released_once, originals, release):
    out = released_once[release]
    written = {path for path in out.rglob("*") if path.is_file() and path.name != "run.json"}
    hashes = {
        name_key(path.relative_to(out).as_posix()): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in written
    }
    assert manifest(out)["files"] == hashes and verify(out).files == len(written)
    assert list(manifest(out)["files"]) == sorted(hashes)  # the order tells nothing either
    text = (out / "run.json").read_text()
    for path in originals.rglob("*"):
        assert hashlib.sha256(path.read_bytes()).hexdigest() not in text


def test_crops_that_are_all_one_original_do_not_match_run_json(crops_out, originals, capsys):
    """They are the same bytes, which is all that can be seen once run.json is rewritten; and no more is said."""
    for crop in (crops_out / "group-0001").iterdir():
        shutil.copy(originals / "two.png", crop)
    assert {finding.kind for finding in verify(crops_out).findings} == {"changed"}
    assert kinds(crops_out) == set()
    _print(verify(crops_out))
    assert "does not show that it is no original's; faceveil certify" in capsys.readouterr().out


def test_a_manifest_without_hashes_is_caught(photos_out):
    content = manifest(photos_out)
    del content["files"]
    (photos_out / "run.json").write_text(json.dumps(content))
    (finding,) = verify(photos_out).findings
    assert finding.kind == "record" and "names no files" in finding.reason


def test_a_folder_without_a_manifest_is_refused(originals):
    with pytest.raises(UsageError, match="does not exist"):
        verify(originals)


def test_the_command_says_it_by_its_exit_code(photos_out):
    command = [sys.executable, "-m", "faceveil", "verify", str(photos_out)]
    good = subprocess.run(command, capture_output=True, text=True)
    assert good.returncode == 0 and "The claim holds: k=3" in good.stdout
    (photos_out / "0.jpg").unlink()
    bad = subprocess.run([*command, "--json"], capture_output=True, text=True)
    assert bad.returncode == 3 and json.loads(bad.stdout)["findings"][0]["kind"] == "group-size"


def claim_subjects(out, how, people=None):
    """Rewrite the record as a run with these subjects would have left it."""
    content = manifest(out)
    content["subjects"] = how
    for size in content["released"]["groups"].values():
        size["people"] = people or size["people"]
    (out / "run.json").write_text(json.dumps(content))


def test_people_are_counted_again_where_every_face_is_one(photos_out, crops_out):
    for out in (photos_out, crops_out):
        claim_subjects(out, "each")
        assert verify(out).holds and verify(out).recounted
        claim_subjects(out, "each", people=2)
        assert kinds(out) == {"record"}


def test_people_are_counted_again_by_their_folders(photos_out):
    """All photos lie in one folder, so each group shows one person, whatever is recorded."""
    claim_subjects(photos_out, "folder")
    assert "the files show 1" in verify(photos_out).findings[0].reason
    claim_subjects(photos_out, "folder", people=1)
    verdict = verify(photos_out)
    assert {finding.kind for finding in verdict.findings} == {"group-size"} and verdict.smallest == 1


def test_a_table_of_subjects_cannot_stand_for_more_people_than_photos():
    from faceveil.privacy.recount import recount

    places = {1: ["a.jpg", "a.jpg", "b.jpg"]}
    assert recount("file", "photos", places).people == {1: 2} and not recount("file", "photos", places).exact
    assert recount("auto", "photos", places).people == {1: 3}


def test_where_the_count_is_the_runs_own_the_verdict_says_so(photos_out):
    verdict = verify(photos_out)
    assert not verdict.recounted and any("run's own count" in note for note in verdict.notes)


def test_a_face_in_the_alpha_channel_is_caught(photos_out, originals):
    """An original below the released faces, white on white; whether or not the run says that it kept transparency."""
    pixels = read_photo(photos_out / "two.png").pixels
    white, opaque = np.full_like(pixels, 255), np.full(pixels.shape[:2], 255, np.uint8)
    grey = np.maximum(np.asarray(Image.open(originals / "two.png").convert("L")), 1)
    taller = Photo(np.vstack([pixels, white]), alpha=np.vstack([opaque, grey]))
    write_photo(taller, photos_out / "two.png", overwrite=True)
    assert kinds(photos_out) == {"metadata", "unexplained-face"}
    (photos_out / "run.json").write_text(json.dumps(manifest(photos_out) | {"kept_metadata": ["alpha"]}))
    assert kinds(photos_out) == {"unexplained-face"}
