"""Group again: a photo that fails the look at its result takes people from its groups, and not the others with them.

People whose group fell below k and whose own photos are fine are grouped anew among themselves and get new faces, and
their photos are written and looked at again. Where they are few, groups that were well are taken along, so that there
is somebody to be alike. What is still without a group after some rounds is left out.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from faceveil.errors import GroupingError
from faceveil.methods import Release, SetMethod
from faceveil.pipeline.decide import (
    ITEM,
    Decision,
    Ints,
    check_release,
    pictures_file,
    shuffled_numbers,
    takes_photos_away,
    withdrawn,
)
from faceveil.pipeline.settings import Settings, rng_for
from faceveil.pipeline.survey import Surveyed

ROUNDS = 3
ENOUGH = 3  # times k: with as many people nobody else is taken along


@dataclass(frozen=True, eq=False)
class Regrouped:
    """The next decision with all its pictures, and the photos that must be written anew."""

    decision: Decision
    crops: NDArray[np.uint8]
    photos: frozenset[int]


def regroup(
    surveyed: Surveyed, decision: Decision, refused: Mapping[int, str], settings: Settings, method: SetMethod
) -> Regrouped | None:
    """New groups for those who lost theirs to refused photos; None where nothing can be done for them."""
    k, photos = method.guarantee.k or 1, surveyed.photo_of
    fallen = fallen_photos(decision, photos, refused, k)
    if not fallen or decision.round == ROUNDS:
        return None
    rng = rng_for(settings.seed, f"{ITEM}-{decision.round + 1}")
    rows = _without_group(decision, photos, fallen, refused, ENOUGH * k, rng)
    faces = surveyed.face_set(decision.subjects, rows)
    try:
        release = method.release(faces, rng)
        check_release(release, faces.subjects, method.guarantee)
    except GroupingError:  # too few people, or a claim that does not hold
        return None
    if not len(release.crops):
        return None
    before = np.load(pictures_file(surveyed.folder, decision.round))
    crops = np.concatenate([before, release.crops])
    later = _with_release(decision, rows, release, len(before), rng)
    later = replace(later, refused=dict(refused), again=tuple(sorted({*decision.again, *fallen})))
    lost = {*refused, *groupless_photos(later, photos, settings)}
    if len(lost | fallen_photos(later, photos, lost, k)) >= len(fallen) + len(refused):
        return None
    return Regrouped(later, crops, frozenset({*fallen, *photos[rows].tolist()}))


def fallen_photos(decision: Decision, photos: Ints, refused: Collection[int], k: int) -> set[int]:
    """The photos that are fine themselves, and lose a group because these are refused."""
    return withdrawn(decision.groups, decision.subjects, photos, refused, k) - set(refused)


def groupless_photos(decision: Decision, photos: Ints, settings: Settings) -> set[int]:
    """The photos that a face without a group keeps from being released."""
    return set(photos[decision.groups < 0].tolist()) if takes_photos_away(settings) else set()


def _without_group(
    decision: Decision,
    photos: Ints,
    fallen: Collection[int],
    refused: Collection[int],
    enough: int,
    rng: np.random.Generator,
) -> Ints:
    """The faces that need a group: those of groups that fell, and where they are few, of others drawn by chance."""
    groups = np.where(np.isin(photos, list(refused)), -1, decision.groups)
    stay = (groups >= 0) & ~np.isin(photos, list(fallen))
    well = np.unique(groups[stay])
    wanted = (groups >= 0) & ~np.isin(groups, well)
    for group in rng.permutation(well):
        if len(np.unique(decision.subjects[wanted])) >= enough:
            break
        wanted |= groups == group
    return np.flatnonzero(wanted)


def _with_release(
    decision: Decision, rows: Ints, release: Release, pictures: int, rng: np.random.Generator
) -> Decision:
    """The decision with new groups for these rows; their pictures follow after as many."""
    groups, shown = decision.groups.copy(), decision.pictures.copy()
    groups[rows] = _after(release.groups, int(groups.max()) + 1)
    shown[rows] = _after(release.pictures, pictures)
    reasons = {int(rows[face]): reason for face, reason in release.reasons.items()}
    return replace(
        decision,
        groups=shuffled_numbers(groups, rng),
        pictures=shown,
        reasons=decision.reasons | reasons,
        round=decision.round + 1,
    )


def _after(numbers: Ints, first: int) -> Ints:
    """The same numbers, counted from here on; −1 stays."""
    return np.where(numbers < 0, -1, numbers + first)
