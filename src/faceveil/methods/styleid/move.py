"""Move a target to the source's pose, expression and age, look at a sketch of it, and correct what that is off."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heappop, heappush
from itertools import chain, islice

import numpy as np
from numpy.typing import NDArray

from faceveil.faces import Face
from faceveil.faces.attributes import Attributes, attributes
from faceveil.faces.face import Image
from faceveil.faces.light import unevenness
from faceveil.faces.regions import OVAL
from faceveil.methods.styleid.check import Verdict, embeddings, margins, same_gender
from faceveil.methods.styleid.choice import TRIED, shortlists
from faceveil.methods.styleid.control import control, step_to_people
from faceveil.methods.styleid.looks import (
    AGE,
    EYES,
    FELT,
    KIND,
    MOODS,
    MOUTH,
    NAMES,
    OF_KIND,
    PITCH,
    TEETH,
    TRAITS,
    YAW,
    face_in_crop,
    looks,
    traits,
)
from faceveil.methods.styleid.measure import Source
from faceveil.methods.styleid.mood import towards_expression
from faceveil.methods.styleid.push import IDENTITY, pushed
from faceveil.methods.styleid.render import small
from faceveil.methods.styleid.targets import Person, by_two, kind_of, labels, pool
from faceveil.models.attributes import EXPRESSIONS
from faceveil.models.mobilestylegan import SLOTS
from faceveil.models.mobilestylegan import Floats as Vector

FEATURES = slice(2, 16)  # slots that are the target's; those after colour the whole picture
TYPICAL = 0.92  # of what a target differs from the mean face: less looks more natural, and more alike
OFF = 6.0  # years, from which a face is corrected
CORRECTION = 0.8  # of what the sketch is off; directions are not quite independent
AWAY = (1.8, 2.2, 2.7, 3.5)  # deviations of people from the source, for each of choice.CHOICES
# How much of each trait's difference is moved. Mouth width and eye opening are as much shape as expression, and
# taken over whole they bring a person's AUC up by 0.07 to 0.1.
SHARE = np.array([1.0, 1.0, 1.0, 0.3, 0.7, 1.0, 0.3, 1.0, 1.0, 1.0] + [1.0] * len(KIND + MOODS))
# How far each trait may be moved at first and after the sketch, in deviations: age reads too coarsely.
FIRST = np.array([2.0] * len(NAMES) + [1.0] + [2.0] * len(KIND + MOODS))
SECOND = np.array([1.0] * len(NAMES) + [0.6] + [1.0] * len(KIND + MOODS))
# What one unit of a sketch's cost is: thresholds that are missing to WANTED, years, degrees, shades of 255; and what
# another class costs.
WANTED, MARGIN_UNIT, YEARS_UNIT, DEGREES_UNIT, LIGHT_UNIT = 1.4, 0.05, 3.0, 5.0, 4.0
OUTLINE_UNIT = 0.5
SHUT_UNIT, GRIN_UNIT = 0.02, 0.7  # eye widths by which eyes are less open, and of looks.teeth
OTHER_EXPRESSION, OTHER_ORIGIN, OTHER_GENDER, OTHER_KIND = 14.0, 8.0, 14.0, 3.0
RIVAL = np.log(2.0)  # a mood that shows half as much as the source's


@dataclass(frozen=True, eq=False)
class Sketch:
    """A target moved towards the source, as a small render shows it."""

    wplus: Vector
    crop: Image

    @cached_property
    def face(self) -> Face:
        """In the crop, with its mesh."""
        return face_in_crop(self.crop)

    @cached_property
    def labels(self) -> Vector:
        """AttrNet's."""
        return labels(self.crop)

    @cached_property
    def seen(self) -> Attributes:
        """Age, gender and expression."""
        return by_two(attributes(self.crop, self.face), self.labels)

    @property
    def traits(self) -> NDArray[np.float64]:
        """In the order of looks.TRAITS."""
        kind = kind_of(self.labels, self.seen.female)
        return traits(self.looks, self.seen.age, kind, self.seen.expression)

    @cached_property
    def looks(self) -> NDArray[np.float64]:
        """In the order of looks.NAMES."""
        return looks(self.crop, self.face)


def choose(source: Source, rng: np.random.Generator, count: int, dealt: Sequence[int] = ()) -> list[int]:
    """Targets to try, in order, without a look at their sketches; those that were dealt come first."""
    few = (one[:TRIED] for one in shortlists(source.person, source.embeddings, rng, dealt))
    return list(islice(chain.from_iterable(few), count))


def promising(source: Source, targets: Sequence[int], turn: int = 0) -> Iterator[int]:
    """These targets, the one first that promises most.

    A cost only grows with each of its PARTS, so of a sketch no more is looked at than decides.
    """
    queue = [(0.0, place, 0) for place in range(len(targets))]
    while queue:
        cost, place, known = heappop(queue)
        if known == len(PARTS):
            yield targets[place]
        else:
            more = part_of_cost(known, source, targets[place], turn)
            heappush(queue, (cost + more, place, known + 1))


def part_of_cost(number: int, source: Source, target: int, turn: int) -> float:
    """How little a target promises in one regard."""
    return PARTS[number](source, sketch(source, target, turn))


