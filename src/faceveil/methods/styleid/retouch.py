"""Retouch: a code that shows what the source shows, beside who it is.

What pose and harmony change of a face often tips its expression over, makes it younger, puts glasses on or takes
them off. So the code that is rendered next is looked at once more, small, and a few steps lead back: to the
expression, where another shows or not clearly the source's, along the gradient of what the network reads, since
directions that a regression found for all faces seldom lead there; to pose, age, gender, glasses, beard and the
opening of mouth and eyes and what the mouth shows along such directions.
"""

from collections.abc import Callable
from functools import reduce

import numpy as np

from faceveil.faces.attributes import attributes, expression_squares
from faceveil.faces.face import Image
from faceveil.methods.styleid.check import Verdict
from faceveil.methods.styleid.control import control
from faceveil.methods.styleid.harmony import FEATURES
from faceveil.methods.styleid.looks import (
    AGE,
    EYES,
    MOUTH,
    OF_KIND,
    PITCH,
    TEETH,
    TRAITS,
    YAW,
    face_in_crop,
    looks,
    odds,
)
from faceveil.methods.styleid.targets import Person, by_two, kind_of, labels
from faceveil.models.attributes import EXPRESSIONS, expression_logits
from faceveil.models.layers import Node
from faceveil.models.mobilestylegan import SLOTS, Floats
from faceveil.models.runtime import once, openvino
from faceveil.models.slope import Slope
from faceveil.models.wspace import w_space

SKETCH = 64  # px of a render that is only looked at
STEPS = 2
LENGTH = 2.0  # of a step towards an expression, in deviations of W over all slots that move
CLEARLY = 1.5  # how much surer than of any other the network is of an expression that shows
YEARS = 4.0  # by which an age may be off
DEGREES = 3.0  # by which a head may be turned
OPENING = 0.05  # of the mouth, in distances between the outer corners of the eyes
GRIN = 0.5  # of teeth or throat, see looks.teeth
OPEN = 0.95  # of the source's opening, below which eyes are opened
HARD = 2.0  # eyes open by half of what their direction promises, and look natural all the way
FURTHEST = np.where(np.arange(len(TRAITS)) == EYES, 3.0, 1.0)  # in deviations, in a step
AXES = 200  # of W


def retouched(person: Person, wplus: Floats, look: Callable[[Floats], Image]) -> Floats:
    """A code that a small render (`look`) shows as the person was, as far as a few steps lead."""
    for _ in range(STEPS):
        crop = look(wplus)
        face = face_in_crop(crop)
        shown, posed = labels(crop), looks(crop, face)
        seen = by_two(attributes(crop, face), shown)
        shows, change = _clearly(seen.expression, person.expression), np.zeros(len(TRAITS))
        change[AGE] = _beyond(person.age_to_show - seen.age, YEARS)
        for turn in (YAW, PITCH):
            change[turn] = _beyond(person.looks[turn] - posed[turn], DEGREES)
        change[MOUTH] = _beyond(person.looks[MOUTH] - posed[MOUTH], OPENING)
        change[TEETH] = _beyond(person.looks[TEETH] - posed[TEETH], GRIN)
        change[EYES] = HARD * max(0.0, OPEN * person.looks[EYES] - posed[EYES])
        change[OF_KIND] = person.off_kind(odds(kind_of(shown, seen.female)))
        if shows and not change.any():
            break
        if not shows:
            wplus = wplus + _towards(wplus, person.expression, seen.expression)
        wplus = control().moved(wplus, change, FURTHEST)
    return wplus


def corrected(person: Person, wplus: Floats, shown: Verdict) -> Floats:
    """A code changed by what was off of it in the photo, where alone all that counts is seen."""
    change = np.zeros(len(TRAITS))
    change[AGE] = -_beyond(shown.years, YEARS)
    change[MOUTH] = -_beyond(float(shown.change[MOUTH]), OPENING)
    change[TEETH] = -_beyond(float(shown.change[TEETH]), GRIN)
    change[EYES] = HARD * max(0.0, -float(shown.change[EYES]))
    if not shown.same_expression:
        wplus = wplus + _towards(wplus, person.expression, shown.expression)
    return control().moved(wplus, change, FURTHEST)


def _beyond(difference: float, allowed: float) -> float:
    """The whole difference, where it is more than may be."""
    return difference if abs(difference) > allowed else 0.0


def _clearly(seen: Floats, wanted: Floats) -> bool:
    own = int(wanted.argmax())
    return bool(seen[own] >= CLEARLY * np.delete(seen, own).max())


def _towards(wplus: Floats, wanted: Floats, seen: Floats) -> Floats:
    """A step of LENGTH down the slope of −log(probability); its gradient by the logits is `seen` less the wanted."""
    against = seen - np.eye(len(seen), dtype=np.float32)[wanted.argmax()]
    gradient = expression_slope()(wplus, [against[None]])[FEATURES]
    length = max(float(np.linalg.norm(gradient)), 1e-9)
    step = np.zeros_like(wplus)
    step[FEATURES] = np.einsum(
        "sa,ad->sd", gradient * np.float32(-LENGTH / length), w_space().deviations(AXES)
    )
    return step


@once
def expression_slope() -> Slope:
    """Of what the network reads, against given weights of the expressions."""
    op = openvino().opset13

    def loss(picture: Node) -> tuple[Node, list[Node]]:
        logits = [expression_logits(picture, square) for square in expression_squares()]
        mean = op.divide(reduce(op.add, logits), np.float32(len(logits)))
        against = op.parameter([1, len(EXPRESSIONS)], np.float32)
        return op.reduce_sum(op.multiply(mean, against), np.array([0, 1]), False), [against]

    return Slope(SKETCH, loss, np.repeat(w_space().deviations(AXES)[None], SLOTS, axis=0), precision="bf16")
