"""Runs: the same bytes from every engine, kills survived, failures named, nothing linked to anybody."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from faceveil import Settings, anonymize, method
from faceveil.errors import OutputError, ProtectionError, UsageError
from faceveil.faces import DETECTORS, Face
from faceveil.photos import Photo, read_photo, scan_leaks, write_photo
from faceveil.pipeline import protect_photo
from faceveil.pipeline.engines import engine, processes, serial, threads
from faceveil.pipeline.plan import STATE

NOISE = Settings(method=method("noise"), seed=5)
BLACK = Settings(method=method("blackout"))


def bytes_of(folder: Path) -> dict[str, bytes]:
    """Every file but the manifest, whose timings differ."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != "run.json")
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def test_an_engine_may_be_given_by_its_name(photos, tmp_path):
    summary = anonymize(photos / "a.jpg", tmp_path / "out.png", settings=BLACK, engine="serial")
    assert summary.counts()["faces"] == 1
    with pytest.raises(UsageError, match="no engine 'ray'"):
        anonymize(photos / "a.jpg", tmp_path / "other.png", settings=BLACK, engine="ray")


def test_threads_serve_few_cores_and_processes_many():
    assert engine("auto", 2).func is threads and engine("auto", 16).func is processes


def test_without_a_seed_noise_differs_from_run_to_run(photos, tmp_path):
    for name in ("one", "two"):
        anonymize(photos / "a.jpg", tmp_path / f"{name}.png", settings=Settings(method=method("noise")))
    assert (tmp_path / "one.png").read_bytes() != (tmp_path / "two.png").read_bytes()


@pytest.mark.parametrize("several", [threads, processes])
def test_an_engine_holds_only_a_few_items_at_a_time(several):
    taken = []

    def items():
        for number in range(200):
            taken.append(number)
            yield number

    results = several(abs, items(), workers=2)
    next(results)
    assert len(taken) <= 8
    assert sorted([0, *results])[-1] == 199


def test_pixels_outside_the_faces_are_bit_identical_in_a_lossless_output(photos, tmp_path, portrait):
    summary = anonymize(photos / "a.jpg", tmp_path / "out.png", settings=BLACK)
    after = read_photo(tmp_path / "out.png").pixels
    changed = (after != portrait).any(axis=2)
    assert summary.counts()["faces"] == 1
    assert not after[changed].any()  # what changed is black, all else is as it was
    assert 0.1 < changed.mean() < 0.5


def test_jpeg_keeps_its_tables_and_sampling(photos, tmp_path):
    source = tmp_path / "source.jpg"
    Image.open(photos / "a.jpg").save(source, quality=71, subsampling=2)
    anonymize(source, tmp_path / "out.jpg", settings=BLACK)
    with Image.open(source) as before, Image.open(tmp_path / "out.jpg") as after:
        assert before.quantization == after.quantization
        assert before.layer == after.layer


def test_the_manifest_says_how_and_not_who(photos, tmp_path):
    anonymize(photos, tmp_path / "out", settings=Settings(method=method("noise"), seed=987654321))
    text = (tmp_path / "out" / "run.json").read_text()
    content = json.loads(text)
    assert content["method"] == "noise" and content["counts"]["photos"] == 4
    assert len(content["weights"]["yunet.2023mar"]) == 1
    for secret in ("987654321", "a.jpg", "deep", str(tmp_path)):
        assert secret not in text
    assert not (tmp_path / "out" / STATE).exists()


def test_outputs_carry_nothing_besides_pixels(tmp_path, examples):
    source = tmp_path / "photo.jpg"
    exif = Image.Exif()
    exif[0x010E], exif[0x0132] = "who this is", "2020:01:01 00:00:00"
    Image.open(examples / "portrait-1.jpg").save(source, exif=exif, comment=b"secret")
    assert scan_leaks(source)
    anonymize(source, tmp_path / "out.jpg", settings=BLACK)
    assert scan_leaks(tmp_path / "out.jpg") == []
    anonymize(source, tmp_path / "kept.jpg", settings=replace(BLACK, keep_metadata=("DateTime",)))
    kept = (tmp_path / "kept.jpg").read_bytes()
    assert b"2020:01:01" in kept and b"who this is" not in kept


