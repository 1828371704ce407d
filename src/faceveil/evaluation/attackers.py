"""Attackers: the recognisers at hand, and a reviewer's own network with a small card."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from faceveil.errors import UsageError
from faceveil.evaluation.own_network import OwnNetwork
from faceveil.models import card
from faceveil.models.recognizers import RECOGNIZERS, WATCHING, Recognizer, recognizer, recognizers_named

LETTERS = {
    "mobilenet.facelib": "A", "dlib-resnet.v1": "B", "mobilefacenet.facesdk": "C",
    "sface.2021dec": "D", "facenet.512": "E",
}  # fmt: skip


@dataclass(frozen=True)
class Attacker:
    """A recogniser that attacks, what its weights are, and whether it took part in making the result."""

    recognizer: Recognizer
    sha256: str
    used_by_method: bool = False

    @property
    def id(self) -> str:
        return self.recognizer.id

    @property
    def name(self) -> str:
        """How sentences call it."""
        letter = LETTERS.get(self.id)
        return f"recogniser {letter} ({self.id})" if letter else f"recogniser {self.id}"

    @property
    def euclidean(self) -> bool:
        if isinstance(self.recognizer, OwnNetwork):
            return self.recognizer.euclidean
        return self.id == "dlib-resnet.v1"


def attackers(
    ids: Sequence[str] = (), own: Sequence[Path] = (), used_by_method: Sequence[str] = ()
) -> list[Attacker]:
    """The recognisers of these ids (by default those that watch over new faces), then the reviewer's own; some took
    part in the method."""
    chosen = [recognizer(name) for name in recognizers_named(ids or WATCHING)]
    every: list[tuple[Recognizer, str]] = [(one, card(one.id).members[0].sha256) for one in chosen]
    every += [(OwnNetwork(path), _sha256(path)) for path in own]
    known = {one.id for one, _ in every}
    if len(known) < len(every):
        raise UsageError("two recognisers have the same id; give each card an id of its own.")
    strangers = [name for name in used_by_method if name not in known and name not in RECOGNIZERS]
    if strangers:
        raise UsageError(f"no recogniser is named {strangers[0]!r}. There are: {', '.join(sorted(known))}.")
    return [Attacker(one, sha256, one.id in used_by_method) for one, sha256 in every]


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
