"""What of a photo a new face takes the place of, by the face parser: skin and features, and nothing else.

Hair, hat, clothes, earrings, dark glasses, frames of clear ones, background and whatever stands before the face
(`occluders.py`) keep the photo's own pixels. Beyond the face's edge the new face goes on a little, where none of
these is, so that nothing of the old one's rim stays.
"""

from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from faceveil.faces.face import Floats, Image
from faceveil.faces.light import SKINS
from faceveil.faces.regions import LEFT_BROW, LEFT_EYE, LIPS, NOSE, RIGHT_BROW, RIGHT_EYE, Mask
from faceveil.methods.styleid.occluders import INNER, outline
from faceveil.models.parser import (
    BACKGROUND,
    CLOTH,
    EARRING,
    FACE,
    GLASSES,
    HAIR,
    HAT,
    Shares,
)
from faceveil.models.segmenter import OTHERS, Parts

Share = NDArray[np.float32]  # SIZE × SIZE, 0 to 1

STAYS = (HAIR, HAT, CLOTH, EARRING, BACKGROUND)  # what the face does not grow over
THINGS = (HAT, CLOTH, EARRING)  # of these, what has an edge, as hair has none
GROWN, FEATHER = 4, 1.5  # px of SIZE: how far beyond the face, and how softly it ends
CRISP = 0.7  # px, before things: at 1.5 twice as many of their pixels change
DARK = 0.4  # of the skin's lightness: glasses below it hide the eyes and stay
LEAST_GLASSES = 0.004  # of the picture: less is no pair of them
FRAME_INSIDE, FRAME_BEYOND = 5, 2  # px of SIZE from the edge of glasses, between which their frame lies

EYES = ([*RIGHT_EYE, *RIGHT_BROW], [*LEFT_EYE, *LEFT_BROW])
REGIONS = {  # what `styleid-mask` replaces; each holds the one before it
    "eyes": EYES,
    "eyes-nose": (*EYES, NOSE),
    "eyes-nose-mouth": (*EYES, NOSE, LIPS),
    "face": (),
}
REGION_GROWN, REGION_FEATHER = 0.025, 0.015  # of the side


def face_share(shares: Shares, mesh: Floats, kept: NDArray[np.bool_]) -> Share:
    """How much of each pixel is to be the new face's: less those that are `kept` of glasses.

    `mesh` is the face's in a crop of SIZE px.
    """
    labels = shares.argmax(axis=0)
    face = np.isin(labels, (*FACE, GLASSES)) | (outline(mesh, INNER) & ~np.isin(labels, STAYS))
    hard = (kept | np.isin(labels, THINGS)).astype(np.float32)
    soft = cv2.GaussianBlur(hard, (0, 0), CRISP)
    return np.asarray(grown(face & ~kept, np.isin(labels, STAYS) | kept) * (1 - soft), np.float32)


def glasses_kept(crop: Image, shares: Shares, parts: Parts) -> tuple[NDArray[np.bool_], bool]:
    """What of glasses stays: all of dark ones, the frame of clear ones, nothing of those that have none; and whether
    they are dark.

    Of a crop of SIZE px.
    """
    labels = shares.argmax(axis=0)
    glasses, skin = labels == GLASSES, np.isin(labels, SKINS)
    if glasses.mean() < LEAST_GLASSES or not skin.any():
        return np.zeros_like(glasses), False
    light = cv2.cvtColor(crop.astype(np.float32) / 255, cv2.COLOR_RGB2LAB)[..., 0]
    dark = bool(np.median(light[glasses]) < DARK * np.median(light[skin]))
    return (glasses if dark else frame(glasses, parts)), dark


def frame(glasses: NDArray[np.bool_], parts: Parts) -> NDArray[np.bool_]:
    """What at the edge of glasses is a thing and no face. A tinted lens is a thing too, but shows the eyes: what is
    further in than a frame is wide does not stay."""
    around, within = (_grown_by(mask, by) for mask, by in ((glasses, FRAME_BEYOND), (~glasses, FRAME_INSIDE)))
    return np.asarray(around & within & (parts.argmax(axis=0) == OTHERS))


def _grown_by(mask: NDArray[np.bool_], by: int) -> NDArray[np.bool_]:
    kernel = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * by + 1, 2 * by + 1))
    return np.asarray(cv2.dilate(mask.astype(np.uint8), kernel) > 0)


def grown(
    face: NDArray[np.bool_], stays: NDArray[np.bool_], by: float = GROWN, soft: float = FEATHER
) -> Share:
    """A face's pixels and those around it, but for what stays, with a soft edge."""
    closed = cv2.morphologyEx(face.astype(np.uint8), cv2.MORPH_CLOSE, np.ones((3, 3), np.uint8))
    side = 2 * round(by) + 1
    wide = cv2.dilate(closed, cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (side, side)))
    sharp = np.where(stays, closed, wide).astype(np.float32)
    return np.asarray(cv2.GaussianBlur(sharp, (0, 0), soft) if soft > 0 else sharp, np.float32)


def as_mask(share: Share, side: int) -> Mask:
    """0 to 255, as large as a crop."""
    large = cv2.resize(share, (side, side), interpolation=cv2.INTER_LINEAR)
    return np.asarray(np.rint(255 * np.clip(large, 0, 1)), np.uint8)


def part_of(mask: Mask, region: str, mesh: Floats) -> Mask:
    """The mask of the whole face cut to one of REGIONS."""
    if region == "face":
        return mask
    side = mask.shape[0]
    cut = np.zeros_like(mask)
    for vertices in REGIONS[region]:
        cv2.fillConvexPoly(cut, cv2.convexHull(np.rint(mesh[vertices, :2]).astype(np.int32)), 255)
    reach = 2 * max(1, round(REGION_GROWN * side)) + 1
    wide = cv2.dilate(cut, cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (reach, reach)))
    soft = cv2.GaussianBlur(wide, (0, 0), max(1.0, REGION_FEATHER * side))
    return np.asarray(np.minimum(mask, soft), np.uint8)


def from_on(region: str) -> Sequence[str]:
    """This region and the larger ones, smallest first."""
    names = list(REGIONS)
    return names[names.index(region) :]
