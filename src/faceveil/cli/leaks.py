"""faceveil leaks: what a file carries besides its pixels."""

from pathlib import Path


def leaks(files: list[Path]) -> None:
    """List what each file still carries besides its pixels."""
