"""How a loss of the generator's picture grows along axes of W+.

    slope = Slope(64, loss, axes)      # `loss` makes one number of the picture's node and of inputs of its own
    slope(wplus, given)                # 23 × axes: its gradient at this code
    slope.with_loss(wplus, given)      # the loss, and that

The network takes styles, not codes: from axes to styles is a smaller product, outside of it.
"""

from collections.abc import Callable, Sequence

import numpy as np

from faceveil.models.generator import synthesis
from faceveil.models.gradients import with_gradient
from faceveil.models.layers import Node
from faceveil.models.mobilestylegan import SLOTS, Floats, Style
from faceveil.models.runtime import Network, Precision, openvino
from faceveil.models.synthesis import picture
from faceveil.models.windows import WHOLE, Window


class Slope:
    """A graph and its gradient, compiled; `loss` gives its node and those of its inputs."""

    def __init__(
        self,
        size: int,
        loss: Callable[[Node], tuple[Node, Sequence[Node]]],
        axes: Floats,  # 23 × A × 512
        window: Window = WHOLE,
        streams: int | None = None,
        precision: Precision = "f32",
    ) -> None:
        op = openvino().opset13
        self.styles: list[Style] = []
        factors: list[Node] = []

        def parameter(style: Style) -> Node:
            self.styles.append(style)
            factors.append(op.parameter([1, len(style.bias), 1, 1], np.float32))
            return factors[-1]

        found, inputs = loss(picture(synthesis(size), parameter, window))
        graph = with_gradient(found, factors, [*factors, *inputs])
        self.network = Network(graph, streams=streams, precision=precision)
        self.along = [style.weight @ axes[style.slot].T for style in self.styles]

    def __call__(self, wplus: Floats, given: Sequence[Floats], moved: Floats | None = None) -> Floats:
        """At a code (23 × 512), or where it was moved so far along the axes (23 × A)."""
        return self.with_loss(wplus, given, moved)[1]

    def with_loss(
        self, wplus: Floats, given: Sequence[Floats], moved: Floats | None = None
    ) -> tuple[float, Floats]:
        """The loss there and its gradient.

        Sums are einsum's: a matrix library's last bits depend on how many threads it has.
        """
        factors = [
            np.einsum("cd,d->c", style.weight, wplus[style.slot]) + style.bias for style in self.styles
        ]
        if moved is not None:
            for factor, style, along in zip(factors, self.styles, self.along, strict=True):
                factor += np.einsum("ca,a->c", along, moved[style.slot])
        loss, *found = self.network([*(factor[None, :, None, None] for factor in factors), *given])
        gradient = np.zeros((SLOTS, self.along[0].shape[1]), np.float32)
        for style, along, by_factor in zip(self.styles, self.along, found, strict=True):
            gradient[style.slot] += np.einsum("c,ca->a", by_factor.reshape(-1), along)
        return float(loss.reshape(())), gradient
