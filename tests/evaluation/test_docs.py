"""docs/evaluation.md says what the commands and the JSON have."""

import dataclasses
import inspect
import typing
from pathlib import Path

import pytest
import typer.main

from faceveil.cli import app
from faceveil.evaluation import results

PAGE = (Path(__file__).parents[2] / "docs" / "evaluation.md").read_text(encoding="utf-8")
ALSO = {"help"}


@pytest.mark.parametrize("name", ["evaluate", "certify"])
def test_every_option_is_on_the_page(name):
    command = typer.main.get_command(app).commands[name]
    options = {
        max((*one.opts, *one.secondary_opts), key=lambda flag: flag.startswith("--no-"))
        for one in command.params
        if one.param_type_name == "option" and one.name not in ALSO
    }
    assert {"--subjects", "--cache", "--max-risk"} <= options
    assert sorted(flag for flag in options if flag not in PAGE) == []


def test_every_field_of_the_json_is_on_the_page():
    kinds = [
        kind
        for _, kind in inspect.getmembers(results, dataclasses.is_dataclass)
        if kind.__module__ == results.__name__
    ]
    assert results.Results in kinds and results.Exposed in kinds
    names = {field.name for kind in kinds for field in dataclasses.fields(typing.cast(type, kind))}
    assert sorted(name for name in names if f"`{name}`" not in PAGE and f"`{name}[]`" not in PAGE) == []
