"""Where a command or a function may write: over nothing that it reads, over nothing that is there unless told so."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from faceveil.errors import OutputError

if TYPE_CHECKING:
    from faceveil.evaluation import Options


def check_places(places: Iterable[Path | None], inputs: Iterable[Path | None], *, overwrite: bool) -> None:
    """Refuse a place that cannot or must not be written, before hours of work. None and '-' are no places."""
    chosen = [place for place in places if place is not None and str(place) != "-"]
    read = [Path(os.path.realpath(one)) for one in inputs if one is not None]
    taken: set[Path] = set()
    for place in chosen:
        real = Path(os.path.realpath(place))
        if real in taken:
            raise OutputError(f"{place} is given for two results. Give each a file of its own.")
        taken.add(real)
        for source in read:
            if real == source or source in real.parents:
                where = "is read" if real == source else f"lies inside {source}, which is read"
                raise OutputError(f"{place} {where}: nothing is written there. Choose another place.")
        if place.is_dir():
            raise OutputError(f"{place} is a folder. Give the name of a file.")
        if os.path.lexists(place) and not overwrite:
            raise OutputError(f"{place} exists already. Choose another name, or give --overwrite.")
        if not place.parent.is_dir():
            raise OutputError(f"{place.parent} is not a folder. Make it first.")


def check_results(
    originals: Path, anonymised: Path, options: "Options", places: "Iterable[Path | None]", *, overwrite: bool
) -> None:
    """Refuse results over what is read, or in the release: they name originals, and a cache is biometric data."""
    tables = [options.groups, options.clusters, options.pairs, options.inception]
    tables += [Path(options.subjects)] if Path(options.subjects).is_file() else []
    cards = [model.with_suffix(".toml") for model in options.own_models]
    inputs = [originals, anonymised, options.attacker_faces, *tables, *options.own_models, *cards]
    check_places([*places], [*inputs, options.cache], overwrite=overwrite)
    check_places([options.cache], inputs, overwrite=True)
