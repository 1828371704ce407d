"""The gradient of what is told of a picture, along axes of W+."""

import numpy as np

from faceveil.faces.attributes import expression_squares
from faceveil.models.attributes import expression, expression_logits
from faceveil.models.generator import Generator, synthesis
from faceveil.models.mobilestylegan import SLOTS
from faceveil.models.runtime import Network, openvino
from faceveil.models.sampling import matrices
from faceveil.models.slope import Slope
from faceveil.models.synthesis import build_graph
from faceveil.models.wspace import w_space

op = openvino().opset13


def test_a_slope_is_what_differences_say():
    rng, space = np.random.default_rng(3), w_space()
    axes = np.repeat((space.spread[:5, None] * space.axes[:5])[None], SLOTS, axis=0)
    shown = rng.standard_normal((1, 3, 64, 64)).astype(np.float32)
    given = op.parameter([1, 3, 64, 64], np.float32)
    slope = Slope(64, lambda x: (op.reduce_sum(op.multiply(x, given), np.arange(4), False), [given]), axes)
    code = np.repeat(space.mean[None], SLOTS, axis=0)
    draw = Network(build_graph(synthesis(64)))
    gradient = slope(code, [shown])
    steepness = np.linalg.norm(gradient)
    step = np.einsum("sa,sad->sd", 0.02 * gradient / steepness, axes)
    ahead, behind = ((draw((code + sign * step)[None])[0] * shown).sum() for sign in (1, -1))
    assert np.isclose(ahead - behind, 2 * 0.02 * steepness, rtol=0.05)


def test_logits_are_those_of_the_network():
    picture = op.parameter([1, 3, 64, 64], np.float32)
    square = expression_squares()[0]
    network = Network(openvino().Model([expression_logits(picture, square)], [picture], "logits"))
    image = Generator().render(w_space().mean[None], 64)[0]
    logits = network(image.transpose(2, 0, 1)[None].astype(np.float32) / 127.5 - 1)[0][0]
    rows, columns = matrices(square, 64, 64)
    grey = rows @ (image @ np.array([0.299, 0.587, 0.114])) @ columns.T
    there = expression(np.rint(grey).astype(np.uint8))
    assert np.allclose(np.exp(logits) / np.exp(logits).sum(), there, atol=0.03)
