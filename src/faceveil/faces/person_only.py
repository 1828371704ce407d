"""Paint over what is around the person in an aligned picture, so that none of it comes along when the face is put in.

Where a face is narrower than the head it is put on, the picture's own background would show beside the jaw. In its
place come the colours of the person's rim: of the cheek beside a cheek, of hair beside hair. What is painted depends
on the picture alone, so it is the same for all members of a group.
"""

import cv2
import numpy as np
from numpy.typing import NDArray

from faceveil.faces.face import Image
from faceveil.faces.fill import filled, smooth
from faceveil.models.segmenter import person_mask

SURE = 0.5  # from which the segmenter is believed
RIM = 0.03  # of the picture's side: the person's rim, where the background shines through
THIN = 0.14  # of the side: what of the head is narrower is left out, as ends of hair and ear lobes are
EYES = 0.475  # of the side: where the eyes are in FFHQ's alignment
CORE_CENTRE, CORE_RADII = (0.5, 0.57), (0.17, 0.23)  # of the side: this is face, whatever the segmenter says


def person_only(picture: Image) -> Image:
    """The picture, around its person filled with the person's own colours."""
    off = cv2.distanceTransform(_head(picture), cv2.DIST_L2, 5) / len(picture)
    kept = smooth(2 * off / RIM - 1)[..., None]
    around = filled(picture, kept[..., 0] < 1, picture)
    return np.rint(picture * kept + around * (1 - kept)).astype(np.uint8)


def _head(picture: Image) -> NDArray[np.uint8]:
    """Face, hair and neck: of the person, below the eyes only what hangs down from there without a gap.

    So shoulders and a collar beside the neck are left out.
    """
    side = len(picture)
    head = (person_mask(picture) > SURE).astype(np.uint8)
    centre, radii = (tuple(round(part * side) for part in pair) for pair in (CORE_CENTRE, CORE_RADII))
    cv2.ellipse(head, centre, radii, 0, 0, 360, 1, cv2.FILLED)
    below = round(EYES * side)
    head[below:] = np.minimum.accumulate(head[below:], axis=0)
    brush = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (round(THIN * side) | 1,) * 2)
    return np.asarray(
        cv2.morphologyEx(head, cv2.MORPH_OPEN, brush, borderType=cv2.BORDER_REPLICATE), np.uint8
    )
