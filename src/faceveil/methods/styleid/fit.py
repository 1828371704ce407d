"""Fit a generated face into its source's outline: the outline is the source's, eyes, nose and mouth are not.

The target is laid over the source by a similarity of the outlines alone, so that the proportions within the face,
and where in it eyes, nose and mouth lie, stay the target's. Only towards the rim does the warp bend to the source's
outline, so that ears and neck go on where they were. Lips are then brought to the source's opening, lids a little
towards it, the mouth's corners to its lift, which is expression, and irises to where the source looks.
"""

from functools import cache

import cv2
import numpy as np
from numpy.typing import NDArray

from faceveil.faces.align import similarity
from faceveil.faces.eyes import LEFT_CORNERS, RIGHT_CORNERS
from faceveil.faces.face import Floats, Image
from faceveil.faces.regions import LEFT_BROW, LEFT_EYE, LIPS, NOSE, OVAL, RIGHT_BROW, RIGHT_EYE, Mask
from faceveil.methods.styleid.control import control

FACE_OUTLINE = slice(468, 468 + len(OVAL))  # of a mesh with forehead
RAISED = 0.05  # of the face's height
WIDER = 1.13  # times: the mesh's own outline lies within the jaw
BEND = 0.45  # of the face's half width: how far inwards the outline's bend reaches
SMOOTHING = 1e-5  # of the warp, which need not meet every vertex
GRID = 40  # the warp is smooth, so it is solved on a coarse grid and enlarged
PROFILE, TURNED = 0.12, 0.28  # of the way from cheek to cheek, at which the nose lies
NOSE_TIP, CHEEKS = 1, (234, 454)  # vertices
MOST_LIPS = 0.075  # distances between the outer corners of the eyes, by which lips are moved
IRIS = 0.26  # of the eye's width: how far around an iris the picture moves with it
UPPER_INNER = [191, 80, 81, 82, 13, 312, 311, 310, 415]
LOWER_INNER = [95, 88, 178, 87, 14, 317, 402, 318, 324]
UPPER_LIP = [
    *UPPER_INNER,
    *(185, 40, 39, 37, 0, 267, 269, 270, 409, 42, 41, 38, 12, 268, 271, 272, 74, 73, 72, 11, 302, 303, 304),
]
LOWER_LIP = [
    *LOWER_INNER,
    *(
        146,
        91,
        181,
        84,
        17,
        314,
        405,
        321,
        375,
        96,
        89,
        179,
        86,
        15,
        316,
        403,
        319,
        325,
        90,
        180,
        85,
        16,
        315,
        404,
        320,
    ),
]
MOUTH_CORNERS = [61, 291]
MOUTH = sorted({*LIPS, *UPPER_LIP, *LOWER_LIP, 62, 76, 78, 292, 306, 308})
LIDS = (  # upper and lower lid of each eye, from corner to corner
    ([246, 161, 160, 159, 158, 157, 173], [7, 163, 144, 145, 153, 154, 155]),
    ([466, 388, 387, 386, 385, 384, 398], [249, 390, 373, 374, 380, 381, 382]),
)
# The vertices that hold the warp: outline, brows, eyes, nose and lips, and a few between them.
KNOTS = sorted(
    {
        *range(0, 468, 6), *range(468, 468 + len(OVAL)), *OVAL[::2], *RIGHT_BROW[::2], *LEFT_BROW[::2],
        *RIGHT_EYE, *LEFT_EYE, *NOSE, *LIPS, *UPPER_INNER, *LOWER_INNER,
    }
)  # fmt: skip


def with_forehead(mesh: Floats) -> Floats:
    """The mesh (468 × 2) and after it its outline, WIDER and raised over the forehead: the mesh ends too early."""
    outline, down = mesh[OVAL, :2], mesh[152, :2] - mesh[10, :2]
    centre = outline.mean(axis=0)
    upper = (centre - outline) @ down / max(float(down @ down), 1e-9)
    raised = outline - np.clip(2 * upper, 0, 1)[:, None] * RAISED * down
    return np.vstack([mesh[:, :2], centre + WIDER * (raised - centre)])


def within(mesh: Floats, side: int, scale: float = 1.0) -> Mask:
    """0 to 255, side × side: the inside of a face that is replaced, made larger or smaller; its mesh has a forehead.

    It is all that its vertices span, WIDER: in a profile nose and lips lie before the outline.
    """
    outline = mesh[FACE_OUTLINE]
    centre = outline.mean(axis=0)
    wider = centre + WIDER * (mesh[: FACE_OUTLINE.start] - centre)
    return spanned(centre + scale * (np.vstack([outline, wider]) - centre), side)


