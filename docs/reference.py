"""Write docs/reference.md from the program itself: python docs/reference.py"""

from pathlib import Path
from typing import Any

import typer.main

from faceveil.cli import app

PAGE = Path(__file__).with_name("reference.md")


def page() -> str:
    """Every command with its arguments, options and defaults."""
    root = typer.main.get_command(app)
    parts = ["# Commands", "Written by `python docs/reference.py` from the program itself."]
    return "\n\n".join([*parts, *_commands(root, "faceveil")]) + "\n"


def _commands(command: Any, name: str) -> list[str]:
    if hasattr(command, "commands"):
        return [
            part
            for key in sorted(command.commands)
            for part in _commands(command.commands[key], f"{name} {key}")
        ]
    text = " ".join((command.help or "").split())
    rows = [_row(parameter) for parameter in command.params if parameter.name != "help"]
    table = ["| | what it is | default |", "| --- | --- | --- |", *rows]
    return [f"## {name}", text, "\n".join(table)] if rows else [f"## {name}", text]


def _row(parameter: Any) -> str:
    names = ", ".join(f"`{name}`" for name in parameter.opts)
    if parameter.param_type_name == "argument":
        names = f"`{(parameter.name or '').upper()}`"
    said = " ".join((getattr(parameter, "help", None) or "").split()).replace("|", "\\|")
    default = parameter.default
    shown = "" if default is None or callable(default) or default is False else str(default)
    return f"| {names} | {said}{' (required)' if parameter.required else ''} | {shown} |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
