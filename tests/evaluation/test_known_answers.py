"""Whole evaluations whose answer is known beforehand, on the people of ORL with all three recognisers."""

import importlib.util
import json
import shlex
import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest
from typer.testing import CliRunner

from faceveil.cli import app
from faceveil.errors import UsageError
from faceveil.evaluation import Options, certify, evaluate
from faceveil.report import page

_spec = importlib.util.spec_from_file_location("evaluation_conftest", Path(__file__).with_name("conftest.py"))
photos = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(photos)

FAST = {"utility": False, "restoration": False}


@pytest.fixture(scope="module")
def unchanged(originals, cache_file):
    return evaluate(originals, originals, Options(cache=cache_file, **FAST))


def test_nothing_changed_is_found_by_every_attack_and_fails_the_gate(unchanged):
    assert {one.attack for one in unchanged.attacks} == {"naive", "reverse", "parrot"}
    assert all(one.auc.value > 0.99 for one in unchanged.attacks)
    assert all(one.found.value == 1 for one in unchanged.attacks if one.attack != "parrot")
    verdict = certify(unchanged, 0.05)
    assert not verdict.passed
    assert "finds 100.0 %" in verdict.sentence and "the limit is 5 %" in verdict.sentence
    assert len(unchanged.exposed) == unchanged.photos and all(one.unchanged for one in unchanged.exposed)
    assert all(level.database_rate.value == 1 for level in unchanged.clusters)


def test_results_go_to_json_and_back(unchanged):
    table = json.loads(unchanged.to_json())
    assert table["schema"] == 1 and table["worst"]["attack"] == "naive"
    assert table["attacks"][0]["found"]["people"] == photos.PEOPLE
    assert all(len(one["sha256"]) == 64 for one in table["recognizers"])


def test_a_second_run_embeds_nothing_anew(unchanged, originals, cache_file, monkeypatch):
    from faceveil.models.recognizers import Recognizer

    def never(self, crops):
        raise AssertionError("embedded again")

    monkeypatch.setattr(Recognizer, "embed", never)
    again = evaluate(originals, originals, Options(cache=cache_file, **FAST))
    assert again.attacks == unchanged.attacks


def test_the_page_is_whole_and_reaches_for_nothing_outside(unchanged):
    html = page(unchanged, certify(unchanged, 0.05))
    assert "Failed" in html and "<svg" in html and "sha256" in html and "Not covered" in html
    assert "http" not in html.replace("http-equiv", "") and "<script" not in html


@pytest.fixture(scope="module")
def blackout(originals, cache_file, tmp_path_factory):
    released = photos.write_set(tmp_path_factory.mktemp("blackout"), photos.covered)
    return released, evaluate(originals, released, Options(cache=cache_file, utility=False))


def test_solid_cover_gives_a_failure_to_acquire_of_one_and_an_area_of_one_half(blackout):
    _, found = blackout
    naive = [one for one in found.attacks if one.attack == "naive"]
    assert all(one.fta.value == 1 and one.auc.value == 0.5 and one.found.value == 0 for one in naive)
    reverse = [one for one in found.attacks if one.attack == "reverse"]
    assert all(one.fte.value == 1 and one.found.value == 0 for one in reverse)
    assert not found.exposed


def test_zero_hits_are_bounded_by_the_rule_of_three(blackout):
    _, found = blackout
    naive = next(one for one in found.attacks if one.attack == "naive")
    assert naive.found.high == pytest.approx(3 / photos.PEOPLE)


def test_one_leaked_original_among_covered_ones_is_found_and_named(originals, blackout, cache_file, tmp_path):
    def leak(image: np.ndarray, person: int, photo: int) -> np.ndarray:
        return image if (person, photo) == (7, 2) else photos.covered(image)

    released = photos.write_set(tmp_path / "released", leak)
    found = evaluate(originals, released, Options(cache=cache_file, **FAST))
    assert [(one.photo, one.unchanged) for one in found.exposed] == [("s7/2.png", True)]
    assert "s7/2.png" in page(found)
    verdict = certify(found, 0.9)
    assert not verdict.passed and "s7/2.png" in verdict.sentence, "a leak fails whatever the limit"


def test_faces_of_strangers_give_an_area_of_one_half_within_the_interval(originals, cache_file, tmp_path):
    # Ten strangers, dealt out at random: nobody's released photo has anything to do with its original.
    rng = np.random.default_rng(3)

    def stranger(image: np.ndarray, person: int, photo: int) -> np.ndarray:
        return photos.orl(int(rng.integers(31, 41)), int(rng.integers(1, 11)))

    released = photos.write_set(tmp_path / "released", stranger)
    names = ("mobilefacenet.facesdk",)
    found = evaluate(originals, released, Options(cache=cache_file, recognizers=names, **FAST))
    for one in found.attacks:
        if one.attack == "naive":
            assert one.auc.low < 0.5 < one.auc.high
            assert one.found.low <= 0.2, "about as often as by a guess"
    assert not [one for one in found.exposed if one.unchanged]


