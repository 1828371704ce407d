"""Replace a face by a picture in FFHQ alignment, so that nothing of the face itself remains.

The picture covers the member's whole face and `INNER`, the middle of the crop, without any mixing: there, all
who get the same picture show the same face up to resampling. Only around that does it fade into the photo.
"""

from collections.abc import Iterable, Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from faceveil.faces.align import Alignment
from faceveil.faces.face import Face, Floats, Image
from faceveil.faces.paste import blended
from faceveil.faces.regions import Region, whole_face

# The face in an FFHQ crop, in parts of its side: medians over 60 faces, of the mesh's oval and the detector's box.
INNER_CENTRE, INNER_RADII = (0.5, 0.586), (0.25, 0.312)
BOX_CENTRE, BOX_WIDTH = (0.51, 0.556), 0.547
COVER_RADII = (0.42, 0.5)  # how far a replaced face can reach over another
CHECKABLE = 0.1  # of the inner face that must be seen for a comparison
FADE = 0.035  # of the crop's side: how far the picture fades out beyond the face
# A face found in the result is a replaced one if its middle is this near and it is not larger by this much (105
# faces that were put in: middles within 0.09 but for one of 0.19, small and tilted by 42°; sizes 0.74 to 1.38).
# A detector may also see a small face in a part of a large one: there, all that is nearer still is replaced.
NEAR, NEAR_IF_SMALL, SMALL, LARGEST = 0.3, 0.2, 0.5, 2.0


def inner_mask(size: int) -> NDArray[np.uint8]:
    """The middle of the face in a crop of this size: 255 inside."""
    mask = np.zeros((size, size), np.uint8)
    cv2.fillConvexPoly(mask, np.rint(_inner_outline() * size * 16).astype(np.int32), 255, shift=4)
    return mask


def replace_face(image: Image, face: Face, picture: Image, alignment: Alignment) -> tuple[Image, Region]:
    """A new photo in which the picture stands where the face was, and the region that changed."""
    sized = alignment.resized(picture.shape[0])
    fade = FADE * sized.size / sized.zoom
    where = _with_fade(_solid(image, face, sized), fade, image)
    if where.mask.size == 0:
        return image.copy(), where
    patch = _patch(picture, sized, where)
    return blended(image, patch, where), where


def is_replaced(face: Face, places: Iterable[Alignment]) -> bool:
    """Whether a face that was found in the result is one of those put there."""
    for place in places:
        off = place.points_to_crop(face.centre) / place.size - BOX_CENTRE
        ratio = face.size_wh[0] * place.zoom / place.size / BOX_WIDTH
        if np.hypot(*off) <= (NEAR if ratio >= SMALL else NEAR_IF_SMALL) and ratio <= LARGEST:
            return True
    return False


def _inner_outline() -> Floats:
    angle = np.linspace(0, 2 * np.pi, 64, endpoint=False)
    return np.asarray(np.stack([np.cos(angle), np.sin(angle)], axis=1) * INNER_RADII + INNER_CENTRE)


def _solid(image: Image, face: Face, alignment: Alignment) -> Region:
    """What must be covered whole: the face, and the middle of the crop."""
    height, width = image.shape[:2]
    own = whole_face(face, image)
    outline = alignment.points_to_photo(_inner_outline() * alignment.size)
    left, top = np.floor(outline.min(axis=0)).astype(int)
    right, bottom = np.ceil(outline.max(axis=0)).astype(int) + 1
    left, right = max(0, min(left, own.left)), min(width, max(right, own.left + own.mask.shape[1]))
    top, bottom = max(0, min(top, own.top)), min(height, max(bottom, own.top + own.mask.shape[0]))
    mask = np.zeros((max(0, bottom - top), max(0, right - left)), np.uint8)
    if mask.size == 0:
        return Region(mask, int(left), int(top))
    cv2.fillConvexPoly(mask, np.rint((outline - [left, top]) * 16).astype(np.int32), 255, shift=4)
    inside = mask[own.top - top :, own.left - left :][: own.mask.shape[0], : own.mask.shape[1]]
    inside |= own.mask
    return Region(mask, int(left), int(top))


def _with_fade(solid: Region, width: float, image: Image) -> Region:
    """The region with a soft rim of this many pixels around it; inside, the mask stays whole."""
    reach = int(np.ceil(width))
    rows, columns = image.shape[:2]
    height_, width_ = solid.mask.shape
    before = min(reach, solid.top), min(reach, solid.left)
    after = min(reach, rows - solid.top - height_), min(reach, columns - solid.left - width_)
    wide = np.pad(solid.mask, ((before[0], after[0]), (before[1], after[1])))
    if wide.size == 0 or reach == 0:
        return solid
    distance = cv2.distanceTransform((wide == 0).astype(np.uint8), cv2.DIST_L2, 5)
    soft = np.clip(1 - distance / (width + 1), 0, 1)
    soft = soft * soft * (3 - 2 * soft)
    mask = np.where(wide > 0, np.uint8(255), np.rint(soft * 254).astype(np.uint8))
    return Region(mask, solid.left - before[1], solid.top - before[0])


def _patch(picture: Image, alignment: Alignment, where: Region) -> Image:
    """The picture as it lies in the region's window; beyond its frame it is mirrored, so that it covers all."""
    pad = picture.shape[0] // 2
    wide = cv2.copyMakeBorder(picture, pad, pad, pad, pad, cv2.BORDER_REFLECT)
    matrix = alignment.to_crop.copy()
    matrix[:, 2] += matrix[:, :2] @ [where.left, where.top] + pad
    local = Alignment(matrix, wide.shape[0])
    return local.place(np.asarray(wide, np.uint8), (where.mask.shape[1], where.mask.shape[0]))


def visible_inner(
    places: Sequence[Alignment], size_wh: tuple[int, int], size: int
) -> list[NDArray[np.bool_]]:
    """For each replaced face, in the order of replacing, the middle of its crop that can be seen in the photo:
    what lies in the frame and under no face that was put in later."""
    rows, columns = np.mgrid[:size, :size] + 0.5
    inner = inner_mask(size) > 0
    seen = []
    for number, place in enumerate(places):
        at = place.resized(size).points_to_photo(np.stack([columns, rows], axis=-1))
        visible = inner & (at >= 1).all(axis=-1) & (at <= np.array(size_wh) - 1).all(axis=-1)
        for later in places[number + 1 :]:
            off = (later.points_to_crop(at) / later.size - INNER_CENTRE) / COVER_RADII
            visible &= np.hypot(off[..., 0], off[..., 1]) > 1
        seen.append(visible)
    return seen


def is_checkable(visible: NDArray[np.bool_]) -> bool:
    """Whether enough of a replaced face can be seen to compare it with others of its group."""
    return bool(visible.sum() >= CHECKABLE * (inner_mask(len(visible)) > 0).sum())
