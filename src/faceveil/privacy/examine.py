"""Examine one released file, as a run does before it publishes it and `verify` does later: by the same code.

Of any file: what it carries besides pixels. Of a photo with recorded faces also: whether a detector sees a face that
is not recorded, whether each recorded face can be seen well enough to compare, and the cuts that are compared. Faces
that were joined with their photo are drawn again here (privacy/drawn_again.py).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from faceveil.errors import PhotoError, UsageError
from faceveil.faces import Face
from faceveil.faces.detect import DETECTORS
from faceveil.faces.face import Image
from faceveil.faces.looks import find_in_photo
from faceveil.faces.replace import is_checkable, is_replaced, visible_inner
from faceveil.photos import Photo, scan_leaks
from faceveil.photos.transparency import shown
from faceveil.privacy.drawn_again import parts_left, redrawn, wholly
from faceveil.privacy.record import COVERED, ReplacedFace
from faceveil.privacy.same_face import SIDE, Cut, cut_out, difference

TOLERANCE = 8.0
DRAWN_AGAIN = (
    6.5  # of a joined face: another one in the same light differs less than one in a light of its own
)
MOST_LEFT = 0.25  # of a joined face's features, beside what was replaced
ALWAYS = ("yunet", "blazeface")  # look at every released photo, and so does the detector of the run


@dataclass(frozen=True)
class Finding:
    """One reason why what is claimed does not hold."""

    kind: str
    where: str
    reason: str


@dataclass(frozen=True)
class Terms:
    """What run.json says of how to look: metadata that may stay, a thorough scan or not, the detectors."""

    kept: tuple[str, ...] = ()
    thorough: bool = False
    detectors: tuple[str, ...] = ALWAYS

    @classmethod
    def of(cls, content: Mapping[str, object]) -> "Terms":
        """From run.json, or from what a run is going to write there."""
        own = str(content.get("detector", ALWAYS[0]))
        if own not in DETECTORS:
            raise UsageError(f"no detector {own!r}; there are {', '.join(DETECTORS)}.")
        kept = content.get("kept_metadata", ())
        if not isinstance(kept, list | tuple):
            raise UsageError(f"kept_metadata is a list of names, not {kept!r}.")
        return cls(tuple(map(str, kept)), bool(content.get("thorough")), tuple(dict.fromkeys((*ALWAYS, own))))


@dataclass(frozen=True, eq=False)
class Examined:
    """What was found in one photo: faults, a cut of each recorded face, and all faces that the detectors see."""

    findings: list[Finding]
    cuts: list[Cut]
    seen: list[Face]
    largest: float = 0.0  # difference of a joined face from what is drawn again


def carried(name: str, data: bytes, terms: Terms) -> list[Finding]:
    """What a file carries besides pixels and may not."""
    try:
        leaks = list(scan_leaks(data, allow=terms.kept))
    except PhotoError as error:
        return [Finding("unreadable", name, str(error))]
    return [Finding("metadata", name, f"it carries {leak.name} ({leak.kind}).") for leak in leaks]


def examine(name: str, photo: Photo, faces: Sequence[ReplacedFace], terms: Terms) -> Examined:
    """Cut the recorded faces out of a photo as it was decoded, and look for faces that nobody recorded.

    Its alpha was kept, if it has one: who looks sees all that it can show.
    """
    findings, places = [], [face.place for face in faces]
    width, height = photo.size_wh
    seen = [
        face
        for detector in terms.detectors
        for face in find_in_photo(photo, detector, thorough=terms.thorough)
    ]
    for found in seen:
        if not is_replaced(found, places):
            x, y = (round(float(value)) for value in found.centre)
            findings.append(
                Finding(
                    "unexplained-face",
                    name,
                    f"{found.detector} sees a face of {round(found.size_wh[0])} px at {x}, {y} in this photo of "
                    f"{width}×{height} px that is in no group.",
                )
            )
    cuts, image = [], shown(photo)
    for face, visible in zip(faces, visible_inner(places, photo.size_wh, SIDE), strict=True):
        if face.joined:
            visible = visible & wholly(face.joined, SIDE)
        cuts.append(cut_out(image, face.place, visible))
        if face.group == COVERED:
            findings += _not_black(name, cuts[-1])
        elif not is_checkable(visible):
            reason = (
                "a replaced face lies so far under another or out of the frame that it cannot be compared."
            )
            findings.append(Finding("hidden-face", name, reason))
    largest = 0.0
    for face, value, left in _joined(image, faces, cuts):
        findings += _not_its_own(name, face, value, left)
        largest = max(largest, value)
    return Examined(findings, cuts, seen, largest)


def _joined(
    image: Image, faces: Sequence[ReplacedFace], cuts: Sequence[Cut]
) -> Iterator[tuple[ReplacedFace, float, float]]:
    """Faces that were joined with this photo, how far each is from what is drawn again, and what of it was left."""
    joined = [(face, cut) for face, cut in zip(faces, cuts, strict=True) if face.joined]
    members = [face.joined for face, _ in joined if face.joined]
    again = redrawn(image, members, [cut.visible for _, cut in joined])
    for (face, cut), other, left in zip(joined, again, parts_left(image, members), strict=True):
        yield face, difference(cut, other), left


def _not_its_own(name: str, face: ReplacedFace, value: float, left: float) -> list[Finding]:
    """A joined face must be what is drawn again, and all of it."""
    findings = []
    if value > DRAWN_AGAIN:
        reason = (
            f"a face differs by {value:.1f} from that of group {face.group} as it is drawn into this photo again; "
            f"{DRAWN_AGAIN} is allowed."
        )
        findings.append(Finding("different-face", name, reason))
    if left > MOST_LEFT:
        reason = f"{100 * left:.0f} % of the features of a face in group {face.group} were not replaced."
        findings.append(Finding("face-left", name, reason))
    return findings


def _not_black(name: str, cut: Cut) -> list[Finding]:
    """A face in no group must be black wherever it can be seen."""
    off = difference(cut, Cut(np.zeros_like(cut.pixels), cut.visible, cut.side))
    if off <= TOLERANCE or not cut.visible.any():
        return []
    return [Finding("uncovered-face", name, "a face that is recorded as covered is not black.")]
