"""What the pages say of the command line is true of it."""

import re
import shlex
from pathlib import Path

import pytest
import typer

from faceveil.cli import app

ROOT = Path(__file__).parent.parent
PAGES = sorted({*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("[!.]*/README.md")})
COMMANDS = sorted(
    {
        (page.relative_to(ROOT).as_posix(), line.split(" #")[0].strip())
        for page in PAGES
        for line in page.read_text(encoding="utf-8").splitlines()
        if line.startswith("    faceveil ")
    }
)


@pytest.mark.parametrize(("page", "line"), COMMANDS)
def test_a_command_on_a_page_is_one_the_program_knows(page, line):
    words = shlex.split(re.sub(r"[\[\]]", " ", line))[1:]  # options in brackets are there to be left out
    command = typer.main.get_command(app)
    while hasattr(command, "commands"):
        command = command.commands[words.pop(0)]
    _, left, _ = command.make_parser(typer.Context(command)).parse_args(words)  # an unknown option raises
    assert not left, f"{page}: {line}"


@pytest.mark.parametrize("page", [p.relative_to(ROOT).as_posix() for p in PAGES])
def test_every_link_of_a_page_leads_somewhere(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#\s]+)", text):
        assert (ROOT / page).parent.joinpath(target).exists(), target
