"""How many people are behind a group's faces, as far as the released files tell without the run's own count.

each    every face is a person: counted again
folder  every folder is a person: counted again in photos; crops bear no names
a file  every photo shows one person: the run cannot have counted more people than photos
auto    a recogniser joined faces of the originals, which are gone: no more people than faces
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath


@dataclass(frozen=True)
class Recount:
    """People of each group among the files that are there. `exact`, or the most that there can be."""

    people: Mapping[int, int]
    exact: bool


def recount(subjects: str, kind: str, places: Mapping[int, Sequence[str]]) -> Recount:
    """`places`: of each group the photo (or crop) that each of its faces was found in."""
    if subjects == "folder" and kind == "photos":
        folders = {group: {PurePosixPath(name).parent for name in names} for group, names in places.items()}
        return Recount({group: len(found) for group, found in folders.items()}, exact=True)
    if subjects == "file" and kind == "photos":
        return Recount({group: len(set(names)) for group, names in places.items()}, exact=False)
    return Recount({group: len(names) for group, names in places.items()}, exact=subjects == "each")