def sketch(source: Source, target: int, turn: int = 0) -> Sketch:
    """A first look at a target of the choice `turn` in the source's pose, expression and age; made once."""
    if (target, turn) not in source.sketches:
        wplus = somebody_else(source, target, turn)
        change = _change(source.person, pool().traits(target))
        wplus = with_features(source, control().moved(wplus, change, FIRST))
        source.sketches[target, turn] = Sketch(wplus, small(wplus))
    return source.sketches[target, turn]


def somebody_else(source: Source, target: int, turn: int) -> Vector:
    """The target, a step away from the source, and one towards people: generated faces resemble each other."""
    steps = (TYPICAL - 1) * np.repeat(pool().codes.coordinates[target][None], SLOTS, axis=0)
    steps[IDENTITY] += AWAY[turn] * control().away_from(source.embeddings) + step_to_people()
    return pool().codes.stepped(target, steps.astype(np.float32))


def moved_code(source: Source, target: int, turn: int = 0) -> Vector:
    """The source's code with the features of the target in its pose, expression and age: the sketch corrected by what
    it was off."""
    first = sketch(source, target, turn)
    off = _change(source.person, first.traits)
    return with_features(source, control().moved(first.wplus, CORRECTION * off, SECOND))


def corrected(source: Source, wplus: Vector, shown: Verdict) -> Vector:
    """A code moved by what was off of it in the photo: age, mouth, eyes and mood."""
    change = np.zeros(len(TRAITS))
    change[AGE] = -shown.years if abs(shown.years) > OFF else 0.0
    change[[MOUTH, TEETH]] = -shown.change[[MOUTH, TEETH]]
    change[EYES] = max(0.0, -float(shown.change[EYES]))
    if not shown.same_expression:
        wplus = towards_expression(wplus, FEATURES, source.person.expression, shown.expression)
    return with_features(source, control().moved(wplus, change, FIRST))


def with_features(source: Source, wplus: Vector) -> Vector:
    """The source's code with the features of another: frame, colour and light stay."""
    code = source.code.copy()
    code[FEATURES] = wplus[FEATURES]
    return code


def led_away(source: Source, target: int, wplus: Vector, steps: int) -> Vector:
    """The code of a target's face, made a stranger to the source by so many steps."""
    return pushed(source.small, source.share, source.embeddings, target, wplus, steps)


def _change(person: Person, shown: NDArray[np.float64]) -> NDArray[np.float64]:
    """What of a face's traits is to change."""
    change: NDArray[np.float64] = SHARE * (person.traits - shown)
    change[OF_KIND] = person.off_kind(shown[OF_KIND])
    change[FELT] = _change_of_mood(person, shown[FELT])
    return change


def _change_of_mood(person: Person, seen: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of the moods the source's may only grow, and only those that rival it fade: to bring each to the source's
    number, unsure as these are, would tip the one that counts."""
    change = person.traits[FELT] - seen
    own = np.array([EXPRESSIONS.index(mood) == person.expression.argmax() for mood in MOODS])
    rival = ~own & (seen > seen[own].sum() - RIVAL)
    return np.where(own, np.maximum(change, 0.0), np.where(rival, np.minimum(change, 0.0), 0.0))


def _unlike(source: Source, made: Sketch) -> float:
    """Another pose, age, expression or gender, or shut eyes."""
    person, seen = source.person, made.seen
    change = made.looks - person.looks
    cost = float(np.abs(change[[YAW, PITCH]]).sum()) / DEGREES_UNIT + abs(float(change[TEETH])) / GRIN_UNIT
    cost += max(0.0, -float(change[EYES])) / SHUT_UNIT + abs(seen.age - person.age_to_show) / YEARS_UNIT
    cost += _beside_outline(source, made) / OUTLINE_UNIT + OTHER_EXPRESSION * (
        1 - float(seen.expression[person.expression.argmax()])
    )
    return cost + OTHER_GENDER * (not same_gender(seen, person))


def _beside_outline(source: Source, made: Sketch) -> float:
    """How far the face's outline lies from the photo's, in hundredths of the crop: beyond it the photo stays."""
    assert made.face.mesh is not None
    outline = made.face.mesh[OVAL, :2] / made.crop.shape[0] - source.mesh[OVAL] / source.alignment.size
    return 100 * float(np.linalg.norm(outline, axis=1).mean())


def _of_another_kind(source: Source, made: Sketch) -> float:
    """Of another origin, with other glasses or beard, or a child for a grown-up."""
    person, shown = source.person, made.labels
    return OTHER_ORIGIN * (1 - float(shown[person.origin])) + OTHER_KIND * person.unwanted(shown)


def _near(source: Source, made: Sketch) -> float:
    """Like the source to the recognisers, seen with what stays of the photo around it, or lit from another side.

    Within one source's targets this tells the distance after pasting with a correlation of 0.71, the sketch by itself
    with 0.56 and the pool's vectors with 0.32.
    """
    vectors = embeddings(source.with_face(made.crop), source.small_face, list(source.embeddings))
    missing = [max(0.0, WANTED - margin) for margin in margins(source.embeddings, vectors).values()]
    near = float(np.mean(missing)) / MARGIN_UNIT if missing else 0.0
    return near + unevenness(made.crop, source.light, source.skin) / LIGHT_UNIT


PARTS = (_near, _unlike, _of_another_kind)  # of a sketch's cost