def spanned(points: Floats, side: int) -> Mask:
    """0 to 255, side × side: the convex hull of points."""
    corners = np.rint((cv2.convexHull(points.astype(np.float32)) - 0.5) * 16).astype(np.int32)
    mask = np.zeros((side, side), np.uint8)
    return np.asarray(cv2.fillPoly(mask, [corners], 255, lineType=cv2.LINE_AA, shift=4), np.uint8)


def fitted_mesh(target: Floats, source: Floats, opened: float = 0.0, parted: float = 0.0) -> Floats:
    """Where each of the target's vertices comes to lie over the source's mesh, both with foreheads.

    Lids are `opened` by so many eye widths: where the lids of a picture are, its mesh does not tell. Lips are
    `parted` by so many distances between the eyes' outer corners beside what the meshes say.
    """
    matrix = similarity(target[FACE_OUTLINE], source[FACE_OUTLINE])
    laid = target @ matrix[:, :2].T + matrix[:, 2]
    bend = min(_frontal(mesh) for mesh in (target, source))
    laid = laid + bend * _rim()[:, None] * (source - laid)
    return _opened(_with_lips_of(source, _with_corners_of(source, laid), parted), opened)


def _frontal(mesh: Floats) -> float:
    """1 of a face seen from the front, 0 of a profile, whose mesh has its outline behind nose and lips: to bend the
    picture to that would fold it."""
    right, left = mesh[list(CHEEKS)]
    across = left - right
    nose = float((mesh[NOSE_TIP] - right) @ across / max(float(across @ across), 1e-9))  # 0.5 in the middle
    return float(np.clip((min(nose, 1 - nose) - PROFILE) / (TURNED - PROFILE), 0, 1))


def irises(mesh: Floats, gaze: Floats) -> Floats:
    """2 × 2: where both irises lie in a mesh's picture for this gaze (in eye widths, see faces/eyes.py)."""
    places = []
    for corners in (RIGHT_CORNERS, LEFT_CORNERS):
        start, end = mesh[list(corners)]
        along = end - start
        places.append((start + end) / 2 + gaze[0] * along + gaze[1] * np.array([-along[1], along[0]]))
    return np.array(places)


def looking(crop: Image, mesh: Floats, own: Floats, wanted: Floats) -> Image:
    """The crop with both irises moved from one gaze to another; lids and all around them stay."""
    out = crop.copy()
    for start, end in zip(irises(mesh, own), irises(mesh, wanted), strict=True):
        width = float(np.hypot(*(mesh[LEFT_CORNERS[1]] - mesh[LEFT_CORNERS[0]])))
        left, top = np.maximum(np.floor(end - width), 0).astype(int)
        right, bottom = np.minimum(np.ceil(end + width), crop.shape[1::-1]).astype(int)
        if right - left < 2 or bottom - top < 2:
            continue
        y, x = np.mgrid[top:bottom, left:right].astype(np.float32)
        near = np.exp(-((x + 0.5 - end[0]) ** 2 + (y + 0.5 - end[1]) ** 2) / (2 * (IRIS * width) ** 2))
        x, y = (axis - near * (end - start)[i] for i, axis in enumerate((x, y)))
        moved = cv2.remap(crop, x.astype(np.float32), y.astype(np.float32), cv2.INTER_CUBIC)
        out[top:bottom, left:right] = moved
    return np.asarray(out, np.uint8)


def warp(crop: Image, mesh: Floats, onto: Floats) -> Image:
    """The crop with its mesh's vertices moved to `onto` by a thin-plate spline; sizes and channels stay."""
    side = crop.shape[0]
    frame = (
        np.array([[x, y] for x in (0.0, 0.5, 1.0) for y in (0.0, 0.5, 1.0) if (x, y) != (0.5, 0.5)]) * side
    )
    matrix = similarity(mesh, onto)
    there = frame @ matrix[:, :2].T + matrix[:, 2]
    knots, places = np.vstack([onto[KNOTS], there]) / side, np.vstack([mesh[KNOTS], frame]) / side
    coarse = side * _spline(knots, places).reshape(GRID, GRID, 2) - np.float32(0.5)
    x, y = cv2.split(cv2.resize(coarse, (side, side), interpolation=cv2.INTER_LINEAR))
    return np.asarray(cv2.remap(crop, x, y, cv2.INTER_CUBIC, borderMode=cv2.BORDER_REFLECT), np.uint8)


