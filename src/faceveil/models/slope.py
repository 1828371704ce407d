"""How something that is told of the generator's picture grows along axes of W+.

    slope = Slope(64, loss, inputs, axes)       # `loss` makes one number of the picture's node and of `inputs`
    slope(wplus, given)                         # 23 × axes: its gradient at this code

The network takes styles, not codes: from axes to styles is a smaller product, outside of it.
"""

from collections.abc import Callable, Sequence

import numpy as np

from faceveil.models.generator import synthesis
from faceveil.models.gradients import with_gradient
from faceveil.models.layers import Node
from faceveil.models.mobilestylegan import SLOTS, Floats, Style
from faceveil.models.runtime import Network, openvino
from faceveil.models.synthesis import picture
from faceveil.models.windows import WHOLE, Window


class Slope:
    """A graph and its gradient, compiled."""

    def __init__(
        self,
        size: int,
        loss: Callable[[Node], Node],
        inputs: Sequence[Node],
        axes: Floats,  # 23 × A × 512
        window: Window = WHOLE,
        streams: int | None = None,
    ) -> None:
        op = openvino().opset13
        self.styles: list[Style] = []
        factors: list[Node] = []

        def parameter(style: Style) -> Node:
            self.styles.append(style)
            factors.append(op.parameter([1, len(style.bias), 1, 1], np.float32))
            return factors[-1]

        graph = with_gradient(loss(picture(synthesis(size), parameter, window)), factors, [*factors, *inputs])
        self.network = Network(graph, streams=streams)
        self.along = [style.weight @ axes[style.slot].T for style in self.styles]

    def __call__(self, wplus: Floats, given: Sequence[Floats]) -> Floats:
        """Sums are einsum's: a matrix library's last bits depend on how many threads it has."""
        factors = [np.einsum("cd,d->c", one.weight, wplus[one.slot]) + one.bias for one in self.styles]
        _, *found = self.network([*(factor[None, :, None, None] for factor in factors), *given])
        gradient = np.zeros((SLOTS, self.along[0].shape[1]), np.float32)
        for style, along, by_factor in zip(self.styles, self.along, found, strict=True):
            gradient[style.slot] += np.einsum("c,ca->a", by_factor.reshape(-1), along)
        return gradient
