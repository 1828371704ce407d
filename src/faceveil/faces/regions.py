"""Regions of a face as masks: box, eye band, face shape; eyes, brows, nose, mouth; hair, person, background.

A region holds its mask only for the window of the photo it touches, so a small face costs little in a large photo.
"""

from collections.abc import Callable
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from faceveil.errors import UsageError
from faceveil.faces.face import Face, Floats, Image
from faceveil.faces.mesh import SURE

Mask = NDArray[np.uint8]  # 0 outside, 255 inside, between at a soft edge

# Contours of the 468-point mesh, in order around each part (numbering of the mesh's makers).
OVAL = [
    *(10, 338, 297, 332, 284, 251, 389, 356, 454, 323, 361, 288, 397, 365, 379, 378, 400, 377),
    *(152, 148, 176, 149, 150, 136, 172, 58, 132, 93, 234, 127, 162, 21, 54, 103, 67, 109),
]
RIGHT_EYE = [33, 7, 163, 144, 145, 153, 154, 155, 133, 173, 157, 158, 159, 160, 161, 246]
LEFT_EYE = [263, 249, 390, 373, 374, 380, 381, 382, 362, 398, 384, 385, 386, 387, 388, 466]
RIGHT_BROW = [70, 63, 105, 66, 107, 55, 65, 52, 53, 46]
LEFT_BROW = [300, 293, 334, 296, 336, 285, 295, 282, 283, 276]
BROWS = [*RIGHT_BROW, *LEFT_BROW]
LIPS = [61, 146, 91, 181, 84, 17, 314, 405, 321, 375, 291, 409, 270, 269, 267, 0, 37, 39, 40, 185]
NOSE = [168, 193, 122, 129, 64, 98, 2, 327, 294, 358, 351, 417]

FOREHEAD = 0.12  # of the face's height: the mesh ends below the hairline
RIM = 0.05  # of the face's height, added all around so that no edge of the face shows


@dataclass(frozen=True, eq=False)
class Region:
    """A mask and the place of its upper left corner in the photo."""

    mask: Mask
    left: int
    top: int

    @property
    def window(self) -> tuple[slice, slice]:
        """The rows and columns of the photo that the mask covers."""
        height, width = self.mask.shape
        return slice(self.top, self.top + height), slice(self.left, self.left + width)

    def full(self, size_wh: tuple[int, int]) -> Mask:
        """The mask for the whole photo."""
        mask = np.zeros((size_wh[1], size_wh[0]), np.uint8)
        mask[self.window] = self.mask
        return mask


def region(name: str, face: Face, image: Image) -> Region:
    """A region by name; those drawn from the mesh need `with_mesh` first, hair and person a look at the photo."""
    if name not in REGIONS:
        raise UsageError(f"no region {name!r}; there are {', '.join(REGIONS)}.")
    return REGIONS[name](face, image)


def box(face: Face, image: Image) -> Region:
    """The detector's rectangle, in whole pixels, clipped to the photo."""
    height, width = image.shape[:2]
    x0, y0 = np.clip(np.floor(face.box_xyxy[:2]), 0, [width, height]).astype(int)
    x1, y1 = np.clip(np.ceil(face.box_xyxy[2:]), 0, [width, height]).astype(int)
    return Region(np.full((max(0, y1 - y0), max(0, x1 - x0)), 255, np.uint8), int(x0), int(y0))


def eye_band(face: Face, image: Image) -> Region:
    """A bar over both eyes, turned with them: 2.2 eye distances long and 0.8 high."""
    right, left = face.points[:2]
    along = left - right
    across = np.array([-along[1], along[0]])
    # A turned head brings the eyes together in the picture; the bar must not shrink with them.
    length = max(float(np.hypot(*along)), 0.35 * face.size_wh[0])
    along, across = (v * (length / max(float(np.hypot(*v)), 1e-9)) for v in (along, across))
    middle = (right + left) / 2
    corners = [
        middle + sx * 1.1 * along + sy * 0.4 * across for sx, sy in ((-1, -1), (1, -1), (1, 1), (-1, 1))
    ]
    return polygon([np.array(corners)], image)