def _spline(knots: Floats, values: Floats) -> NDArray[np.float32]:
    """The thin-plate spline that takes knots nearly to values (both N × 2), on a grid over the unit square.

    Not scipy's: importing that alone takes most of a second.
    """
    count = len(knots)
    system = np.zeros((count + 3, count + 3))
    system[:count, :count] = _plate(knots, knots) + SMOOTHING * np.eye(count)
    system[:count, count:] = np.column_stack([np.ones(count), knots])
    system[count:, :count] = system[:count, count:].T
    solved = np.linalg.solve(system, np.vstack([values, np.zeros((3, 2))])).T.astype(np.float32, order="C")
    ticks = ((np.arange(GRID) + 0.5) / GRID).astype(np.float32)
    grid = np.stack(np.meshgrid(ticks, ticks), axis=-1).reshape(-1, 2)
    parts = np.hstack([_plate(grid, knots.astype(np.float32)), np.ones_like(grid[:, :1]), grid])
    return np.asarray(np.einsum("gk,dk->gd", parts, solved), np.float32)


def _plate(points: NDArray[np.floating], knots: NDArray[np.floating]) -> NDArray[np.floating]:
    """r² log r of every distance from points to knots."""
    x, y = (points[:, None, axis] - knots[None, :, axis] for axis in (0, 1))
    squared = x * x + y * y
    return np.asarray(0.5 * squared * np.log(np.maximum(squared, np.float32(1e-30))), points.dtype)


def _with_corners_of(source: Floats, laid: Floats) -> Floats:
    """The mouth bent until its corners are lifted as the source's: a smile is there, and little of who smiles."""
    out = laid.copy()
    down = _down(laid)
    corners = laid[MOUTH_CORNERS]
    along = corners[1] - corners[0]
    place = 2 * (laid[MOUTH] - corners.mean(axis=0)) @ along / max(float(along @ along), 1e-9)  # −1 to 1
    more = _lift(source, down) - _lift(laid, down)
    out[MOUTH] -= more * np.minimum(place**2, 1.2)[:, None] * down
    return out


def _lift(mesh: Floats, down: Floats) -> float:
    """How far the corners of the mouth lie above its middle."""
    return float((mesh[[13, 14]].mean(axis=0) - mesh[MOUTH_CORNERS].mean(axis=0)) @ down)


def _down(mesh: Floats) -> Floats:
    """From forehead to chin, a unit long."""
    down = mesh[152] - mesh[10]
    return np.asarray(down / max(float(np.hypot(*down)), 1e-9))


def _with_lips_of(source: Floats, laid: Floats, parted: float) -> Floats:
    """Lips as far apart as the source's, or nearly: teeth that lips are drawn over look like none."""
    out = laid.copy()
    down = _down(laid)
    apart = float(np.hypot(*(laid[LEFT_CORNERS[1]] - laid[RIGHT_CORNERS[0]])))
    gap = _gap(source, UPPER_INNER, LOWER_INNER, down) - _gap(laid, UPPER_INNER, LOWER_INNER, down)
    gap = float(np.clip(gap + parted * apart, -MOST_LIPS * apart, MOST_LIPS * apart))
    out[UPPER_LIP] -= 0.3 * gap * down
    out[LOWER_LIP] += 0.7 * gap * down  # the jaw moves, the upper lip hardly
    return out


def _opened(laid: Floats, by: float) -> Floats:
    """The lids moved apart by so many eye widths."""
    out = laid.copy()
    for (upper, lower), (start, end) in zip(LIDS, laid[[RIGHT_CORNERS, LEFT_CORNERS]], strict=True):
        along = end - start
        down = by * np.array([-along[1], along[0]])
        out[upper] -= 0.7 * down
        out[lower] += 0.3 * down
    return out


def _gap(mesh: Floats, upper: list[int], lower: list[int], down: Floats) -> float:
    return float(((mesh[lower] - mesh[upper]) @ down).mean())


@cache
def _rim() -> NDArray[np.float64]:
    """For each vertex how much of the outline's bend it follows: 1 on the outline, 0 from BEND inwards."""
    mesh = with_forehead(control().mesh)
    outline = mesh[FACE_OUTLINE]
    half = np.ptp(outline[:, 0]) / 2
    distance = np.linalg.norm(mesh[:, None] - outline[None], axis=2).min(axis=1) / (BEND * half)
    left = np.clip(1 - distance, 0, 1)
    weight = left * left * (3 - 2 * left)
    weight[LIPS] = 0
    weight[OVAL] = np.maximum(weight[OVAL], 0.5)
    return np.asarray(weight)
