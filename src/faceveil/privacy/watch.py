"""Watch: recognisers that must take a new face for nobody it stands for. One rule, for a method that mixes a face and
for the run that looks again at the photo it was put into.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from faceveil.faces import Alignment
from faceveil.faces.align import similarity
from faceveil.faces.face import Floats, Image
from faceveil.models.recognizers import TEMPLATES, recognizer

Vectors = NDArray[np.float32]
RARE = 1e-4  # the false-match rate at which the rest of the set is compared, if it is


@dataclass(frozen=True)
class Watch:
    """Members of a group are compared with each recogniser's threshold, with `everyone` the rest of the set too, at
    one false match in 10,000."""

    recognizers: tuple[str, ...]
    everyone: bool = False

    def margins(
        self,
        seen: Mapping[str, Vectors],
        known: Mapping[str, Vectors],
        members: NDArray[np.bool_],
        spare: float = 0.0,
    ) -> Vectors:
        """Of each known face, distance / threshold − 1 as the strictest sees it; below 0 it is recognised.

        `seen` has one or more new faces by recogniser, the worst counts; members must be further away by `spare`.
        Who is not compared has inf.
        """
        worst = np.full(len(members), np.inf, np.float32)
        for name in self.recognizers:
            network = recognizer(name)
            for new in seen[name]:
                far = network.distance(known[name], new[None])
                inside = far / network.threshold - 1 - spare
                outside = far / network.operating.at_rate[RARE] - 1 if self.everyone else np.inf
                worst = np.fmin(worst, np.where(members, inside, outside))
        return np.asarray(worst, np.float32)

    def look(self, image: Image, points: Floats) -> dict[str, Vectors]:
        """A face as each recogniser sees it in a picture, by its five points."""
        found = {}
        for name in self.recognizers:
            network = recognizer(name)
            cut = Alignment(similarity(points, TEMPLATES[network.template]), network.size)
            found[name] = network.embed(cut.crop(image)[None])
        return found