def face_shape(face: Face, image: Image) -> Region:
    """The whole face from hairline to chin: the mesh's outline widened, or an ellipse where there is no mesh."""
    outlines = [_ellipse(face)]
    if has_mesh(face):
        outlines.append(_widened_oval(face))
    return polygon(outlines, image)


def whole_face(face: Face, image: Image) -> Region:
    """The face from hairline to chin as the mesh outlines it, widened; less sure than `face_shape`, and closer."""
    return polygon([whole_outline(face)], image)


def _ellipse(face: Face) -> Floats:
    width, height = face.size_wh
    turn = np.radians(face.roll)
    if abs(np.sin(turn)) > abs(np.cos(turn)):  # it lies on its side, and so does its box
        width, height = height, width
    angle = np.linspace(0, 2 * np.pi, 48, endpoint=False)
    x, y = 0.56 * width * np.cos(angle), 0.58 * height * np.sin(angle)
    rotated = np.stack([x * np.cos(turn) - y * np.sin(turn), x * np.sin(turn) + y * np.cos(turn)], axis=1)
    return np.asarray(rotated + face.centre)


def _raised_oval(face: Face) -> Floats:
    """The mesh's outline, from the chin to the hairline."""
    assert face.mesh is not None
    outline = face.mesh[OVAL, :2]
    down = face.mesh[152, :2] - face.mesh[10, :2]
    upper = np.clip((outline.mean(axis=0) - outline) @ down / float(down @ down), 0, None)[:, None] * 2
    return np.asarray(outline - np.minimum(upper, 1) * FOREHEAD * down)  # upper is 1 at the top


def _widened_oval(face: Face) -> Floats:
    assert face.mesh is not None
    height = float(np.hypot(*(face.mesh[152, :2] - face.mesh[10, :2])))
    raised = _raised_oval(face)
    outward = raised - raised.mean(axis=0)
    return np.asarray(raised + outward / np.linalg.norm(outward, axis=1, keepdims=True) * RIM * height)


def whole_outline(face: Face) -> Floats:
    """What surely holds the whole face, as points: the mesh's outline widened, or an ellipse without a mesh."""
    return _widened_oval(face) if has_mesh(face) else _ellipse(face)


def face_outline(face: Face) -> Floats:
    """Where the face ends, as points: the mesh's outline, or an ellipse where there is no mesh."""
    return _raised_oval(face) if has_mesh(face) else _ellipse(face)


def has_mesh(face: Face) -> bool:
    """Whether the mesh is there and fits."""
    return face.mesh is not None and (face.presence or 0) >= SURE


def oval(face: Face, image: Image) -> Region:
    """The face as the mesh outlines it, from the middle of the forehead to the chin."""
    return polygon([_mesh(face)[OVAL]], image)


def eyes(face: Face, image: Image) -> Region:
    """Both eyes, with their lids."""
    return polygon([_mesh(face)[RIGHT_EYE], _mesh(face)[LEFT_EYE]], image, grow=0.02 * face.size_wh[0])


def brows(face: Face, image: Image) -> Region:
    """Both eyebrows."""
    return polygon([_mesh(face)[RIGHT_BROW], _mesh(face)[LEFT_BROW]], image, grow=0.02 * face.size_wh[0])


def nose(face: Face, image: Image) -> Region:
    """The nose from its root to the nostrils."""
    return polygon([_mesh(face)[NOSE]], image)


def mouth(face: Face, image: Image) -> Region:
    """The lips and what is between them."""
    return polygon([_mesh(face)[LIPS]], image)


def person(face: Face, image: Image) -> Region:
    """The person, within three face sizes around the face: softly masked by the segmenter."""
    from faceveil.models.segmenter import person_mask

    left, top, right, bottom = _neighbourhood(face, image)
    soft = person_mask(image[top:bottom, left:right])
    return Region(np.rint(soft * 255).astype(np.uint8), left, top)


