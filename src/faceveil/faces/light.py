"""The light on a face: colours of its skin in so few cells that they tell tone and light, and nobody.

It is all that the joining network is told of the face that is replaced (see `joined.py`).
"""

import cv2
import numpy as np
from numpy.typing import NDArray

from faceveil.faces.face import Image
from faceveil.models.parser import NOSE, SIZE, SKIN

Light = NDArray[np.float32]  # CELLS × CELLS × 3, 0 to 255

CELLS = 8  # of the crop's side; a face is some five cells high
SOFT = 0.75  # cells, the deviation of the blur over them
LEAST = 1e-3  # of a blurred cell: less is no skin
RIM, OFF = 5, 70.0  # px around what is new; of 255: what differs by more shows other things
FADE, FAINT = 6.0, 0.03  # px; of the blurred rim
SKINS = (SKIN, NOSE)  # of the parser's classes


def light_of(crop: NDArray[np.generic], skin: NDArray[np.generic]) -> Light:
    """Of a crop, and how much of each pixel is skin; far from any, that of all skin; grey where there is none."""
    share = np.asarray(skin, np.float32)
    colours = _few(np.asarray(crop, np.float32) * share[..., None])
    weight = _few(share)[..., None]
    whole = np.append(colours.sum(axis=(0, 1)), weight.sum())
    mean = whole[:3] / whole[3] if weight.max() > LEAST else np.full(3, 127.5)
    return np.asarray((colours + LEAST * mean) / (weight + LEAST), np.float32)


def around(crop: Image, keep: NDArray[np.float32], light: Light) -> NDArray[np.float32]:
    """What is seen of a crop of SIZE px: its pixels where they stay, the light where they do not."""
    slow = lit(light)
    return np.asarray(slow + keep[..., None] * (np.asarray(crop, np.float32) - slow), np.float32)


def toned(render: Image, photo: Image, skin: NDArray[np.bool_]) -> Image:
    """The render, its skin in the photo's tone as a whole: cell by cell it would get blotches. All but the render at
    SIZE px."""
    if not skin.any():
        return render
    small = cv2.resize(render, (SIZE, SIZE), interpolation=cv2.INTER_AREA)
    change = np.median(photo[skin], axis=0) - np.median(small[skin], axis=0)
    return np.asarray(np.clip(np.rint(render + change), 0, 255), np.uint8)


def met(render: Image, photo: Image, share: NDArray[np.float32], skin: NDArray[np.bool_]) -> Image:
    """The render in the photo's colours where it will meet the photo's own `skin`, of neck and ears, and less and
    less of them further in; all but the render at SIZE px."""
    small = cv2.resize(render, (SIZE, SIZE), interpolation=cv2.INTER_AREA).astype(np.float32)
    near = cv2.dilate((share > 0.5).astype(np.uint8), np.ones((2 * RIM + 1, 2 * RIM + 1), np.uint8)) > 0
    off = photo.astype(np.float32) - small
    rim = (near & (share < 0.05) & skin & (np.abs(off).max(axis=2) < OFF)).astype(np.float32)
    weight = cv2.GaussianBlur(rim, (0, 0), FADE)[..., None]
    change = cv2.GaussianBlur(off * rim[..., None], (0, 0), FADE) / (weight + FAINT)
    large = cv2.resize(change, render.shape[1::-1], interpolation=cv2.INTER_LINEAR)
    return np.asarray(np.clip(np.rint(render + large), 0, 255), np.uint8)


def unevenness(crop: Image, light: Light, skin: NDArray[np.bool_]) -> float:
    """How much a face's light lies otherwise: the mean over its skin of what it is off, but for being lighter or
    darker as a whole."""
    off = (light_of(cv2.resize(crop, (SIZE, SIZE), interpolation=cv2.INTER_LINEAR), skin) - light).mean(
        axis=2
    )
    share = _few(skin.astype(np.float32))
    total = max(float(share.sum()), LEAST)
    off -= float((share * off).sum()) / total
    return float((share * np.abs(off)).sum()) / total


def lit(light: Light) -> NDArray[np.float32]:
    """As a picture of SIZE px."""
    return np.asarray(cv2.resize(light, (SIZE, SIZE), interpolation=cv2.INTER_LINEAR), np.float32)


def _few(picture: NDArray[np.float32]) -> NDArray[np.float32]:
    cells = cv2.resize(picture, (CELLS, CELLS), interpolation=cv2.INTER_AREA)
    return np.asarray(cv2.GaussianBlur(cells, (0, 0), SOFT), np.float32)
