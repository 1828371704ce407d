"""Draw the joined faces of a released photo again: from the group's face, what run.json tells of each member, and the
released photo beside them.

The original is not there, so what comes out alike can hold nothing else of it. What was not replaced is asked of the
face parser: no eye, brow, nose or mouth may lie beside the outline that run.json tells.
"""

from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from faceveil.faces.align import Alignment
from faceveil.faces.face import Image
from faceveil.faces.inner import inner_mask
from faceveil.faces.put_in import Member, put_in, replaced, soft
from faceveil.models.parser import BROWS, EYES, LIPS, MOUTH, NOSE, SIZE, parse
from faceveil.privacy.same_face import Cut, cut_out

FEATURES = (*BROWS, *EYES, NOSE, MOUTH, *LIPS)
WHOLLY, HALF = 0.95, 128
FEW = 0.01  # of the inner face: so little of features is no face


def wholly(member: Member, side: int) -> NDArray[np.bool_]:
    """Where a crop of `side` px shows the new face and nothing else."""
    share = cv2.resize(soft(member.seen.outline), (side, side), interpolation=cv2.INTER_AREA)
    return np.asarray(share > WHOLLY)


def redrawn(image: Image, members: Sequence[Member], visible: Sequence[NDArray[np.bool_]]) -> list[Cut]:
    """A cut of each face as it is drawn again."""
    again = put_in(image, members)[0]
    return [cut_out(again, member.place, seen) for member, seen in zip(members, visible, strict=True)]


def parts_left(image: Image, members: Sequence[Member]) -> list[float]:
    """Of each face the share of features in the middle of its crop that no new face took the place of."""
    covered = replaced(image, members)
    return [_beside(image, covered, member.place.resized(SIZE)) for member in members]


def _beside(image: Image, covered: Image, place: Alignment) -> float:
    middle = inner_mask(SIZE) > 0
    features = np.isin(parse(place.crop(image)).argmax(axis=0), FEATURES) & middle
    beside = features & (place.crop(covered)[..., 0] < HALF)
    return float(beside.sum() / max(features.sum(), FEW * middle.sum()))
