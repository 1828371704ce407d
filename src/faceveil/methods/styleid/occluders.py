"""What stands before a face: hands, microphones, cups, cloth, frames of glasses, strands of hair.

The face parser learnt from portraits and takes most of it for face. A segmenter of people does not: of hands, cups,
microphones, bars, cloth and masks put before 199 faces the photo keeps 9 % of the pixels by the parser alone and 88 %
with the segmenter; of 35 faces with nothing before them it keeps 0.01 % more of the middle. What the generator cannot
explain, as its render of the face's own code differs from the photo, tells far less: it finds half of a hand where it
takes 3.6 % of the face along.
"""

import cv2
import numpy as np
from numpy.typing import NDArray

from faceveil.faces.face import Floats
from faceveil.faces.regions import OVAL
from faceveil.models import parser, segmenter
from faceveil.models.parser import (
    BACKGROUND,
    BROWS,
    CLOTH,
    EARRING,
    FACE,
    GLASSES,
    HAIR,
    HAT,
    NECK,
    SIZE,
    SKIN,
    Shares,
)  # fmt: skip
from faceveil.models.segmenter import Parts

INNER = 0.8  # of the mesh's outline: the middle of the face
LEAST_FACE = (
    0.35  # of the middle; a mask leaves 0.39 of it: where the segmenter sees less it does not know the face
)
NO_FACE = (
    BACKGROUND,
    CLOTH,
    EARRING,
    HAT,
)  # what the parser may take a face for, in photos cut close around it
NOSE_TIP = 4  # of the mesh
REACH = 9  # px of SIZE that a hand is followed from before the face: further than the face grows


def with_occluders(shares: Shares, parts: Parts, mesh: Floats) -> Shares:
    """The parser's shares, in which what stands before the face is cloth, hair or background.

    `mesh` is the face's in a crop of SIZE px. Glasses are decided apart (`paste.glasses_kept`).
    """
    seen, labels = parts.argmax(axis=0), shares.argmax(axis=0)
    middle = outline(mesh, INNER)
    if (seen == segmenter.FACE)[middle].mean() < LEAST_FACE:
        return shares
    before_glasses = np.isin(seen, (segmenter.BODY, segmenter.CLOTHES, segmenter.HAIR))
    glasses = (labels == GLASSES) & above_nose(mesh) & ~before_glasses
    taken = (np.isin(labels, (*FACE, GLASSES)) | outline(mesh)) & ~glasses
    skin = seen == segmenter.BODY
    changes = (
        (SKIN, middle & (seen == segmenter.FACE) & np.isin(labels, NO_FACE)),
        (HAIR, taken & (seen == segmenter.HAIR) & ~np.isin(labels, BROWS)),
        (CLOTH, taken & np.isin(seen, (segmenter.CLOTHES, segmenter.OTHERS))),
        (NECK, np.isin(labels, FACE) & skin),
        (CLOTH, hands(skin, mesh) & (taken | (labels == NECK))),
    )
    named = labels.copy()
    for what, where in changes:
        named[where] = what
    sure = np.eye(parser.CLASSES, dtype=np.float32)[named].transpose(2, 0, 1)
    return np.where(named == labels, shares, sure)


def hands(skin: NDArray[np.bool_], mesh: Floats) -> NDArray[np.bool_]:
    """Skin that is no face's, before the face and next to there: a neck is not before it."""
    before = (skin & outline(mesh)).astype(np.uint8)
    near = cv2.dilate(before, cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * REACH + 1,) * 2))
    return np.asarray((near > 0) & skin)


def above_nose(mesh: Floats) -> NDArray[np.bool_]:
    """Where glasses can be: a mask or a cup below, which the parser may take for glasses, is none."""
    return np.broadcast_to(np.arange(SIZE)[:, None] < mesh[NOSE_TIP, 1], (SIZE, SIZE))


def outline(mesh: Floats, scale: float = 1.0) -> NDArray[np.bool_]:
    """What lies within the mesh's outline, or within one that is smaller by `scale`."""
    corners = mesh[OVAL, :2]
    centre = corners.mean(axis=0)
    scaled = np.rint(centre + scale * (corners - centre)).astype(np.int32)
    return np.asarray(cv2.fillPoly(np.zeros((SIZE, SIZE), np.uint8), [scaled], 1) > 0)
