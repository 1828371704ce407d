"""attribute: what networks read in a face, as numbers from 0 to 1 (ATTRIBUTE of MIKU).

Attributes are chosen by name: those of `attribute_names()` (age, gender, yaw, pitch, AttrNet's labels and the single
expressions), and the families `expression` and `pose`. faces/attributes.py reads them.
"""

from collections.abc import Hashable, Sequence
from typing import ClassVar

import numpy as np

from faceveil.errors import UsageError
from faceveil.faces import FaceSet
from faceveil.faces.attributes import EXPRESSION_NAMES, attribute_names, attribute_vector
from faceveil.faces.crops import as_face
from faceveil.models.attrnet import AttrNet, offered_labels
from faceveil.models.mobilefacenet import CARD
from faceveil.spaces.space import Space, Vectors

FAMILIES = {"expression": EXPRESSION_NAMES, "pose": ("yaw", "pitch")}


class AttributeSpace(Space):
    """The chosen attributes side by side; all of them without `names`. `net` replaces the AttrNet that ships.

    Cost: about 20 ms a face for all; a network that no name asks for does not run.
    """

    id: ClassVar[str] = "attribute"

    def __init__(self, names: Sequence[str] | None = None, net: AttrNet | None = None) -> None:
        self.net = net
        every = attribute_names(net)
        self.names = every if names is None else _expanded(names, every)

    @property
    def key(self) -> Hashable:
        """Measured once for a set."""
        return ("attribute", self.names) if self.net is None else None

    @property
    def cards(self) -> tuple[str, ...]:
        """Those of the networks that are asked; AttrNet is part of the program, the recogniser it reads is not."""
        cards = {"age.v1": {"age"}, "gender.v1": {"gender"}, "expression.fer": set(EXPRESSION_NAMES)}
        asked = tuple(card for card, names in cards.items() if names & set(self.names))
        labels, read = (offered_labels(), (CARD,)) if self.net is None else (self.net.labels, self.net.cards)
        return (*asked, *read) if set(labels) & set(self.names) else asked

    def _encode(self, faces: FaceSet) -> Vectors:
        rows = [
            attribute_vector(crop, as_face(points, mesh), self.names, self.net, crop=crop)
            for crop, points, mesh in zip(faces.crops, faces.points, faces.meshes, strict=True)
        ]
        return np.array(rows, np.float32)


def _expanded(names: Sequence[str], every: Sequence[str]) -> tuple[str, ...]:
    """Families as their members, each name once."""
    chosen = tuple(dict.fromkeys(one for name in names for one in FAMILIES.get(name, (name,))))
    unknown = [name for name in chosen if name not in every]
    if unknown or not chosen:
        what = ", ".join(repr(name) for name in unknown) or "nothing"
        raise UsageError(f"no attribute {what}; choose from {', '.join((*FAMILIES, *every))}.")
    return chosen
