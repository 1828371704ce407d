"""docs/api.md: every example gives what the page says, and every public name has one."""

import doctest
import re
import shutil
from pathlib import Path

import pytest

import faceveil

PAGE = Path(__file__).parents[2] / "docs" / "api.md"
SECTIONS = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.fixture(scope="module")
def place(tmp_path_factory, examples):
    """The folder that the page speaks of; the sections follow each other in it."""
    folder = tmp_path_factory.mktemp("api")
    (folder / "in").mkdir()
    for photo in sorted(examples.glob("portrait-*.jpg")):
        shutil.copy(photo, folder / "in")
    shutil.copy(examples / "portrait-1.jpg", folder)
    shutil.copy(examples / "wall.jpg", folder)
    return folder


@pytest.fixture(scope="module")
def names():
    return {}


@pytest.mark.parametrize("number", range(len(SECTIONS)), ids=[text.splitlines()[0] for text in SECTIONS])
def test_the_examples_give_what_the_page_says(number, place, names, monkeypatch):
    monkeypatch.chdir(place)
    example = doctest.DocTestParser().get_doctest(SECTIONS[number], names, PAGE.name, str(PAGE), 0)
    said: list[str] = []
    failed, _ = doctest.DocTestRunner(optionflags=FLAGS, verbose=False).run(
        example, out=said.append, clear_globs=False
    )
    names |= example.globs
    assert not failed, "".join(said)


def test_every_function_has_an_example():
    text = PAGE.read_text(encoding="utf-8")
    functions = [name for name in faceveil.__all__ if name[0].islower()]
    assert [
        name
        for name in functions
        if not re.search(rf">>> .*faceveil\.{name}\(|\.\.\. .*faceveil\.{name}\(", text)
    ] == []
