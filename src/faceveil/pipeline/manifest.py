"""Summary of a finished run, and run.json, which says how a folder was made and nothing about who is in it."""

import json
from dataclasses import dataclass, field

from faceveil import __version__
from faceveil.pipeline.journal import Outcome
from faceveil.pipeline.plan import Plan
from faceveil.pipeline.settings import Settings
from faceveil.privacy.guarantee import (
    NOT_COVERED,
    NOT_COVERED_BY_CROPS,
    NOT_COVERED_IN_A_SET,
    NOT_COVERED_JOINED,
    joined,
)  # fmt: skip
from faceveil.privacy.record import ReleaseRecord, name_key
from faceveil.show import Displayed, Table

COVERED_FACES = "the claim does not count them, and hair and clothes around them stay."
NO_FACES = "No face was replaced, so nothing is claimed; a face that no detector found would still be there."
FACE_REGION = "In photos that is so for the face region, up to resampling and compression."


@dataclass(frozen=True)
class SetResult:
    """What a method that takes all faces at once released, and how many people it saw."""

    record: ReleaseRecord
    people: int
    figures: dict[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    seconds: dict[str, float] = field(default_factory=dict)  # by stage, of the clock on the wall
    crops: dict[str, str] = field(default_factory=dict)  # the hash of each, where crops are released


@dataclass(repr=False)
class Summary(Displayed):
    """A finished run."""

    outcomes: list[Outcome]
    settings: Settings
    plan: Plan
    seconds: float
    result: SetResult | None = None  # of a method that takes all faces at once

    @property
    def quarantined(self) -> list[Outcome]:
        """The photos that were not written."""
        return [outcome for outcome in self.outcomes if outcome.status == "quarantined"]

    def table(self) -> Table:
        """One row for each photo, and what the result may claim."""
        counts = self.counts()
        title = (
            f"{counts['faces']} faces in {counts['protected']} photos protected with {self.settings.method.id}, "
            f"{counts['without_a_face']} photos without a face, {counts['quarantined']} quarantined"
        )
        # What is wrong with some is what a reader must not miss in a long table.
        ordered = sorted(self.outcomes, key=lambda outcome: outcome.status != "quarantined")
        rows = [(one.name, one.status, one.faces, one.reason or "; ".join(one.notes)) for one in ordered]
        return Table(title, ("photo", "status", "faces", "note"), rows, (self.guarantee,))

    @property
    def exit_code(self) -> int:
        """0 if everything was released, 3 if a photo was quarantined, a face withheld or a folder not opened."""
        withheld = any(outcome.withheld for outcome in self.outcomes)
        return 3 if self.quarantined or withheld or self.plan.unseen else 0

    @property
    def guarantee(self) -> str:
        """What the result may claim, in words; of photos, where in them."""
        if not self.counts()["faces"]:
            return NO_FACES
        claim = self.settings.method.guarantee
        in_photos = self.result is not None and self.result.record.kind == "photos" and claim.k is not None
        if in_photos and self.settings.joins:
            sentence = joined(claim).sentence
        else:
            sentence = f"{claim.sentence} {FACE_REGION}" if in_photos else claim.sentence
        covered = sum(outcome.covered for outcome in self.outcomes)
        if not covered:
            return sentence
        faces = "1 face is" if covered == 1 else f"{covered} faces are"
        return f"{sentence} {faces} in no group and covered in black: {COVERED_FACES}"

    @property
    def not_covered(self) -> tuple[str, ...]:
        """What nobody should expect of the result."""
        if self.result is None:
            return NOT_COVERED
        if self.result.record.kind == "crops":
            return NOT_COVERED_BY_CROPS
        more = NOT_COVERED_JOINED if self.settings.joins else ()
        return NOT_COVERED + NOT_COVERED_IN_A_SET + more

    @property
    def files(self) -> dict[str, str]:
        """The SHA-256 of every released file, by what stands for its name: of nothing that was read."""
        written = {outcome.name: outcome.sha256 for outcome in self.outcomes if outcome.sha256}
        crops = self.result.crops if self.result else {}
        return dict(sorted((name_key(name), digest) for name, digest in {**written, **crops}.items()))

    def counts(self) -> dict[str, int]:
        """How many of what."""
        statuses = [outcome.status for outcome in self.outcomes]
        of_a_set = {}
        if self.result is not None:
            of_a_set = {
                "people": self.result.people,
                "groups": len(self.result.record.groups),
                "faces_withheld": sum(outcome.withheld for outcome in self.outcomes),
                "faces_covered": sum(outcome.covered for outcome in self.outcomes),
            }
        return {
            "photos": len(statuses),
            "protected": statuses.count("protected"),
            "without_a_face": statuses.count("no-face"),
            "quarantined": statuses.count("quarantined"),
            "faces": sum(outcome.faces for outcome in self.outcomes),
            "faces_found_by_the_second_detector": sum(outcome.found_late for outcome in self.outcomes),
            "skipped_files": len(self.plan.skipped),
            **of_a_set,
        }


def manifest(summary: Summary) -> bytes:
    """run.json: how the folder was made, in numbers only. No file names, no seed, nothing about a person."""
    from faceveil.models.cards import all_cards

    stages: dict[str, float] = dict(summary.result.seconds) if summary.result else {}
    for outcome in summary.outcomes:
        for stage, seconds in outcome.seconds.items():
            stages[stage] = stages.get(stage, 0.0) + seconds
    cards = all_cards()
    content = {
        "faceveil": __version__,
        **summary.settings.describe(),
        "guarantee": summary.guarantee,
        "not_covered": list(summary.not_covered),
        "weights": {
            name: {member.path: member.sha256 for member in cards[name].members}
            for name in summary.settings.cards
        },
        "counts": summary.counts(),
        "seconds": {"total": round(summary.seconds, 3), **{k: round(v, 3) for k, v in stages.items()}},
    }
    if summary.result is not None:
        content["figures"] = summary.result.figures
        content["released"] = summary.result.record.to_json()
    content["files"] = summary.files
    return (json.dumps(content, indent=2) + "\n").encode()
