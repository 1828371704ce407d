"""What joining a group's face with a member's photo takes: the face's code, and what is seen of the member."""

from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from faceveil.faces import Alignment, Face, pose
from faceveil.faces.detail import grain_of
from faceveil.faces.face import Floats, Image
from faceveil.faces.inner import INNER_CENTRE, INNER_RADII, inner_mask
from faceveil.faces.light import SKINS, light_of
from faceveil.faces.mesh import SURE
from faceveil.faces.put_in import Seen, fine, packed
from faceveil.methods.styleid.occluders import with_occluders
from faceveil.methods.styleid.paste import STAYS, glasses_kept, grown
from faceveil.models.directions import look_ahead
from faceveil.models.mobilestylegan import SLOTS, STYLE_DIM
from faceveil.models.parser import FACE, GLASSES, SIZE, parse
from faceveil.models.segmenter import parts
from faceveil.spaces.inversion import codes_of

FARTHEST = 1.8  # radii of the inner face: so far a bald head's skin goes
MOST_HIDDEN = 0.5  # of the inner face, that things before it may hide
MOST_TURN = 30.0  # degrees: further the generator's faces do not turn


def codes_of_pictures(pictures: NDArray[np.uint8]) -> NDArray[np.float16]:
    """Of group's faces, M × 23 × 512, looking straight ahead: what the encoder reads in the picture and no more, so
    that a code tells no more of the members than their picture does."""
    codes = [look_ahead(code) for code in codes_of(pictures)]
    return np.array(codes, np.float16).reshape(-1, SLOTS, STYLE_DIM)


def seen_of(image: Image, face: Face, place: Alignment, others: Sequence[Alignment] = ()) -> Seen:
    """What is still seen of a face in its photo, where `others` are beside it."""
    small = place.resized(SIZE).crop(image)
    single = place.resized(SIZE).crop(image, cv2.BORDER_REPLICATE)  # mirrored faces confuse what names pixels
    shares, seen_parts = parse(single), parts(single)
    if face.mesh is not None and (face.presence or 0.0) >= SURE:
        shares = with_occluders(shares, seen_parts, place.resized(SIZE).points_to_crop(face.mesh[:, :2]))
    labels = shares.argmax(axis=0)
    kept, _ = glasses_kept(small, shares, seen_parts)
    inside, stays = _parts(labels, kept, _own(place, others))
    outline = grown(inside, stays, soft=0) > 0.5
    skin = np.isin(labels, SKINS) & inside
    grain = grain_of(place.resized(fine(place)).crop(image), skin)
    return Seen(packed(outline), np.rint(light_of(small, skin)), np.round(grain, 2), _turn(face))


def _parts(
    labels: NDArray[np.int64], kept: NDArray[np.bool_], own: NDArray[np.bool_]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """What is face, and what the face does not grow over. Where the parser finds hardly any face, as in the smallest
    and coarsest, its middle is one all the same."""
    middle = inner_mask(SIZE) > 0
    stays = np.isin(labels, STAYS) | kept
    if (middle & stays).sum() > MOST_HIDDEN * middle.sum():
        stays &= ~middle
    return (np.isin(labels, (*FACE, GLASSES)) | middle) & own & ~stays, stays


def _own(place: Alignment, others: Sequence[Alignment]) -> NDArray[np.bool_]:
    """What of a face's crop is nearer to it than to any other: two heads that touch are one to the parser."""
    rows, columns = np.mgrid[:SIZE, :SIZE] + 0.5
    at = place.resized(SIZE).points_to_photo(np.stack([columns, rows], axis=-1))
    own, *far = (_far(at, one) for one in (place, *others))
    return np.asarray((own < FARTHEST) & np.logical_and.reduce([own <= other for other in far]))


def _far(at: Floats, place: Alignment) -> Floats:
    """From the middle of a face, in radii of its inner part."""
    off = (place.points_to_crop(at) / place.size - INNER_CENTRE) / INNER_RADII
    return np.asarray(np.hypot(off[..., 0], off[..., 1]))


def _turn(face: Face) -> tuple[float, float]:
    """In whole degrees; none where the mesh network is not sure of the face."""
    if face.mesh is None or (face.presence or 0.0) < SURE:
        return 0.0, 0.0
    head = pose(face)
    yaw, pitch = np.clip(np.round([head.yaw, head.pitch]), -MOST_TURN, MOST_TURN)
    return float(yaw), float(pitch)
