"""Settings: everything that decides what a run does to a photo, and nothing else. They travel to workers."""

import hashlib
import json
import secrets
from dataclasses import dataclass, field

import numpy as np

from faceveil import __version__
from faceveil.errors import UsageError
from faceveil.faces.detect import CARDS, DETECTORS
from faceveil.methods import Method, method
from faceveil.photos import MAX_PIXELS
from faceveil.photos.metadata import check_keep

SECOND = {"yunet": "blazeface", "haar": "blazeface", "blazeface": "yunet"}  # who checks whose work


@dataclass(frozen=True)
class Settings:
    """How each photo is protected. `seed` makes random draws repeatable and is never written anywhere."""

    method: Method = field(default_factory=method)
    detector: str = "yunet"
    thorough: bool = False  # scan longer for small faces
    keep: tuple[str, ...] = ()  # metadata to keep, by name
    max_pixels: int = MAX_PIXELS
    seed: int | None = None

    def __post_init__(self) -> None:
        if self.detector not in DETECTORS:
            raise UsageError(f"no detector {self.detector!r}; there are {', '.join(DETECTORS)}.")
        check_keep(self.keep)

    @property
    def cards(self) -> list[str]:
        """The weights this run needs."""
        names = [CARDS[self.detector], CARDS[SECOND[self.detector]], "facemesh.468"]
        return [*(name for name in names if name), *self.method.cards]

    def describe(self) -> dict[str, object]:
        """What may be published about these settings."""
        return {
            "method": self.method.id,
            "parameters": self.method.parameters,
            "detector": self.detector,
            "second_detector": SECOND[self.detector],
            "thorough": self.thorough,
            "kept_metadata": list(self.keep),
        }

    @property
    def fingerprint(self) -> str:
        """The same for runs that may continue each other."""
        text = json.dumps([__version__, self.describe(), self.max_pixels], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


def rng_for(seed: int | None, item: str) -> np.random.Generator:
    """Randomness of one item: from the system, or from the seed and the item's name, so that order and engine
    do not matter."""
    if seed is None:
        return np.random.default_rng(secrets.randbits(128))
    digest = hashlib.sha256(f"{seed}\0{item}".encode()).digest()
    return np.random.default_rng(int.from_bytes(digest, "big"))
