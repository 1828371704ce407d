"""Plan, run, engines, manifest."""

from faceveil.pipeline.journal import Outcome
from faceveil.pipeline.manifest import Summary
from faceveil.pipeline.plan import Job, Plan, make_plan
from faceveil.pipeline.protect import Protected, protect_photo
from faceveil.pipeline.run import anonymize, run
from faceveil.pipeline.settings import Settings

__all__ = [
    "Job",
    "Outcome",
    "Plan",
    "Protected",
    "Settings",
    "Summary",
    "anonymize",
    "make_plan",
    "protect_photo",
    "run",
]
