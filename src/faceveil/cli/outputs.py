"""What a command may write to: checked before the work, and again when the file takes its name."""

from collections.abc import Sequence
from pathlib import Path


def check_outputs(outputs: Sequence[Path | None], inputs: Sequence[Path | None], overwrite: bool) -> None:
    """Refuse what is read itself or named twice, and what exists unless it may be overwritten."""
    import os

    from faceveil.errors import OutputError

    taken = {os.path.realpath(path): "is read itself" for path in inputs if path is not None}
    for path in outputs:
        if path is None:
            continue
        place = os.path.realpath(path)
        if place in taken:
            raise OutputError(f"{path} {taken[place]} and is not overwritten. Choose another name.")
        if os.path.lexists(path) and not overwrite:
            raise OutputError(f"{path} exists. Choose another name, or give --overwrite.")
        taken[place] = "is the name of another output"