def test_restoration_finds_people_behind_a_blur_that_defeats_plain_matching(originals, cache_file, tmp_path):
    def blurred(image: np.ndarray, *_: int) -> np.ndarray:
        out = image.copy()
        part = np.ascontiguousarray(image[24:-20, 30:-30])
        out[24:-20, 30:-30] = cv2.blur(part, (17, 17), borderType=cv2.BORDER_REFLECT)
        return out

    released = photos.write_set(tmp_path / "released", blurred)
    names = ("dlib-resnet.v1", "mobilefacenet.facesdk")
    found = evaluate(originals, released, Options(cache=cache_file, utility=False, recognizers=names))
    rate = {(one.attack, one.recognizer): one.found.value for one in found.attacks}
    for name in names:
        assert rate["restored", name] > 0.9 and rate["restored", name] > rate["naive", name] + 0.3
    assert found.worst.attack == "restored"
    assert found.parameters["restored"]["blur"] > 0.9 * found.photos


def test_certify_stops_a_pipeline_with_code_three_and_one_sentence(originals, cache_file):
    call = ["certify", str(originals), str(originals), "--max-risk", "0.05", "--cache", str(cache_file)]
    done = CliRunner().invoke(app, [*call, "--recognizer", "dlib-resnet.v1"])
    assert done.exit_code == 3
    assert done.stderr.startswith("failed: ") and done.stderr.count("\n") == 1
    assert f"of {photos.PEOPLE} people; the limit is 5 %" in done.stderr


def test_certify_lets_a_covered_set_pass(originals, blackout, cache_file):
    # The attack on restored photos sees nothing but black and guesses.
    released, _ = blackout
    call = [
        "certify",
        str(originals),
        str(released),
        "--max-risk",
        "0.25",
        "--cache",
        str(cache_file),
        "--json",
    ]
    done = CliRunner().invoke(app, call)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["passed"] is True


def test_recognisers_that_made_the_result_do_not_certify_it_alone(originals, cache_file):
    options = Options(
        cache=cache_file, recognizers=("dlib-resnet.v1",), used_by_method=("dlib-resnet.v1",), **FAST
    )
    found = evaluate(originals, originals, options)
    assert all(one.used_by_method for one in found.attacks)
    assert "took part" in certify(found, 0.5).sentence and "†" in page(found)


def test_evaluate_prints_its_results_as_json(originals, blackout, cache_file, tmp_path):
    released, expected = blackout
    call = [
        "evaluate",
        str(originals),
        str(released),
        "--json",
        "-",
        "--no-utility",
        "--cache",
        str(cache_file),
    ]
    done = CliRunner().invoke(app, [*call, "--report", str(tmp_path / "page.html"), "--max-risk", "0.25"])
    assert done.exit_code == 0, done.output
    table = json.loads(done.stdout)
    assert table["attacks"] == json.loads(expected.to_json())["attacks"]
    assert "Passed" in (tmp_path / "page.html").read_text()


def test_utility_of_unchanged_photos_is_whole_and_of_mirrored_ones_is_less(tmp_path, cache_file):
    before = photos.write_set(tmp_path / "before", people=6, photos=1)
    mirrored = photos.write_set(
        tmp_path / "after",
        lambda image, person, _: image if person < 4 else image[:, ::-1].copy(),
        people=6,
        photos=1,
    )
    options = Options(subjects="each", cache=cache_file, recognizers=("dlib-resnet.v1",), restoration=False)
    whole = evaluate(before, before, options).utility
    less = evaluate(before, mirrored, options).utility
    assert whole["ssim_face"].value == 1 and whole["lpips_alexnet"].value == 0
    assert whole["landmark_error_in_eye_distances"].value == 0 and whole["pose_error_in_degrees"].value == 0
    assert (
        whole["gender_kept"].value == whole["expression_kept"].value == whole["face_still_found"].value == 1
    )
    assert {kept.value for kept in whole["labels_kept"].values()} == {1}
    errors = [f"expression_error_{part}" for part in ("all", "mouth", "eyes", "gaze")]
    assert all(whole[name].value == 0 < less[name].value < 0.1 for name in errors)
    assert whole["frechet_mobilenetv2"] == pytest.approx(0, abs=1e-3) and less["frechet_mobilenetv2"] > 1
    assert less["ssim_face"].value < 0.9 and less["lpips_alexnet"].value > 0.02
    assert less["face_still_found"].value == 1, "a mirrored face is a face"


