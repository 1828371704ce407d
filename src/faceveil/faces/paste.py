"""Put a crop back into its photo. Pixels where the mask is 0 keep their exact values."""

from typing import Literal

import cv2
import numpy as np

from faceveil.errors import UsageError
from faceveil.faces.align import Alignment
from faceveil.faces.face import Image
from faceveil.faces.regions import Mask, Region

Blend = Literal["feather", "gradient"]


def paste(
    image: Image,
    crop: Image,
    alignment: Alignment,
    mask: Mask,
    blend: Blend = "feather",
    feather: float = 0.06,
) -> Image:
    """A new photo with the crop in place where the crop's mask is set.

    `feather` softens the mask's edge inwards, by this part of the crop's side. `gradient` keeps the crop's
    gradients and takes the colours of the photo around it (Poisson blending).
    """
    if blend not in ("feather", "gradient"):
        raise UsageError(f"no blend {blend!r}; there are feather and gradient.")
    place = placed(image, alignment, mask)
    if place is None:
        return image.copy()
    patch = _window_alignment(alignment, place).place(crop, (place.mask.shape[1], place.mask.shape[0]))
    if blend == "gradient":
        patch = _poisson(image[place.window], patch, place.mask)
    return blended(image, patch, _softened(place, feather * alignment.size / alignment.zoom))


def blended(image: Image, patch: Image, where: Region) -> Image:
    """A new photo with `patch` (as large as the region's window) mixed in by the mask."""
    out = image.copy()
    under = out[where.window]
    weight = where.mask[..., None].astype(np.float32) / 255
    mixed = np.rint(under * (1 - weight) + patch * weight).astype(np.uint8)
    out[where.window] = np.where(where.mask[..., None] > 0, mixed, under)
    return out


def placed(image: Image, alignment: Alignment, mask: Mask) -> Region | None:
    """The crop's mask in the photo, cut to the window it touches; None if it lies outside."""
    height, width = image.shape[:2]
    ys, xs = np.nonzero(mask)
    if len(xs) == 0:
        return None
    corners = np.array([[x, y] for x in (xs.min(), xs.max() + 1) for y in (ys.min(), ys.max() + 1)], float)
    corners = alignment.points_to_photo(corners)
    left, top = np.clip(np.floor(corners.min(axis=0)) - 1, 0, [width, height]).astype(int)
    right, bottom = np.clip(np.ceil(corners.max(axis=0)) + 1, 0, [width, height]).astype(int)
    if right <= left or bottom <= top:
        return None
    window = Region(np.zeros((bottom - top, right - left), np.uint8), int(left), int(top))
    placed = _window_alignment(alignment, window).place(mask, (int(right - left), int(bottom - top)))
    return Region(placed, int(left), int(top))


def _window_alignment(alignment: Alignment, window: Region) -> Alignment:
    """The alignment seen from the window's own corner."""
    shift = alignment.to_crop[:, :2] @ [window.left, window.top]
    matrix = alignment.to_crop.copy()
    matrix[:, 2] += shift
    return Alignment(matrix, alignment.size)


def _softened(place: Region, width: float) -> Region:
    """The mask with an edge that rises from 0 at its rim over `width` photo pixels; never wider than it was."""
    if width < 1:
        return place
    # The photo's frame is not an edge of the mask: a face cut by the frame must not fade there.
    solid = cv2.copyMakeBorder(place.mask, 1, 1, 1, 1, cv2.BORDER_REPLICATE)
    rise = cv2.distanceTransform((solid > 127).astype(np.uint8), cv2.DIST_L2, 5)[1:-1, 1:-1] / width
    smooth = np.clip(rise, 0, 1)
    smooth = smooth * smooth * (3 - 2 * smooth)
    return Region(np.rint(smooth * place.mask).astype(np.uint8), place.left, place.top)


def _poisson(under: Image, patch: Image, mask: Mask) -> Image:
    """The patch with its own gradients and the colours of `under` along the mask's rim."""
    solid = (mask > 127).astype(np.uint8) * 255
    if not solid.any():
        return patch
    # seamlessClone centres the mask's bounding box on the given point and needs room around it.
    pad = 3
    source, target = (
        cv2.copyMakeBorder(im, pad, pad, pad, pad, cv2.BORDER_REPLICATE) for im in (patch, under)
    )
    room = cv2.copyMakeBorder(solid, pad, pad, pad, pad, cv2.BORDER_CONSTANT, value=0)
    x, y, width, height = cv2.boundingRect(room)
    if width < 3 or height < 3:
        return patch
    centre = (x + width // 2, y + height // 2)
    cloned = cv2.seamlessClone(source, target, room, centre, cv2.NORMAL_CLONE)
    return np.asarray(cloned[pad:-pad, pad:-pad], np.uint8)