def test_keeping_some_metadata_lets_nothing_else_out(tmp_path, examples, monkeypatch):
    """A writer that lets a comment slip in is caught by the scan, whether or not metadata is kept."""
    from faceveil.photos.write import encode_photo
    from faceveil.pipeline import work

    source = tmp_path / "photo.jpg"
    exif = Image.Exif()
    exif[0x0132] = "2020:01:01 00:00:00"
    Image.open(examples / "portrait-1.jpg").resize((256, 256)).save(source, exif=exif)

    def careless(photo, format):
        data = encode_photo(photo, format)
        return data[:2] + b"\xff\xfe\x00\x08secret" + data[2:]

    for keep in ((), ("DateTime",)):
        whole = anonymize(
            source, tmp_path / f"whole-{len(keep)}.jpg", settings=replace(BLACK, keep_metadata=keep)
        )
        assert whole.exit_code == 0
        with monkeypatch.context() as patch:
            patch.setattr(work, "encode_photo", careless)
            summary = anonymize(
                source, tmp_path / f"out-{len(keep)}.jpg", settings=replace(BLACK, keep_metadata=keep)
            )
        assert "JPEG comment" in summary.quarantined[0].reason
        assert not (tmp_path / f"out-{len(keep)}.jpg").exists()


BROKEN = {
    "empty.jpg": b"",
    "text.png": b"this is no picture",
    "truncated.jpg": None,  # filled in below
    "bomb.png": b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x0f\xff\xff\x00\x0f\xff\xff\x08\x02\x00\x00\x00",
}


