"""Push a code until its face, amid what stays of the photo, is another person to every recogniser of the check.

Hair, outline and surroundings stay, and recognisers read them as part of the face: a target that is a stranger by
itself comes nearer to the source when it is put in, and two photos of one person become alike. So the code is looked
at as it will be seen, small and with the photo around it, and steps along the axes in which people differ lead each
recogniser's vector away from the source's, as far as strangers are and no further, for to be further than chance
would tell as well; and back to the target's own, less what all generated faces have in common.

The loss is a sum of hinges, each in mean squares between strangers, and zero once every recogniser is content.
"""

from collections.abc import Mapping, Sequence
from functools import reduce

import cv2
import numpy as np

from faceveil.faces.face import Image
from faceveil.methods.styleid.control import control
from faceveil.methods.styleid.paste import Share
from faceveil.methods.styleid.targets import pool
from faceveil.models.embedding_graphs import embedding
from faceveil.models.layers import Node
from faceveil.models.mobilestylegan import Floats as Vector
from faceveil.models.recognizers import recognizer
from faceveil.models.runtime import once, openvino
from faceveil.models.slope import Slope
from faceveil.models.wspace import w_space

SIZE = 64  # px of what is looked at
MOST, SHARE = (
    3.0,
    0.3,
)  # deviations of people that a step aims at, at most, and how much of it is gone at once
IDENTITY = slice(4, 13)  # slots
FAR = 1.05  # from the source, in mean squares between strangers
OWN = 0.1  # within which a face is the target's own
PULL = 1.5  # how much more that counts than to be far from the source
ENOUGH = 1e-3  # of the loss


def pushed(
    crop: Image, face: Share, embeddings: Mapping[str, Vector], target: int, wplus: Vector, steps: int
) -> Vector:
    """The code (23 × 512) of a target's face, led away from the source: its crop, where its face is, its vectors.

    Each step goes SHARE of the way at whose end the loss would be 0 if it fell along a straight line (Polyak 1969):
    several short ones lead further than a long one of their length.
    """
    names = tuple(pool().known(embeddings))
    if not names:
        return wplus
    slope, axes = away_slope(names), _axes()
    given = [*_surroundings(crop, face)]
    for name in names:
        given += [np.asarray(one[None], np.float32) for one in (embeddings[name], own_vector(name, target))]
    for _ in range(steps):
        loss, gradient = slope.with_loss(wplus, given)
        if loss < ENOUGH:
            break
        along = control().neutral(gradient[IDENTITY].sum(axis=0))  # a step is the same in all of these slots
        length = max(float(np.linalg.norm(along)), 1e-9)
        change = -SHARE * min(loss / length, MOST) / length * along
        wplus = wplus.copy()
        wplus[IDENTITY] += np.einsum("a,sad->sd", change, axes[IDENTITY])
    return wplus


def own_vector(name: str, target: int) -> Vector:
    """A target's as it were if generated faces had nothing in common; the plain one where lengths differ."""
    vector: Vector = pool().embeddings[name][target]
    if not recognizer(name).of_length_one:
        return vector
    rest = vector - control().identity[name][1]
    return np.asarray(rest / np.linalg.norm(rest), np.float32)


def _surroundings(crop: Image, face: Share) -> tuple[Vector, Vector]:
    """The photo, 1 × 3 × SIZE × SIZE in [-1, 1], and how much of a new face will be seen in each pixel."""
    small = cv2.resize(crop, (SIZE, SIZE), interpolation=cv2.INTER_AREA).astype(np.float32) / 127.5 - 1
    seen = cv2.resize(face, (SIZE, SIZE), interpolation=cv2.INTER_AREA).astype(np.float32)
    return np.ascontiguousarray(small.transpose(2, 0, 1)[None]), seen[None, None]


@once
def _axes() -> Vector:
    """23 × A × 512: a deviation along each of people's axes."""
    axes = pool().codes.axes
    return np.asarray(np.einsum("sac,cd->sad", axes, w_space().deviations(axes.shape[2])), np.float32)


@once
def away_slope(names: Sequence[str]) -> Slope:
    """Of what is missing to a stranger by these recognisers."""
    op = openvino().opset13

    def loss(picture: Node) -> tuple[Node, list[Node]]:
        photo, share = (op.parameter([1, planes, SIZE, SIZE], np.float32) for planes in (3, 1))
        seen = op.add(photo, op.multiply(share, op.subtract(picture, photo)))
        given, terms = [photo, share], []
        for name in names:
            vector = embedding(name, seen)
            source, own = (op.parameter([1, 128], np.float32) for _ in range(2))
            given += [source, own]
            terms.append(op.relu(op.subtract(np.float32(FAR), _apart(name, vector, source))))
            missing = op.relu(op.subtract(_apart(name, vector, own), np.float32(OWN)))
            terms.append(op.multiply(np.float32(PULL), missing))
        return reduce(op.add, terms), given

    return Slope(SIZE, loss, _axes(), precision="bf16")


def _apart(name: str, one: Node, other: Node) -> Node:
    """The square of what lies between two vectors, in means of it between strangers."""
    op = openvino().opset13
    between = op.subtract(one, other)
    squares = op.reduce_sum(op.multiply(between, between), np.array([0, 1]), False)
    return op.divide(squares, np.float32(recognizer(name).operating.strangers))
