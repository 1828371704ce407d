"""Decide, the second stage for a set: who is who, which group each face is in, and what it is replaced by.

A photo is released only if every face in it is. So one in which a face could not be checked afterwards takes no part;
and a face that finds no group takes its photo away, with the other faces in it, unless such faces are to be covered.
A group that loses people by that may fall below k. Then the faces that remain are grouped again, and what is still
too small after some rounds is withdrawn with its photos.
"""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from faceveil.errors import GroupingError
from faceveil.methods import Release, SetMethod
from faceveil.photos import write_bytes
from faceveil.pipeline.rows import write_array
from faceveil.pipeline.settings import Settings, rng_for
from faceveil.pipeline.subjects import subjects_of
from faceveil.pipeline.survey import HIDDEN, Surveyed
from faceveil.pipeline.watched import keep_known
from faceveil.privacy import Guarantee

Ints = NDArray[np.int64]
ROUNDS = 3
DECIDED = "decision.json"
ARRAYS = ("subjects", "groups", "pictures")
ITEM = "\0release"  # names the randomness of this stage; no file has such a name


@dataclass(frozen=True, eq=False)
class Decision:
    """For each face its person, group and picture (−1: not released), and why a face is not released.

    `round` counts how often people were grouped again (pipeline/regroup.py), `refused` are the photos that cannot be
    released whatever their groups, with the reason, and `again` those that once lost a group.
    """

    subjects: Ints
    groups: Ints
    pictures: Ints
    reasons: dict[int, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    figures: dict[str, float] = field(default_factory=dict)
    round: int = 0
    refused: dict[int, str] = field(default_factory=dict)
    again: tuple[int, ...] = ()


def decide(surveyed: Surveyed, names: Sequence[str], settings: Settings, method: SetMethod) -> Decision:
    """Take the decision and keep it in the private folder."""
    photos = surveyed.photo_of
    nothing = np.zeros((0, 0), np.float32)
    embeddings = surveyed.array("embeddings") if settings.subjects == "auto" and len(photos) else nothing
    subjects = subjects_of(settings.subjects, photos, names, embeddings)
    if len(photos):
        decision, crops = _grouped(surveyed, subjects, photos, settings, method)
    else:
        decision, crops = Decision(subjects, photos, photos), np.zeros((0, 1, 1, 3), np.uint8)
    keep(decision, crops, surveyed.folder, joins=settings.joins)
    return decision


def _grouped(
    surveyed: Surveyed, subjects: Ints, photos: Ints, settings: Settings, method: SetMethod
) -> tuple[Decision, NDArray[np.uint8]]:
    rng = rng_for(settings.seed, ITEM)
    k, whole_photos = method.guarantee.k or 1, takes_photos_away(settings)
    rows, reasons = np.arange(len(photos)), dict[int, str]()
    if whole_photos:  # what will not be released anyway must not take others with it
        hidden = np.isin(photos, [number for number, about in surveyed.photos.items() if about.hidden])
        rows, reasons = rows[~hidden], dict.fromkeys(rows[hidden].tolist(), HIDDEN)
    if not len(rows):
        none = np.full(len(photos), -1, np.int64)
        return Decision(subjects, none, none, reasons), np.zeros((0, 1, 1, 3), np.uint8)
    faces = surveyed.face_set(subjects, rows)
    for round_ in range(ROUNDS):
        try:
            release = method.release(faces, rng)
        except GroupingError as error:
            if round_ == 0:
                raise
            reasons |= {int(row): str(error) for row in rows}
            release = _nothing(len(rows))
        if round_ == 0:
            keep_known(settings, faces, rows, len(photos), surveyed.folder)
        check_release(release, faces.subjects, method.guarantee)
        reasons |= {int(rows[face]): reason for face, reason in release.reasons.items()}
        groups, pictures = _spread(release.groups, rows, photos), _spread(release.pictures, rows, photos)
        without = set(photos[groups < 0].tolist())
        if not whole_photos:
            break
        lost = withdrawn(groups, subjects, photos, without, k)
        if lost == without or round_ == ROUNDS - 1:
            break
        left = np.flatnonzero(~np.isin(photos[rows], list(without)))
        if not len(left):
            break
        rows, known = rows[left], faces.known_of(left)
        faces = surveyed.face_set(subjects, rows)
        faces.known.update(known)
    numbers = shuffled_numbers(groups, rng)
    return Decision(subjects, numbers, pictures, reasons, release.notes, release.figures), release.crops


def takes_photos_away(settings: Settings) -> bool:
    """Whether a face without a group stops its photo: it is neither left out as a crop nor covered."""
    return settings.release == "photos" and settings.leftover == "quarantine"


def decided(folder: Path) -> Decision | None:
    """The decision that was taken before, if one was."""
    return _read(folder) if (folder / DECIDED).exists() else None


def withdrawn(groups: Ints, subjects: Ints, photos: Ints, lost: Collection[int], k: int) -> set[int]:
    """All photos that cannot be released once these are lost, because a group in them would fall below k people."""
    gone = set(lost)
    while True:
        released = (groups >= 0) & ~np.isin(photos, list(gone))
        people = people_in_groups(groups[released], subjects[released])
        small = [group for group, count in people.items() if count < k]
        more = set(photos[released & np.isin(groups, small)].tolist())
        if not more:
            return gone
        gone |= more


def people_in_groups(groups: Ints, subjects: Ints) -> dict[int, int]:
    """How many different people each group holds."""
    pairs = np.unique(np.stack([groups, subjects], axis=1), axis=0)
    numbers, counts = np.unique(pairs[:, 0], return_counts=True)
    return dict(zip(numbers.tolist(), counts.tolist(), strict=True))


def check_release(release: Release, subjects: Ints, guarantee: Guarantee) -> None:
    """What a method returns must keep what it claims, or nothing is released."""
    groups, pictures, count = release.groups, release.pictures, len(subjects)
    if groups.shape != (count,) or pictures.shape != (count,):
        raise GroupingError(f"the method decided on {groups.shape} of {count} faces; nothing is released.")
    if ((groups < 0) != (pictures < 0)).any() or (pictures >= len(release.crops)).any():
        raise GroupingError("the method names a picture that is not there; nothing is released.")
    if guarantee.k is None:
        return
    for group, people in people_in_groups(groups[groups >= 0], subjects[groups >= 0]).items():
        if people < guarantee.k:
            raise GroupingError(
                f"k={guarantee.k} is claimed and a group has {people} people; nothing is released."
            )
        if len(np.unique(pictures[groups == group])) > 1:
            raise GroupingError(
                "k-anonymity is claimed and a group shows different faces; nothing is released."
            )


def _nothing(count: int) -> Release:
    none = np.full(count, -1, np.int64)
    return Release(none, none, np.zeros((0, 1, 1, 3), np.uint8))


def _spread(values: Ints, rows: Ints, photos: Ints) -> Ints:
    whole = np.full(len(photos), -1, np.int64)
    whole[rows] = values
    return whole


def shuffled_numbers(groups: Ints, rng: np.random.Generator) -> Ints:
    """Groups numbered from 1 by chance, so that a number does not tell the order of the originals."""
    numbered = np.full(len(groups), -1, np.int64)
    there, which = np.unique(groups[groups >= 0], return_inverse=True)
    numbered[groups >= 0] = (rng.permutation(len(there)) + 1)[which]
    return numbered


def keep(decision: Decision, crops: NDArray[np.uint8], folder: Path, *, joins: bool) -> None:
    """Write the pictures, their codes if they are to be joined with photos, and then in one step the decision that
    names them."""
    write_array(pictures_file(folder, decision.round), crops)
    if joins:
        from faceveil.methods.joined import codes_of_pictures

        write_array(_codes_file(folder, decision.round), codes_of_pictures(crops))
    content = {
        **{name: getattr(decision, name).tolist() for name in ARRAYS},
        **{name: getattr(decision, name) for name in ("reasons", "notes", "round", "refused", "again")},
        "figures": {name: float(value) for name, value in decision.figures.items()},
    }
    write_bytes(json.dumps(content).encode(), folder / DECIDED, overwrite=True)


def pictures_file(folder: Path, round_: int) -> Path:
    """All pictures that the decision of this round names."""
    return folder / f"pictures-{round_}.npy"


def read_codes(folder: Path, round_: int) -> NDArray[np.float16] | None:
    """The codes of these pictures, if they are to be joined with photos."""
    file = _codes_file(folder, round_)
    return np.asarray(np.load(file), np.float16) if file.exists() else None


def _codes_file(folder: Path, round_: int) -> Path:
    return folder / f"codes-{round_}.npy"


def _read(folder: Path) -> Decision:
    content = json.loads((folder / DECIDED).read_text(encoding="utf-8"))
    subjects, groups, pictures = (np.array(content[name], np.int64) for name in ARRAYS)
    reasons, refused = (_with_numbers(content[name]) for name in ("reasons", "refused"))
    notes, again = tuple(content["notes"]), tuple(content["again"])
    return Decision(
        subjects, groups, pictures, reasons, notes, content["figures"], content["round"], refused, again
    )


def _with_numbers(reasons: dict[str, str]) -> dict[int, str]:
    return {int(number): reason for number, reason in reasons.items()}