def test_broken_files_are_quarantined_by_name_and_the_others_go_on(photos, tmp_path):
    whole = (photos / "a.jpg").read_bytes()
    for name, data in BROKEN.items():
        (photos / name).write_bytes(whole[: len(whole) // 2] if data is None else data)
    summary = anonymize(photos, tmp_path / "out", settings=BLACK, engine=engine("processes", 2))
    assert {outcome.name for outcome in summary.quarantined} == set(BROKEN)
    assert all(len(outcome.reason) > 7 for outcome in summary.quarantined)
    assert summary.exit_code == 3 and summary.counts()["protected"] == 4
    assert not any((tmp_path / "out" / name).exists() for name in BROKEN)


def test_a_strength_that_leaves_a_face_as_it_is_quarantines_the_photo(photos, tmp_path):
    weak = Settings(method=method("blur", strength=1))
    summary = anonymize(photos / "a.jpg", tmp_path / "out.jpg", settings=weak)
    assert summary.exit_code == 3 and "leaves a face" in summary.quarantined[0].reason
    assert not (tmp_path / "out.jpg").exists()


def test_a_face_the_first_detector_misses_is_protected_by_the_second(portrait, monkeypatch):
    from faceveil.faces import detect

    monkeypatch.setitem(detect.DETECTORS, "yunet", lambda image, thorough: [])
    result = protect_photo(Photo(portrait), BLACK, np.random.default_rng(0))
    assert result.faces == result.found_late == 1
    assert not result.photo.pixels[260:300, 230:280].any()


def test_a_face_that_stays_after_protection_stops_the_photo(portrait, monkeypatch):
    from faceveil.faces import detect

    corners = iter([(5, 5), (460, 5), (5, 460)])

    def always_another(image, thorough):
        x, y = next(corners)
        box = np.array([x, y, x + 40.0, y + 40])
        return [Face(box, box[:2] + np.full((5, 2), 20.0) + np.arange(10).reshape(5, 2), 0.99, "blazeface")]

    monkeypatch.setitem(detect.DETECTORS, "blazeface", always_another)
    with pytest.raises(ProtectionError, match="still sees a face"):
        protect_photo(Photo(portrait), BLACK, np.random.default_rng(0))


def test_existing_outputs_are_refused_and_overwritten_only_on_request(photos, tmp_path):
    anonymize(photos, tmp_path / "out", settings=BLACK)
    with pytest.raises(OutputError, match="exist already"):
        anonymize(photos, tmp_path / "out", settings=BLACK)
    anonymize(photos, tmp_path / "out", settings=BLACK, overwrite=True)


def test_what_is_quarantined_now_takes_its_older_output_along(photos, tmp_path):
    first = anonymize(photos, tmp_path / "out", settings=BLACK).outcomes[0].name
    (photos / first).write_bytes(b"no picture any more")
    again = anonymize(photos, tmp_path / "out", settings=BLACK, overwrite=True)
    assert [o.name for o in again.outcomes if o.status == "quarantined"] == [first]
    assert not (tmp_path / "out" / first).exists()


def test_a_finished_run_is_not_resumed(photos, tmp_path):
    anonymize(photos, tmp_path / "out", settings=BLACK)
    with pytest.raises(OutputError, match="nothing to resume"):
        anonymize(photos, tmp_path / "out", settings=BLACK, resume=True)


def interrupted(photos: Path, out: Path) -> None:
    """A run of which only the first photo was done."""

    def one_and_die(work, items):
        yield work(next(iter(items)))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        anonymize(photos, out, settings=NOISE, engine=one_and_die)


def test_an_interrupted_run_resumes_to_the_same_bytes(photos, tmp_path):
    anonymize(photos, tmp_path / "whole", settings=NOISE)
    interrupted(photos, tmp_path / "out")
    done = tmp_path / "out" / "a.jpg"
    before = done.stat().st_mtime_ns
    with pytest.raises(OutputError, match="--resume"):
        anonymize(photos, tmp_path / "out", settings=NOISE)
    summary = anonymize(photos, tmp_path / "out", settings=NOISE, resume=True)
    assert bytes_of(tmp_path / "out") == bytes_of(tmp_path / "whole")
    assert done.stat().st_mtime_ns == before  # not done twice
    assert summary.counts()["faces"] == 4


def test_a_run_is_not_resumed_with_other_settings(photos, tmp_path):
    interrupted(photos, tmp_path / "out")
    with pytest.raises(UsageError, match="another method"):
        anonymize(photos, tmp_path / "out", settings=Settings(method=method("blur")), resume=True)


@pytest.fixture(scope="module")
def many(tmp_path_factory, examples) -> tuple[Path, dict[str, bytes]]:
    """Twelve photos, and what an undisturbed run makes of them."""
    folder = tmp_path_factory.mktemp("many")
    (folder / "photos").mkdir()
    for number in range(12):
        small = read_photo(examples / f"portrait-{1 + number % 4}.jpg").pixels[::2, ::2]
        write_photo(Photo(np.ascontiguousarray(small)), folder / "photos" / f"{number}.jpg")
    anonymize(folder / "photos", folder / "whole", settings=NOISE)
    return folder / "photos", bytes_of(folder / "whole")


@pytest.mark.parametrize("detector", sorted(DETECTORS))
def test_every_engine_gives_the_same_bytes_with_every_detector(many, tmp_path, detector):
    settings = replace(NOISE, detector=detector)
    engines = {"serial": serial, "threads": engine("threads", 4), "processes": engine("processes", 2)}
    runs = {
        name: anonymize(many[0], tmp_path / name, settings=settings, engine=e) for name, e in engines.items()
    }
    assert runs["serial"].counts()["faces"] == len(bytes_of(tmp_path / "serial")) == 12
    for name in engines:
        assert bytes_of(tmp_path / "serial") == bytes_of(tmp_path / name)


@pytest.mark.parametrize("after", [0.0, 0.1, 0.4])
def test_a_killed_run_leaves_whole_files_and_resumes_to_the_same_bytes(many, tmp_path, after):
    (photos, whole), out = many, tmp_path / "out"
    command = [
        sys.executable,
        "-m",
        "faceveil",
        "anonymize",
        str(photos),
        "-o",
        str(out),
        "--method",
        "noise",
    ]
    command += ["--seed", "5", "--engine", "serial"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    waited = time.monotonic() + 180
    while not list(out.rglob("*.jpg")) and time.monotonic() < waited:
        time.sleep(0.02)
    time.sleep(after)
    process.send_signal(signal.SIGKILL)
    process.wait()
    for path in out.rglob("*.jpg"):
        read_photo(path)  # whole
    resumed = subprocess.run([*command, "--resume"], capture_output=True, text=True)
    finished_before_the_kill = "nothing to resume" in resumed.stderr
    assert resumed.returncode == 0 or finished_before_the_kill
    assert bytes_of(out) == whole


def test_a_full_disk_ends_the_run_with_a_clear_word_and_nothing_half_written(photos, tmp_path):
    code = (
        "import resource, sys, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000));"
        "from faceveil.cli import main; sys.argv[0] = 'faceveil'; main()"
    )
    out = tmp_path / "out"
    command = [sys.executable, "-c", code, "anonymize", str(photos), "-o", str(out), "--engine", "serial"]
    command += ["--method", "blackout"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1 and "cannot be written" in done.stderr
    assert list(out.rglob("*.jpg")) == []
    resumed = subprocess.run(
        [sys.executable, "-m", "faceveil", *command[3:], "--resume"], capture_output=True, text=True
    )
    assert resumed.returncode == 0 and len(bytes_of(out)) == 4


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_is_refused(photos, tmp_path):
    (tmp_path / "locked").mkdir(mode=0o500)
    with pytest.raises(OutputError, match="Choose another"):
        anonymize(photos, tmp_path / "locked" / "out")


def test_an_output_below_a_file_is_refused(photos, tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(OutputError, match="Choose another"):
        anonymize(photos, tmp_path / "file" / "out")
