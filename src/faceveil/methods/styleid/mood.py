"""Step towards an expression, down the slope of what the network that names it reads.

Directions that a regression found for all faces (`control.py`) seldom lead one face to the expression that was lost.
"""

from functools import reduce

import numpy as np

from faceveil.faces.attributes import expression_squares
from faceveil.models.attributes import EXPRESSIONS, expression_logits
from faceveil.models.layers import Node
from faceveil.models.mobilestylegan import SLOTS, Floats
from faceveil.models.runtime import once, openvino
from faceveil.models.slope import Slope
from faceveil.models.wspace import w_space

SIZE = 64  # px of what is looked at
LENGTH = 2.0  # of the step, in deviations of W over all slots that move
AXES = 200  # of W


def towards_expression(wplus: Floats, slots: slice, wanted: Floats, seen: Floats) -> Floats:
    """The code with these slots a step further to the likeliest of the `wanted` probabilities.

    The gradient of its negative logarithm by the logits is what is seen less what is wanted.
    """
    against = seen - np.eye(len(seen), dtype=np.float32)[wanted.argmax()]
    gradient = expression_slope()(wplus, [against[None]])[slots]
    length = max(float(np.linalg.norm(gradient)), 1e-9)
    wplus = wplus.copy()
    wplus[slots] += np.einsum(
        "sa,ad->sd", gradient * np.float32(-LENGTH / length), w_space().deviations(AXES)
    )
    return wplus


@once
def expression_slope() -> Slope:
    """Of what the network reads, against given weights of the expressions."""
    op = openvino().opset13

    def loss(picture: Node) -> tuple[Node, list[Node]]:
        logits = [expression_logits(picture, square) for square in expression_squares()]
        mean = op.divide(reduce(op.add, logits), np.float32(len(logits)))
        against = op.parameter([1, len(EXPRESSIONS)], np.float32)
        return op.reduce_sum(op.multiply(mean, against), np.array([0, 1]), False), [against]

    return Slope(SIZE, loss, np.repeat(w_space().deviations(AXES)[None], SLOTS, axis=0), precision="bf16")
