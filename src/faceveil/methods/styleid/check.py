"""The check after pasting: is the face beyond every recogniser's threshold, still a face, and in the same pose?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from faceveil.faces import Face, with_mesh
from faceveil.faces.align import Alignment, align_ffhq, similarity
from faceveil.faces.attributes import Attributes, attributes
from faceveil.faces.face import Image
from faceveil.methods.styleid.looks import EYES, MOUTH, PITCH, TEETH, YAW, Floats, closely, looks
from faceveil.methods.styleid.targets import Person, by_two, labels
from faceveil.models.attrnet import INPUT_SIZE
from faceveil.models.mobilestylegan import Floats as Embedding
from faceveil.models.recognizers import TEMPLATES, recognizer

PRESENCE = 0.7  # the mesh network's, below which no face is left
TURN = 15.0  # degrees that the head may turn
OPENING = 0.15  # outer eye distances that the mouth may open or close
GAPE = 0.08  # the same, that looks odd
YEARS = 12.0  # by which the face may look older or younger
SHUT = 0.04  # eye widths by which eyes may be less open
SURE_GENDER = (
    0.2  # of a probability's distance to a half; one of two networks against the other makes at most 0.17
)
GRIN = 1.5  # by which the mouth may show more or less, see looks.teeth


@dataclass(frozen=True, eq=False)
class Verdict:
    """What the check saw."""

    margins: Mapping[str, float]  # recogniser → distance in thresholds, over 1 is beyond
    presence: float
    change: Floats  # of the looks
    years: float  # older
    same_gender: bool  # as two networks see it on average
    same_expression: bool
    embeddings: Mapping[str, Embedding]  # of the new face
    expression: Embedding  # its probabilities
    others: int = 0  # of glasses, beard and childhood that are not as they were

    def holds(self, needed: float) -> bool:
        """What is claimed: beyond the thresholds, a face, in the same pose."""
        return self.nearest > needed and self.is_face

    def only_near(self, needed: float) -> bool:
        """All of that but beyond the thresholds."""
        return self.nearest <= needed and self.is_face

    @property
    def nearest(self) -> float:
        """The margin of the recogniser to which it is nearest."""
        return min(self.margins.values())

    @property
    def is_face(self) -> bool:
        """A face, in the same pose, its mouth about as open."""
        return (
            self.presence >= PRESENCE
            and float(np.abs(self.change[[YAW, PITCH]]).max()) <= TURN
            and abs(float(self.change[MOUTH])) <= OPENING
        )

    @property
    def suits(self) -> bool:
        """What is wished for besides."""
        return self.same_gender and self.same_expression and not self.others and max(self._off) <= 1

    @property
    def _off(self) -> tuple[float, ...]:
        """By how much age, eyes and mouth are off, each in what it may be; eyes may be as open as they like."""
        shut, grin = max(0.0, -float(self.change[EYES])), abs(float(self.change[TEETH]))
        mouth = abs(float(self.change[MOUTH])) / GAPE, grin / GRIN
        return abs(self.years) / YEARS, shut / SHUT, *mouth

    @property
    def misfit(self) -> float:
        """How much is missing of that: gender counts most, then glasses and beard, then the expression."""
        missing = 10.0 * (not self.same_gender) + 3.0 * self.others + 2.0 * (not self.same_expression)
        return missing + sum(self._off)

    def mended_by(self, seen: Attributes, others: int, person: Person) -> bool:
        """Whether a face that looks so, with so many other kinds, would have what is missing."""
        return (
            others <= max(0, self.others - 1)
            and (self.same_gender or same_gender(seen, person))
            and (self.same_expression or same_expression(seen, person))
            and (abs(self.years) <= YEARS or abs(seen.age - person.age) <= YEARS)
        )


def same_gender(seen: Attributes, person: Person) -> bool:
    """As surely as the source's was read, up to SURE_GENDER: beyond it the networks that were asked agree."""
    side = 1 if person.female > 0.5 else -1
    return side * (seen.female - 0.5) >= min(SURE_GENDER, abs(person.female - 0.5))


def same_expression(seen: Attributes, person: Person) -> bool:
    """As the network names both."""
    return bool(seen.expression.argmax() == person.expression.argmax())


def embeddings(image: Image, face: Face, recognizers: Sequence[str]) -> dict[str, Embedding]:
    """The face's embedding by each recogniser."""
    found = {}
    for name in recognizers:
        judge = recognizer(name)
        crop = Alignment(similarity(face.points, TEMPLATES[judge.template]), judge.size).crop(image)
        found[name] = judge.embed(crop[None])[0]
    return found


def margins(before: Mapping[str, Embedding], after: Mapping[str, Embedding]) -> dict[str, float]:
    """The distance of two faces by each recogniser, in its thresholds."""
    return {
        name: float(recognizer(name).distance(after[name], embedding)) / recognizer(name).threshold
        for name, embedding in before.items()
    }


def check(image: Image, face: Face, before: Mapping[str, Embedding], person: Person) -> Verdict:
    """Look at a face after it was replaced; `before` are the source's embeddings."""
    wide = with_mesh(image, [face])[0]
    after = closely(image, wide)
    seen = embeddings(image, after, list(before))
    shown = labels(align_ffhq(after, INPUT_SIZE).crop(image))
    seen_in = by_two(attributes(image, after), shown)
    return Verdict(
        margins(before, seen),
        after.presence or 0.0,
        person.change(looks(image, after), looks(image, wide)),
        seen_in.age - person.age,
        same_gender(seen_in, person),
        same_expression(seen_in, person),
        seen,
        seen_in.expression,
        person.others(shown),
    )
