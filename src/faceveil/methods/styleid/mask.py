"""Masks: which part of the face is replaced (StyleID, section 5): eyes, then nose, then mouth, then all of it.

Where the paper makes a random face from the source's segmentation, here the target has been moved to the source's
pose and fitted into its outline, so both share their segmentation, and any part of one can stand in the other.
"""

import cv2
import numpy as np

from faceveil.faces.face import Floats
from faceveil.faces.regions import LEFT_BROW, LEFT_EYE, LIPS, NOSE, RIGHT_BROW, RIGHT_EYE, Mask

EYES = ([*RIGHT_EYE, *RIGHT_BROW], [*LEFT_EYE, *LEFT_BROW])
REGIONS = {  # each holds the one before it
    "eyes": EYES,
    "eyes-nose": (*EYES, NOSE),
    "eyes-nose-mouth": (*EYES, NOSE, LIPS),
    "face": (),
}
GROW, SOFT = 0.025, 0.015  # of the crop's side


def part_of(mask: Mask, region: str, source: Floats, target: Floats) -> Mask:
    """The mask of the whole face cut to a region; it covers the part in the old mesh and in the new one."""
    if region == "face":
        return mask
    side = mask.shape[0]
    cut = np.zeros_like(mask)
    for vertices in REGIONS[region]:
        for mesh in (source, target):
            hull = cv2.convexHull(np.rint(mesh[vertices]).astype(np.int32))
            cv2.fillConvexPoly(cut, hull, 255)
    size = 2 * max(1, round(GROW * side)) + 1
    grown = cv2.dilate(cut, cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (size, size)))
    soft = cv2.GaussianBlur(grown, (0, 0), max(1.0, SOFT * side))
    return np.asarray(np.minimum(mask, soft), np.uint8)


def from_on(region: str) -> list[str]:
    """This region and the larger ones, smallest first."""
    names = list(REGIONS)
    return names[names.index(region) :]
