"""The README's commands work as they are printed."""

import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = [line.split("#")[0].strip() for line in README.splitlines() if line.startswith("    faceveil ")]
# These say what they found by their exit code; a set may have faces that no group takes.
VERDICTS = ("faceveil leaks", "faceveil certify", "faceveil anonymize PHOTOS -o OUT -k")


@pytest.fixture(scope="module")
def place(tmp_path_factory, examples) -> Path:
    """A folder with what the commands name."""
    folder = tmp_path_factory.mktemp("readme")
    shutil.copytree(examples, folder / "photos")
    shutil.copytree(examples, folder / "PHOTOS")
    shutil.copy(examples / "portrait-1.jpg", folder / "photo.jpg")
    np.save(folder / "vectors.npy", np.random.default_rng(0).normal(size=(40, 8)))
    return folder


@pytest.mark.parametrize("number", range(len(COMMANDS)))
def test_a_command_of_the_readme_works(place, number):
    command = re.sub(r"\bOUT\b", f"OUT-{number}", COMMANDS[number])
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(command, shell=True, cwd=place, env=environment, capture_output=True, text=True)
    allowed = (0, 3) if COMMANDS[number].startswith(VERDICTS) else (0,)
    assert done.returncode in allowed, f"{command}: {done.stderr}"
    assert "Traceback" not in done.stderr


def test_the_python_example_works(place, monkeypatch):
    monkeypatch.chdir(place)
    shutil.rmtree(place / "out", ignore_errors=True)
    (code,) = re.findall(r"((?:    import faceveil\n)(?:    .*\n)+)", README)
    scope: dict[str, object] = {}
    exec(code.replace("    ", "", 1).replace("\n    ", "\n"), scope)
    assert scope["summary"].counts()["photos"] == 7


def test_the_table_of_methods_is_complete():
    from faceveil.methods import METHODS

    named = set(re.findall(r"^\| `([a-z0-9-]+)`", README, re.MULTILINE))
    assert named == set(METHODS)


def test_the_page_of_commands_is_what_the_program_says():
    scope = runpy.run_path(str(ROOT / "docs" / "reference.py"))
    written = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    assert written == scope["page"](), "run: python docs/reference.py"
