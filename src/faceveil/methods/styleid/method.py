"""The default: another face, of nobody, in the place of each: same pose, expression, light, age and gender.

A target is swapped in and checked; if the check fails the next target is tried, and at last the face is covered
in black, or refused.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from faceveil.errors import ProtectionError, UsageError
from faceveil.faces import Face, Region
from faceveil.faces.face import Image
from faceveil.faces.paste import paste, placed
from faceveil.methods.filters import FILTERS
from faceveil.methods.styleid.check import check
from faceveil.methods.styleid.swap import CARDS, Source, choose, look_at, replacement
from faceveil.models.recognizers import RECOGNIZERS
from faceveil.privacy import Guarantee

PRIVACY = {"medium": 1.0, "high": 1.15}  # the distance to the source that is needed, in thresholds
FALLBACKS = ("blackout", "refuse")
FEATHER = 0.045  # of the crop's side


@dataclass(frozen=True)
class StyleId:
    """Replace each face by one of nobody, and check it."""

    options: ClassVar[tuple[str, ...]] = ("privacy", "fallback")
    id: str = "styleid"
    summary: str = "another face, of nobody, with the same pose, expression, age and light"
    privacy: str = "medium"
    fallback: str = "blackout"
    tries: int = 6
    recognizers: tuple[str, ...] = tuple(RECOGNIZERS)

    def __post_init__(self) -> None:
        if self.privacy not in PRIVACY:
            raise UsageError(f"{self.id}: privacy is {' or '.join(PRIVACY)}; {self.privacy!r} is not.")
        if self.fallback not in FALLBACKS:
            raise UsageError(f"{self.id}: the fallback is {' or '.join(FALLBACKS)}; {self.fallback!r} is not.")

    @property
    def guarantee(self) -> Guarantee:
        """What was checked of every face, after pasting."""
        return Guarantee(
            "beyond-threshold",
            f"Every replaced face was checked to be further from its original than the thresholds of "
            f"{', '.join(self.recognizers)}; where none could be found the face is covered or refused. "
            f"Other recognisers, hair, clothes and surroundings may still tell.",
            recognizers=self.recognizers,
        )

    @property
    def parameters(self) -> dict[str, object]:
        """What a reader of the result needs to repeat it."""
        return {"privacy": self.privacy, "fallback": self.fallback, "recognizers": list(self.recognizers)}

    @property
    def cards(self) -> tuple[str, ...]:
        """The weights it needs besides the detectors'."""
        return (*CARDS, *self.recognizers)

    def protect(self, image: Image, face: Face, rng: np.random.Generator) -> tuple[Image, Region]:
        """A new picture with another face in the place of this one, and the region that changed."""
        source = look_at(image, face, self.recognizers)
        if source is not None:
            for target in choose(source, rng, self.tries):
                tried = self.attempt(source, target)
                if tried is not None:
                    return _into(image, source, *tried)
        if self.fallback == "refuse":
            width, height = (round(v) for v in face.size_wh)
            raise ProtectionError(
                f"no new face for one of {width}×{height} px passed the check after {self.tries} tries. "
                "Use --fallback blackout to cover it."
            )
        return FILTERS["blackout"].protect(image, face, rng)

    def attempt(self, source: Source, target: int) -> tuple[Image, Region] | None:
        """This target in the source's place, or None where it fails the check."""
        crop, mask = replacement(source, target)
        where = placed(source.image, source.alignment, mask)
        if where is None:
            return None
        swapped = paste(source.image, crop, source.alignment, mask, feather=FEATHER)
        verdict = check(swapped, source.face, source.embeddings, source.person.looks)
        return (swapped, where) if verdict.holds(PRIVACY[self.privacy]) else None


def _into(image: Image, source: Source, swapped: Image, where: Region) -> tuple[Image, Region]:
    """The part of the photo around the face put back into the whole."""
    left, top = source.corner_xy
    out = image.copy()
    out[top : top + swapped.shape[0], left : left + swapped.shape[1]] = swapped
    return out, Region(where.mask, where.left + left, where.top + top)


STYLEID = {"styleid": StyleId()}
