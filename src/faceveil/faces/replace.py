"""Replace a face by the face of a picture in FFHQ alignment, so that nothing of it remains.

Of the picture only its face and hair are shown: what is around them is painted over, for all members alike. The inner
face is shown without any mixing: there, all who get the same picture show the same face up to resampling. From its
rim outwards the picture is stretched until its face ends where the face that was there ended, so that it fits the
head. At that outline it fades into the colours next to it in the photo, which also fill a rim around the outline: so
no edge of the old face remains, and the new one is no wider than it.
"""

from collections.abc import Iterable, Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from faceveil.faces.align import Alignment
from faceveil.faces.crops import aligned_face
from faceveil.faces.face import Face, Floats, Image
from faceveil.faces.fill import filled, smooth
from faceveil.faces.inner import INNER_CENTRE, INNER_RADII, inner_mask, inner_outline
from faceveil.faces.person_only import person_only
from faceveil.faces.regions import Region, face_outline, polygon, whole_face

# The face in an FFHQ crop, in parts of its side: medians over 60 faces of the detector's box.
BOX_CENTRE, BOX_WIDTH = (0.51, 0.556), 0.547
CHECKED = 0.875  # of the inner face's size: what is compared
COVER_RADII = (0.42, 0.5)  # how far a replaced face can reach over another
CHECKABLE = 0.1  # of the inner face that must be seen for a comparison
FADE_IN, FADE_OUT = 0.015, 0.018  # of the crop's side: where the picture fades, within and beyond the outline
EXACT, NEAREST, FARTHEST = (
    1.03,
    1.08,
    2.5,
)  # radii of the inner face: where stretching begins, an outline may lie
AROUND = 0.25  # of the face: how far the filling looks for colours
# A face found in the result is a replaced one if its middle is this near and it is not larger by this much (105
# faces that were put in: middles within 0.09 but for one of 0.19, small and tilted by 42°; sizes 0.74 to 1.38).
# A detector may also see a small face in a part of a large one: there, all that is nearer still is replaced.
NEAR, NEAR_IF_SMALL, SMALL, LARGEST = 0.3, 0.2, 0.5, 2.0


def checked_mask(size: int) -> NDArray[np.bool_]:
    """What of it is compared: its rim is left out, where resampling lets in what lies beside it."""
    small = round(size * CHECKED)
    rim = [round((1 - CHECKED) * middle * size) for middle in INNER_CENTRE]
    mask = np.zeros((size, size), bool)
    mask[rim[1] : rim[1] + small, rim[0] : rim[0] + small] = inner_mask(small) > 0
    return mask


def replace_face(image: Image, face: Face, picture: Image, alignment: Alignment) -> tuple[Image, Region]:
    """A new photo in which the picture's face stands where the face was, and the region that changed."""
    sized = alignment.resized(picture.shape[0])
    inner = _inner(sized, image)
    cover = _joined([whole_face(face, image), inner], image, margin=AROUND)
    if not cover.mask.any():
        return image.copy(), cover
    shown = _within(_joined([polygon([face_outline(face)], image), inner], image), cover)
    weight = _faded(shown, _within(inner, cover), sized.size / sized.zoom)
    patch, under = _patch(_fitted(picture, face, sized), sized, cover), image[cover.window]
    ground = filled(under, cover.mask > 0, patch)
    mixed = ground * (1 - weight[..., None]) + patch * weight[..., None]
    changed = (cover.mask > 0) | (weight > 0)
    out = image.copy()
    out[cover.window] = np.where(changed[..., None], np.rint(mixed), under)
    return out, Region(changed.astype(np.uint8) * 255, cover.left, cover.top)


def cover_face(image: Image, face: Face, alignment: Alignment) -> tuple[Image, Region]:
    """A new photo in which the face is black, from hairline to chin and wherever a replaced face is compared."""
    cover = _joined([whole_face(face, image), _inner(alignment, image)], image)
    out = image.copy()
    out[cover.window] = np.where(cover.mask[..., None] > 0, np.uint8(0), image[cover.window])
    return out, cover


def is_replaced(face: Face, places: Iterable[Alignment]) -> bool:
    """Whether a face that was found in the result is one of those put there."""
    for place in places:
        off = place.points_to_crop(face.centre) / place.size - BOX_CENTRE
        ratio = face.size_wh[0] * place.zoom / place.size / BOX_WIDTH
        if np.hypot(*off) <= (NEAR if ratio >= SMALL else NEAR_IF_SMALL) and ratio <= LARGEST:
            return True
    return False


