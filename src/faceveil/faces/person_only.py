"""Paint over what is around the face in an aligned picture, so that none of it comes along when the face is put in.

Where a face is narrower than the head it is put on, the picture's own background would show beside the jaw, and
ears, earrings and ends of hair as dark spots. In their place come the colours of what is next to them: of the cheek
beside a cheek, of hair beside hair. What is painted depends on the picture alone, so it is the same for all members
of a group.
"""

import cv2
import numpy as np
from numpy.typing import NDArray

from faceveil.faces.face import Face, Image
from faceveil.faces.fill import filled, smooth
from faceveil.faces.inner import inner_mask
from faceveil.faces.regions import BROWS, has_mesh, like_skin
from faceveil.models.segmenter import person_mask

SURE = 0.5  # from which the segmenter is believed
RIM = 0.03  # of the picture's side: the person's rim, where the background shines through
THIN = 0.14  # of the side: what of the head is narrower is left out, as ends of hair and ear lobes are
SPOT, SOME = 0.01, 0.3  # of the side, and of a spot's surroundings: what is smaller is left in place
EYES = 0.475  # of the side: where the eyes are in FFHQ's alignment
CORE_CENTRE, CORE_RADII = (0.5, 0.57), (0.17, 0.23)  # of the side: this is face, whatever the segmenter says


def person_only(picture: Image, face: Face) -> Image:
    """The picture, around its face filled with the face's own colours."""
    head = np.where(_beside(picture, face), np.uint8(0), _head(picture))
    off = cv2.distanceTransform(head, cv2.DIST_L2, 5) / len(picture)
    kept = smooth(2 * off / RIM - 1)[..., None]
    around = filled(picture, kept[..., 0] < 1, picture)
    return np.rint(picture * kept + around * (1 - kept)).astype(np.uint8)


def _beside(picture: Image, face: Face) -> NDArray[np.bool_]:
    """What is beside cheeks and jaw and not skin, as ear, earring or a lock; but for hair that hangs from the brows
    down without a gap, which frames the face."""
    side = len(picture)
    spots = np.zeros((side, side), np.float32)
    if face.mesh is None or not has_mesh(face):
        return spots > 0
    outside = inner_mask(side) == 0
    brows = min(max(round(float(face.mesh[BROWS, 1].max())), 0), side - 1)
    other = (~like_skin(picture, face, np.s_[:side, :side]) & outside)[brows:]
    spots[brows:] = other & ~np.minimum.accumulate(other, axis=0)
    return np.asarray((cv2.GaussianBlur(spots, (0, 0), SPOT * side) > SOME) & outside)


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
