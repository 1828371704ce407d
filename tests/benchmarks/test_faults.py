"""A sample of the campaign of faults, and that it notices: with a fault in the program itself it finds something."""

import io
import json
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest
from benchmarks.faults.cases import CASES
from benchmarks.faults.fault import ENGINES, fault
from benchmarks.faults.judge import LIKE, SAME, seen
from benchmarks.faults.kinds import KINDS
from benchmarks.faults.scenes import encoded, newcomer, portrait, scene
from PIL import Image

ROOT = Path(__file__).parent.parent.parent
SEED, COUNT = 1, 200

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="runs are forked, and their processes listed")

# Each makes the program worse; the campaign is then asked for a fault of this kind.
SABOTAGE = {
    "a method leaves the face": ("kill", "shows an original's eyes", """
from faceveil.faces import Region
from faceveil.methods import METHODS
import numpy as np

def protect(self, image, face, rng):
    after = image.copy()
    after[0, 0] ^= 1
    return after, Region(np.ones(image.shape[:2], np.float32), 0, 0)

type(METHODS["blackout"]).protect = protect
"""),
    "a journal lies": ("signal", "is done by the journal and is not there", """
from dataclasses import replace
from faceveil.pipeline.journal import Journal
add = Journal.add
Journal.add = lambda self, outcome: add(self, replace(outcome, sha256="0" * 64))
"""),
    "a resumed run believes what it finds": ("output swapped before resume", "is an original", """
from faceveil.pipeline import journal
journal._still_done = lambda plan, memory, **_: {o.name: o for o in journal._read_outcomes(memory / journal.DONE)}
"""),
    "a full disk is not named": ("output full", "the cause is not named", """
from faceveil.errors import OutputError
from faceveil.photos import write
write.cannot_write = lambda path, error: OutputError(f"{path}: something went wrong.")
"""),
}  # fmt: skip


def campaign(*arguments: object, before: str = "") -> subprocess.CompletedProcess[str]:
    """In a process of its own: runs are forked from it, which networks of other tests would not survive."""
    code = f"{before}\nimport sys\nfrom benchmarks.faults.__main__ import main\nsys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", code, *map(str, arguments), "--seed", str(SEED)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def test_a_sample_of_the_faults_finds_nothing(tmp_path):
    done = campaign("--sample", "--count", COUNT, "--workers", 2, "--json", tmp_path / "faults.json")
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads((tmp_path / "faults.json").read_text())
    kinds, _, engines, _ = zip(*(key.split(" / ") for key in found["counts"]), strict=True)
    assert found["faults"] == COUNT and not found["failed"]
    assert set(kinds) == set(KINDS) and set(engines) == set(ENGINES)


def number_of(kind: str) -> int:
    """The first fault of this kind that strikes in the midst of a short run, whatever the clock says."""
    for number in range(20_000):
        one = fault(SEED, number)
        fits = (one.kind, one.case, one.engine, one.scene) == (kind, "blackout", "serial", "three")
        if fits and not one.over and not one.by_clock and 0.5 < one.moment < 0.8:
            return number
    raise LookupError(kind)


@pytest.mark.parametrize("what", SABOTAGE)
def test_a_program_that_was_made_worse_is_found_out(what):
    kind, said, sabotage = SABOTAGE[what]
    number = number_of(kind)
    assert campaign("--only", number).returncode == 0
    done = campaign("--only", number, before=sabotage)
    assert done.returncode == 1 and said in done.stderr


def test_a_fault_is_a_function_of_its_number():
    assert fault(1, 5) == fault(1, 5) != fault(2, 5)
    pairs = {(one.kind, one.case) for one in (fault(1, number) for number in range(10_000))}
    assert pairs == set(product(KINDS, CASES))


@pytest.mark.parametrize("quality", [60, 95])
def test_an_original_that_was_compressed_again_is_an_original(quality):
    buffer = io.BytesIO()
    Image.fromarray(portrait(2)).save(buffer, "JPEG", quality=quality)
    left = seen(buffer.getvalue(), [*scene("crowd").values()])
    assert left.eyes < SAME and left.distance < LIKE / 2
    left = seen(buffer.getvalue()[:-400], [encoded(portrait(1), ".png"), encoded(portrait(2), ".png")])
    assert left.eyes < SAME  # also where it is cut short


def test_another_face_is_none_of_the_originals():
    left = seen(encoded(newcomer(0), ".jpg"), [*scene("crowd").values(), b"no picture"])
    assert left.eyes > 2 * SAME and left.distance > LIKE