def _fitted(picture: Image, face: Face, alignment: Alignment) -> Image:
    """The picture on a canvas twice its size, stretched outside the inner face until its outline is the face's.

    Beyond its frame the picture is mirrored. Of what is around its person nothing is left.
    """
    size = picture.shape[0]
    drawn = aligned_face(picture)
    own = face_outline(drawn) / size
    wanted = alignment.points_to_crop(face_outline(face)) / size
    rows, columns = (np.mgrid[: 2 * size, : 2 * size] + 0.5) / size - 0.5
    across, down = (columns - INNER_CENTRE[0]) / INNER_RADII[0], (rows - INNER_CENTRE[1]) / INNER_RADII[1]
    far, angle = np.hypot(across, down), np.arctan2(down, across)
    here, there = _outline_radius(wanted, angle), _outline_radius(own, angle)
    within = EXACT + (far - EXACT) * (there - EXACT) / (here - EXACT)
    source = np.where(far <= EXACT, far, np.where(far <= here, within, far - here + there))
    ratio = source / np.maximum(far, 1e-9)
    x, y = (
        INNER_CENTRE[0] + across * ratio * INNER_RADII[0],
        INNER_CENTRE[1] + down * ratio * INNER_RADII[1],
    )
    to_x, to_y = (np.asarray(values * size - 0.5, np.float32) for values in (x, y))
    alone = person_only(picture, drawn)
    return np.asarray(cv2.remap(alone, to_x, to_y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT), np.uint8)


def _outline_radius(outline: Floats, angle: Floats) -> Floats:
    """How far an outline (in sides of the crop) lies from the middle at these angles, in radii of the inner face."""
    across, down = ((outline - INNER_CENTRE) / INNER_RADII).T
    far = np.interp(angle, np.arctan2(down, across), np.hypot(across, down), period=2 * np.pi)
    return np.asarray(np.clip(far, NEAREST, FARTHEST), np.float64)


def _inner(alignment: Alignment, image: Image) -> Region:
    return polygon([alignment.points_to_photo(inner_outline() * alignment.size)], image)


def _joined(regions: Sequence[Region], image: Image, margin: float = 0.0) -> Region:
    """One region that covers all, in a window that leaves this part of its size free around them."""
    height, width = image.shape[:2]
    there = [part for part in regions if part.mask.size]
    if not there:
        return Region(np.zeros((0, 0), np.uint8), 0, 0)
    left, top = (min(getattr(part, side) for part in there) for side in ("left", "top"))
    right = max(part.left + part.mask.shape[1] for part in there)
    bottom = max(part.top + part.mask.shape[0] for part in there)
    free = int(np.ceil(margin * max(right - left, bottom - top)))
    left, top = max(0, left - free), max(0, top - free)
    right, bottom = min(width, right + free), min(height, bottom + free)
    mask = np.zeros((bottom - top, right - left), np.uint8)
    for part in there:
        rows, columns = part.mask.shape
        mask[part.top - top :, part.left - left :][:rows, :columns] |= part.mask
    return Region(mask, left, top)


def _within(part: Region, window: Region) -> NDArray[np.uint8]:
    """The part's mask seen in another region's window."""
    mask = np.zeros_like(window.mask)
    rows, columns = part.mask.shape
    mask[part.top - window.top :, part.left - window.left :][:rows, :columns] = part.mask
    return mask


def _faded(shown: NDArray[np.uint8], inner: NDArray[np.uint8], side: float) -> NDArray[np.float32]:
    """1 well inside what is shown and in the inner face, falling to 0 across the outline of what is shown."""
    inside, outside = (
        cv2.distanceTransform(mask.astype(np.uint8), cv2.DIST_L2, 5) for mask in (shown > 0, shown == 0)
    )
    rim = smooth((inside - outside + FADE_OUT * side) / ((FADE_IN + FADE_OUT) * side + 1))
    away = cv2.distanceTransform((inner == 0).astype(np.uint8), cv2.DIST_L2, 5)
    return np.maximum(rim, smooth(1 - away / (FADE_OUT * side + 1)))


def _patch(canvas: Image, alignment: Alignment, where: Region) -> Image:
    """The canvas, the picture in its middle, as it lies in the region's window."""
    matrix = alignment.to_crop.copy()
    matrix[:, 2] += matrix[:, :2] @ [where.left, where.top] + alignment.size // 2
    local = Alignment(matrix, canvas.shape[0])
    return local.place(canvas, (where.mask.shape[1], where.mask.shape[0]))


def visible_inner(
    places: Sequence[Alignment], size_wh: tuple[int, int], size: int
) -> list[NDArray[np.bool_]]:
    """For each replaced face, in the order of replacing, the middle of its crop that can be seen in the photo:
    what lies in the frame and under no face that was put in later."""
    rows, columns = np.mgrid[:size, :size] + 0.5
    inner = checked_mask(size)
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
    return bool(visible.sum() >= CHECKABLE * checked_mask(len(visible)).sum())