def background(face: Face, image: Image) -> Region:
    """What is not the person, in the same neighbourhood."""
    who = person(face, image)
    return Region(255 - who.mask, who.left, who.top)


def hair(face: Face, image: Image) -> Region:
    """The person around the head that is neither face nor, by its colour, skin, and not below the chin."""
    who = person(face, image)
    mesh, window = _mesh(face), who.window
    inner = oval(face, image).full((image.shape[1], image.shape[0]))[window]
    skin = like_skin(image, face, window)
    rows, columns = np.mgrid[window]
    down = mesh[152] - mesh[10]
    depth = ((np.stack([columns, rows], axis=-1) - mesh[10]) @ down) / max(float(down @ down), 1e-9)
    keep = (inner == 0) & ~skin & (depth < 1.0) & (depth > -0.8)
    return Region(np.where(keep, who.mask, 0).astype(np.uint8), who.left, who.top)


def like_skin(image: Image, face: Face, window: tuple[slice, slice]) -> NDArray[np.bool_]:
    """Pixels whose colour is within three deviations of the colours around the nose and cheeks."""
    lab = cv2.cvtColor(np.ascontiguousarray(image[window]), cv2.COLOR_RGB2LAB).astype(np.float64)
    cheeks = polygon([_mesh(face)[[50, 101, 36, 205]], _mesh(face)[[280, 330, 266, 425]]], image)
    sample = cheeks.full((image.shape[1], image.shape[0]))[window] > 0
    if sample.sum() < 8:
        return np.zeros(lab.shape[:2], bool)
    colours = lab[sample]
    spread = np.cov(colours.T) + np.diag([120.0, 12.0, 12.0])  # light varies more over a face than hue
    off = lab - colours.mean(axis=0)
    return np.asarray(np.einsum("...i,ij,...j", off, np.linalg.inv(spread), off) < 9)


def _neighbourhood(face: Face, image: Image) -> tuple[int, int, int, int]:
    height, width = image.shape[:2]
    reach = 1.5 * max(face.size_wh)
    left, top = np.clip(np.floor(face.centre - reach), 0, [width - 1, height - 1]).astype(int)
    right, bottom = np.clip(np.ceil(face.centre + reach), [left + 1, top + 1], [width, height]).astype(int)
    return int(left), int(top), int(right), int(bottom)


def _mesh(face: Face) -> Floats:
    if face.mesh is None:
        raise ValueError("this region needs a face with its mesh; call with_mesh first")
    return face.mesh[:, :2]


def polygon(outlines: list[Floats], image: Image, grow: float = 0.0) -> Region:
    """The convex hulls of the outlines, filled, within the photo."""
    height, width = image.shape[:2]
    points = np.concatenate(outlines)
    left, top = np.clip(np.floor(points.min(axis=0) - grow - 1), 0, [width, height]).astype(int)
    right, bottom = np.clip(np.ceil(points.max(axis=0) + grow + 2), [left, top], [width, height]).astype(int)
    mask = np.zeros((int(bottom - top), int(right - left)), np.uint8)
    if mask.size == 0:
        return Region(mask, int(left), int(top))
    for outline in outlines:
        hull = cv2.convexHull(np.rint((outline - [left, top]) * 16).astype(np.int32))
        cv2.fillConvexPoly(mask, hull, 255, lineType=cv2.LINE_8, shift=4)
    if grow >= 0.5:
        size = 2 * round(grow) + 1
        mask = np.asarray(
            cv2.dilate(mask, cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (size, size))), np.uint8
        )
    return Region(mask, int(left), int(top))


REGIONS: dict[str, Callable[[Face, Image], Region]] = {
    "box": box,
    "eye-band": eye_band,
    "face-shape": face_shape,
    "whole-face": whole_face,
    "oval": oval,
    "eyes": eyes,
    "brows": brows,
    "nose": nose,
    "mouth": mouth,
    "hair": hair,
    "person": person,
    "background": background,
}