def test_groups_of_a_table_are_judged_apart_and_a_difference_is_named(originals, cache_file, tmp_path):
    def first_half_covered(image: np.ndarray, person: int, photo: int) -> np.ndarray:
        return photos.covered(image) if person <= photos.PEOPLE // 2 else image

    released = photos.write_set(tmp_path / "released", first_half_covered)
    table = tmp_path / "groups.csv"
    lines = [
        f"s{person}/{photo}.png,{'covered' if person <= photos.PEOPLE // 2 else 'bare'}"
        for person in range(1, photos.PEOPLE + 1)
        for photo in range(1, photos.PHOTOS + 1)
    ]
    table.write_text("photo,kind\n" + "\n".join(lines))
    found = evaluate(originals, released, Options(cache=cache_file, groups=table, **FAST))
    assert {(row.group, row.found.value) for row in found.groups} == {("covered", 0.0), ("bare", 1.0)}
    assert any("bare are re-identified more often than covered" in text for text in found.warnings)


def test_the_trained_attack_runs_the_method_on_the_attacker_s_own_faces(originals, cache_file, tmp_path):
    own = tmp_path / "own"
    for person in range(photos.PEOPLE + 1, 41):
        for photo in (1, 2):
            photos.save(own / f"s{person}" / f"{photo}.png", photos.orl(person, photo))
    seen = []

    def method(source: Path, target: Path) -> None:
        seen.append(source)
        for file in source.rglob("*.png"):
            photos.save(target / file.relative_to(source), cv2.blur(cv2.imread(str(file))[..., ::-1], (5, 5)))

    options = Options(
        cache=cache_file, recognizers=("mobilefacenet.facesdk",), method=method, attacker_faces=own, **FAST
    )
    found = evaluate(originals, originals, options)
    trained = next(one for one in found.attacks if one.attack == "trained")
    assert seen == [own] and found.parameters["trained"] is True
    assert trained.found.value > 0.5, "the map from a light blur to the original keeps people apart"
    with pytest.raises(UsageError, match="attacker-faces"):
        evaluate(
            originals,
            originals,
            Options(cache=cache_file, method=method, recognizers=options.recognizers, **FAST),
        )


def test_one_person_alone_cannot_be_looked_up(tmp_path, cache_file):
    alone = photos.write_set(tmp_path / "alone", people=1)
    with pytest.raises(UsageError, match="two people"):
        evaluate(alone, alone, Options(cache=cache_file, **FAST))


def test_the_trained_attack_through_the_command_line(originals, cache_file, tmp_path):
    """The attacker runs the very command that made the release on faces of its own, and learns to undo it."""
    own, released = tmp_path / "own", tmp_path / "released"
    for person in range(photos.PEOPLE + 1, 41):
        for photo in (1, 2):
            photos.save(own / f"s{person}" / f"{photo}.png", photos.orl(person, photo))
    blur = f"{shlex.quote(sys.executable)} -m faceveil anonymize {{input}} -o {{output}} --method blur --strength 9"
    made = shlex.split(blur.format(input=originals, output=released))
    assert subprocess.run(made, capture_output=True, check=False).returncode in (0, 3)
    call = ["evaluate", str(originals), str(released), "--method-command", blur, "--attacker-faces", str(own)]
    call += ["--recognizer", "mobilefacenet.facesdk", "--no-utility", "--no-restoration", "--json", "-"]
    done = CliRunner().invoke(app, [*call, "--cache", str(cache_file)])
    assert done.exit_code == 0, done.output
    table = json.loads(done.stdout)
    found = {one["attack"]: one["found"]["value"] for one in table["attacks"]}
    assert table["parameters"]["trained"] is True
    assert found["trained"] > 2 / photos.PEOPLE and found["trained"] >= found["naive"] - 0.1
    assert not (own / "s25" / "1.png").with_suffix(".jpg").exists(), "the attacker's folder is only read"


def test_a_method_s_command_that_fails_ends_the_evaluation_with_its_last_words(originals, tmp_path):
    call = ["evaluate", str(originals), str(originals), "--attacker-faces", str(originals), "--no-utility"]
    words = f"{shlex.quote(sys.executable)} -m faceveil anonymize {{input}} -o {{output}} --method nonsense"
    done = CliRunner().invoke(
        app, [*call, "--method-command", words, "--recognizer", "mobilefacenet.facesdk"]
    )
    assert isinstance(done.exception, UsageError) and "nonsense" in str(done.exception)
