"""Names of files are bytes that anyone may choose: they stop no run, and act on no terminal."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.pipeline.pixel_mean import PixelMean

from faceveil import Settings, anonymize, method
from faceveil.photos import Photo, read_photo, shown, shown_in_json, write_photo
from faceveil.pipeline.settings import rng_for

LATIN = os.fsdecode(b"gr\xfc\xdfe.png")  # Latin-1, which is no UTF-8
ESCAPE = "\x1b[2Jred\x9b31m\u202egnp.png"

pytestmark = [
    pytest.mark.usefixtures("temporary"),
    pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="names are UTF-8 on this system"),
]


@pytest.fixture
def odd(tmp_path, examples) -> Path:
    """Three portraits, two of which have odd names, and a broken file of an odd name."""
    folder = tmp_path / os.fsdecode(b"f\xf6lder")
    folder.mkdir()
    for number, name in enumerate([LATIN, ESCAPE, "plain.png"], 1):
        pixels = read_photo(examples / f"portrait-{number}.jpg").pixels[::4, ::4]
        write_photo(Photo(np.ascontiguousarray(pixels)), folder / name)
    (folder / f"broken{LATIN}").write_bytes(b"no picture")
    return folder


def test_names_that_are_no_text_stop_no_run(odd, tmp_path):
    out = tmp_path / "out"
    for settings in (Settings(method=method("noise"), seed=3), Settings(method=PixelMean(k=3), seed=3)):
        summary = anonymize(odd, out, settings=settings, overwrite=True)
        assert summary.counts()["faces"] == 3 and len(summary.quarantined) == 1
        assert {path.name for path in out.glob("*.png")} == {LATIN, ESCAPE, "plain.png"}
        json.loads((out / "run.json").read_text())


def test_a_table_of_subjects_names_photos_by_their_bytes(odd, tmp_path):
    table = tmp_path / "who.csv"
    table.write_bytes(
        b"photo,subject\n" + b"".join(os.fsencode(f"{n},{n}\n") for n in (LATIN, ESCAPE, "plain.png"))
    )
    settings = Settings(method=PixelMean(k=3), subjects=str(table))
    assert anonymize(odd, tmp_path / "out", settings=settings).counts()["people"] == 3


def test_draws_of_a_seed_depend_on_the_bytes_of_a_name():
    assert rng_for(1, LATIN).random() != rng_for(1, LATIN.replace("\udcfc", "\udcfd")).random()
    assert rng_for(1, "größe").random() == pytest.approx(0.8299, abs=5e-5)


def test_a_run_and_its_resumption_print_such_names_safely(odd, tmp_path):
    command = [sys.executable, "-m", "faceveil", "anonymize", str(odd), "-o", str(tmp_path / ESCAPE[:-4])]
    command += ["--method", "blackout", "--engine", "serial"]
    done = subprocess.run(command, capture_output=True)
    assert done.returncode == 3, done.stderr
    assert b"Traceback" not in done.stderr and rb"brokengr\xfc\xdfe.png: it is not a picture" in done.stderr
    for said in (done.stdout, done.stderr):
        assert not any(odd in said for odd in (b"\x1b", "\x9b".encode(), "\u202e".encode(), b"\xfc"))
    again = subprocess.run([*command, "--overwrite", "--json"], capture_output=True)
    summary = json.loads(again.stdout)
    assert summary["quarantined"][0]["file"] == str(odd / f"broken{LATIN}")
    refused = subprocess.run(command, capture_output=True)
    assert refused.returncode == 1 and b"exist already" in refused.stderr and b"\x1b" not in refused.stderr


def test_what_is_shown_stays_on_its_line_and_acts_on_nothing():
    assert shown(f"a\n{ESCAPE}{LATIN}é") == r"a\x0a\x1b[2Jred\x9b31m\u202egnp.pnggr\xfc\xdfe.pngé"
    for name in (LATIN, ESCAPE, "é\n"):
        text = shown_in_json(json.dumps({"name": name}, ensure_ascii=False, indent=1))
        assert json.loads(text) == {"name": name}
        text.encode()
