"""Mood: a code that shows the source's expression.

What pose, age and harmony change of a face often tips its expression over. So the code that is rendered next is
looked at once more, small, and where it shows another expression, or not clearly the source's, a few steps lead there
along the gradient of what the network reads: directions that a regression found for all faces seldom do.
"""

from collections.abc import Callable

import numpy as np

from faceveil.faces.attributes import expression_of, expression_squares
from faceveil.faces.face import Image
from faceveil.methods.styleid.harmony import FEATURES
from faceveil.methods.styleid.looks import face_in_crop
from faceveil.models.attributes import EXPRESSIONS, expression_logits
from faceveil.models.layers import Node
from faceveil.models.mobilestylegan import SLOTS, Floats
from faceveil.models.runtime import once, openvino
from faceveil.models.slope import Slope
from faceveil.models.wspace import w_space

SKETCH = 64  # px of a render that is only looked at
STEPS = 3
STEP = 1.5  # deviations of W, over all slots that move
CLEARLY = 1.5  # how much surer than of any other the network is of an expression that shows
AXES = 200  # of W


def in_the_mood(expression: Floats, wplus: Floats, look: Callable[[Floats], Image]) -> Floats:
    """A code that a small render (`look`) shows with this expression, as far as a few steps lead there."""
    own = int(expression.argmax())
    for _ in range(STEPS):
        crop = look(wplus)
        seen = expression_of(crop, face_in_crop(crop))
        if seen[own] >= CLEARLY * np.delete(seen, own).max():
            break
        wplus = wplus + _step(wplus, seen - np.eye(len(seen), dtype=np.float32)[own])
    return wplus


def _step(wplus: Floats, against: Floats) -> Floats:
    """The step of this length down the slope of −log(probability), whose gradient by the logits is `against`."""
    gradient = _slope()(wplus, [against[None]])[FEATURES]
    length = max(float(np.linalg.norm(gradient)), 1e-9)
    step = np.zeros_like(wplus)
    step[FEATURES] = np.einsum("sa,ad->sd", gradient * np.float32(-STEP / length), _axes())
    return step


@once
def _axes() -> Floats:
    space = w_space()
    return np.asarray(space.spread[:AXES, None] * space.axes[:AXES], np.float32)


@once
def _slope() -> Slope:
    op = openvino().opset13
    weights = op.parameter([1, len(EXPRESSIONS)], np.float32)

    def loss(picture: Node) -> Node:
        logits = [expression_logits(picture, square) for square in expression_squares()]
        mean = op.divide(op.add(*logits), np.float32(len(logits)))
        return op.reduce_sum(op.multiply(mean, weights), np.array([0, 1]), False)

    return Slope(SKETCH, loss, [weights], np.repeat(_axes()[None], SLOTS, axis=0))
