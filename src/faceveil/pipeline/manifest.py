"""Summary of a finished run, and run.json, which says how a folder was made and nothing about who is in it."""

import json
from dataclasses import dataclass

from faceveil import __version__
from faceveil.pipeline.journal import Outcome
from faceveil.pipeline.plan import Plan
from faceveil.pipeline.settings import Settings


@dataclass
class Summary:
    """A finished run."""

    outcomes: list[Outcome]
    settings: Settings
    plan: Plan
    seconds: float

    @property
    def quarantined(self) -> list[Outcome]:
        """The photos that were not written."""
        return [outcome for outcome in self.outcomes if outcome.status == "quarantined"]

    @property
    def exit_code(self) -> int:
        """0 if every photo was written, 3 if any was quarantined."""
        return 3 if self.quarantined else 0

    def counts(self) -> dict[str, int]:
        """How many of what."""
        statuses = [outcome.status for outcome in self.outcomes]
        return {
            "photos": len(statuses),
            "protected": statuses.count("protected"),
            "without_a_face": statuses.count("no-face"),
            "quarantined": statuses.count("quarantined"),
            "faces": sum(outcome.faces for outcome in self.outcomes),
            "faces_found_by_the_second_detector": sum(outcome.found_late for outcome in self.outcomes),
            "skipped_files": len(self.plan.skipped),
        }


def manifest(summary: Summary) -> bytes:
    """run.json: how the folder was made, in numbers only. No file names, no seed, nothing about a person."""
    from faceveil.models.cards import all_cards
    from faceveil.privacy.guarantee import NOT_COVERED

    stages: dict[str, float] = {}
    for outcome in summary.outcomes:
        for stage, seconds in outcome.seconds.items():
            stages[stage] = stages.get(stage, 0.0) + seconds
    cards = all_cards()
    content = {
        "faceveil": __version__,
        **summary.settings.describe(),
        "guarantee": summary.settings.method.guarantee.sentence,
        "not_covered": list(NOT_COVERED),
        "weights": {
            name: {member.path: member.sha256 for member in cards[name].members}
            for name in summary.settings.cards
        },
        "counts": summary.counts(),
        "seconds": {"total": round(summary.seconds, 3), **{k: round(v, 3) for k, v in stages.items()}},
    }
    return (json.dumps(content, indent=2) + "\n").encode()
