"""faceveil methods: every method, one line each, and what it guarantees."""

import json
from typing import Annotated

import typer


def methods(as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False) -> None:
    """List the methods: what each does, its strength, and what it guarantees."""
    from faceveil.methods import DEFAULT, METHODS

    rows = [
        {
            "id": entry.id,
            "summary": entry.summary,
            "strength": entry.meaning,
            "default_strength": entry.default_meaning or None,
            "shapes": [] if entry.place else list(entry.shapes),
            "guarantee": entry.guarantee.sentence,
            "default": entry.id == DEFAULT,
        }
        for entry in METHODS.values()
    ]
    if as_json:
        print(json.dumps(rows, indent=2))
        return
    for row in rows:
        strength = (
            f"--strength: {row['strength']} (default {row['default_strength']})" if row["strength"] else ""
        )
        default = " (default)" if row["default"] else ""
        print(f"{row['id']:<10} {row['summary']}{default}. {row['guarantee']} {strength}".rstrip())
