"""How the identity hangs together with each attribute (StyleID, appendix A).

The identity slots are swapped between random generated faces; where the identity moves further, which attributes
move further too? Pearson's correlation over the pairs, of the identity's distance with each attribute's.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from faceveil.faces.attributes import attribute_names
from faceveil.methods.styleid.layers import preview, random_codes
from faceveil.methods.styleid.score import identity_distance, read

STILL = 1e-3  # an attribute that moves by less than this on average has no correlation worth a name


@dataclass(frozen=True)
class Link:
    """One attribute: its correlation with the identity, and how much the swap moves it on average."""

    attribute: str
    correlation: float
    change: float


def links(pairs: int, seed: int, recognizers: Sequence[str], slots: slice) -> list[Link]:
    """All attributes that move, the closest first: 0.4 s per pair."""
    distances, changes = [], []
    for source, target in random_codes(pairs, seed):
        mixed = source.copy()
        mixed[slots] = target[slots]
        before, after = (read(preview(code), recognizers) for code in (source, mixed))
        distances.append(identity_distance(before.identity, after.identity))
        changes.append(np.abs(before.attributes - after.attributes))
    found = [
        Link(name, round(float(np.corrcoef(distances, column)[0, 1]), 4), round(float(column.mean()), 4))
        for name, column in zip(attribute_names(), np.array(changes, np.float64).T, strict=True)
        if column.mean() > STILL
    ]
    return sorted(found, key=lambda link: -link.correlation)
