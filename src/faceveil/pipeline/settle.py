"""Settle what of a set can be released: its record, judged by the code of `verify` before anything claims it holds.

Each photo was examined when it was written, and the cuts of its faces are kept in the private folder. Here they are
compared within their groups, which takes all photos. What does not hold is refused, and who then has too few people
in a group falls with it; until the rest holds.
"""

import io
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

import numpy as np

from faceveil.faces import Alignment
from faceveil.faces.face_set import CROP_SIZE
from faceveil.faces.put_in import Member
from faceveil.models.npz import opened
from faceveil.photos import write_bytes
from faceveil.pipeline.decide import Decision, people_in_groups, read_codes
from faceveil.pipeline.plan import Plan
from faceveil.pipeline.regroup import fallen_photos
from faceveil.pipeline.settings import Settings
from faceveil.pipeline.survey import Surveyed
from faceveil.privacy.claim import OF_A_GROUP, judge_photos
from faceveil.privacy.examine import Finding
from faceveil.privacy.record import COVERED, GroupSize, ReleaseRecord, ReplacedFace, name_key
from faceveil.privacy.same_face import Cut

REMEDY = "Cover the face by hand, or use --method blackout --shape box."


def settled(
    plan: Plan, settings: Settings, surveyed: Surveyed, decision: Decision, refused: Mapping[int, str]
) -> dict[int, str]:
    """The photos that cannot be released, with the reason, without those that only lose a group to them."""
    k, lost = settings.method.guarantee.k, dict(refused)
    if k is None:
        return lost
    numbers = {plan.jobs[number].name: number for number in surveyed.photos}
    while True:
        gone = {*lost, *fallen_photos(decision, surveyed.photo_of, lost, k)}
        there = [name for name, number in numbers.items() if number not in gone]
        record = record_of(plan, settings, surveyed, decision, [numbers[name] for name in there])
        how = str(settings.describe()["subjects"])
        found = judge_photos(
            record, how, there, lambda name: read_cuts(surveyed.folder, numbers[name])
        ).findings
        if not found:
            return lost
        for finding in found:
            for number in _photos_of(finding, numbers, surveyed, decision):
                lost.setdefault(number, reason_of(finding))


def _photos_of(
    finding: Finding, numbers: Mapping[str, int], surveyed: Surveyed, decision: Decision
) -> Iterable[int]:
    """Those that a finding is about: a photo, or all with a face of a group."""
    if finding.kind not in OF_A_GROUP:
        return [numbers[finding.where]]
    group = int(finding.where.removeprefix("group "))
    return {int(number) for number in surveyed.photo_of[decision.groups == group]}


def reason_of(finding: Finding) -> str:
    """Why a photo is not released."""
    return f"its result would not hold: {finding.reason} {REMEDY}"


def record_of(
    plan: Plan, settings: Settings, surveyed: Surveyed, decision: Decision, released: Collection[int]
) -> ReleaseRecord:
    """What anyone needs to check the claim, if these photos are released."""
    there = (decision.groups >= 0) & np.isin(surveyed.photo_of, list(released))
    groups, subjects = decision.groups[there], decision.subjects[there]
    faces = dict(zip(*(part.tolist() for part in np.unique(groups, return_counts=True)), strict=True))
    sizes = {
        group: GroupSize(faces[group], people) for group, people in people_in_groups(groups, subjects).items()
    }
    k = settings.method.guarantee.k
    if settings.release == "crops":
        return ReleaseRecord("crops", k, sizes)
    recorded = faces_by_photo(surveyed, decision)
    photos = {name_key(plan.jobs[number].name): recorded[number] for number in released}
    return ReleaseRecord("photos", k, sizes, photos)


def faces_by_photo(surveyed: Surveyed, decision: Decision) -> dict[int, tuple[ReplacedFace, ...]]:
    """Of each photo the group and the place of its faces, in the order of replacing."""
    alignments = np.array(surveyed.array("alignments")) if len(surveyed) else np.zeros((0, 2, 3))
    groups = np.maximum(decision.groups, COVERED).tolist()
    codes = read_codes(surveyed.folder, decision.round)

    def face(row: int) -> ReplacedFace:
        place = Alignment(alignments[row], CROP_SIZE)
        if codes is None or groups[row] == COVERED:
            return ReplacedFace(groups[row], place)
        code = codes[decision.pictures[row]].astype(np.float32)
        return ReplacedFace(groups[row], place, Member(place, code, surveyed.seen(row)))

    return {
        number: tuple(face(row) for row in range(about.first, about.first + about.count))
        for number, about in surveyed.photos.items()
    }


def keep_cuts(folder: Path, number: int, cuts: list[Cut]) -> None:
    """Keep what is compared later; they show released faces alone."""
    buffer = io.BytesIO()
    pixels, visible = (np.array([getattr(cut, name) for cut in cuts]) for name in ("pixels", "visible"))
    np.savez(buffer, pixels=pixels, visible=visible, sides=np.array([cut.side for cut in cuts]))
    write_bytes(buffer.getvalue(), _file(folder, number), overwrite=True)


def read_cuts(folder: Path, number: int) -> list[Cut]:
    """The cuts of one photo."""
    with opened(_file(folder, number)) as found:
        columns = found["pixels"], found["visible"], found["sides"].tolist()
    return [Cut(pixels, visible, side) for pixels, visible, side in zip(*columns, strict=True)]


def _file(folder: Path, number: int) -> Path:
    return folder / f"cuts-{number:07d}.npz"
