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
            "options": list(entry.options),
            "strength": getattr(entry, "meaning", None),
            "default_strength": getattr(entry, "default_meaning", None) or None,
            "shapes": [] if getattr(entry, "place", None) else list(getattr(entry, "shapes", ())),
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
        print(f"{row['id']:<16} {row['summary']}{default}. {row['guarantee']} {strength}".rstrip())
