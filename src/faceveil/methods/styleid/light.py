"""Light and skin of the source for the target: the slow part of colour is the source's, the detail the target's."""

import cv2
import numpy as np
from numpy.typing import NDArray

from faceveil.faces.face import Floats, Image
from faceveil.faces.regions import LEFT_BROW, LEFT_EYE, LIPS, OVAL, RIGHT_BROW, RIGHT_EYE

WORK = 64  # px: slow colour needs no more
REACH = 0.07  # of the crop's side: what varies slower than this is light
CHEEKS = ([50, 101, 36, 205], [280, 330, 266, 425])
LEAST_SPREAD = np.array([80.0, 10.0, 12.0])  # of skin's colours in Lab
Weights = NDArray[np.float32]


def relit(target: Image, target_mesh: Floats, source: Image, source_mesh: Floats) -> Image:
    """The target's crop under the source's light; both meshes are in crop pixels (468 × 2)."""
    side = target.shape[0]
    fields = []
    for crop, mesh in ((source, source_mesh), (target, target_mesh)):
        lab = np.asarray(cv2.resize(_lab(crop), (WORK, WORK), interpolation=cv2.INTER_AREA), np.float32)
        fields.append(_slow(lab, _skin_weight(lab, mesh * (WORK / side))))
    gain = np.clip((fields[0][..., 0] + 8) / (fields[1][..., 0] + 8), 0.3, 2.5)
    tint = fields[0][..., 1:] - fields[1][..., 1:]
    whole = cv2.resize(np.dstack([gain, tint]), (side, side), interpolation=cv2.INTER_CUBIC)
    lab = _lab(target)
    lab[..., 0] = np.clip((lab[..., 0] + 8) * whole[..., 0] - 8, 0, 100)
    lab[..., 1:] += whole[..., 1:]
    rgb = cv2.cvtColor(lab, cv2.COLOR_LAB2RGB)
    return np.rint(np.clip(rgb, 0, 1) * 255).astype(np.uint8)


def skin_likeness(crop: Image, mesh: Floats) -> Weights:
    """1 where a pixel has the colour of the cheeks, 0 where it has not, smooth between."""
    return _likeness(_lab(crop), mesh)


def _slow(lab: Weights, weight: Weights) -> Weights:
    """The slow part of colour, from pixels of skin alone; where there is none it is their mean."""
    total = max(float(weight.sum()), 1e-6)
    mean = (lab * weight[..., None]).sum(axis=(0, 1)) / total
    sigma = REACH * WORK
    near = cv2.GaussianBlur(weight, (0, 0), sigma)
    sums = cv2.GaussianBlur((lab - mean) * weight[..., None], (0, 0), sigma)
    return np.asarray(mean + sums / (near[..., None] + 0.05), np.float32)


def _skin_weight(lab: Weights, mesh: Floats) -> Weights:
    """The face without eyes, brows and lips, and without what has not the colour of skin."""
    weight = np.zeros((WORK, WORK), np.float32)
    cv2.fillPoly(weight, [_pixels(mesh[OVAL])], 1.0)
    for part in (RIGHT_EYE, LEFT_EYE, RIGHT_BROW, LEFT_BROW, LIPS):
        cv2.fillPoly(weight, [_pixels(mesh[part])], 0.0)
        cv2.polylines(weight, [_pixels(mesh[part])], True, 0.0, 2)
    colours = lab[weight > 0]
    if len(colours) < 4:
        return weight
    middle = np.median(colours, axis=0)
    deviation = 1.48 * np.median(np.abs(colours - middle), axis=0)
    spread = np.diag(deviation**2 + LEAST_SPREAD)  # light may vary much over a face, a fringe lies outside it
    return weight * (0.02 + _alike(lab, middle, spread))


def _likeness(lab: Weights, mesh: Floats) -> Weights:
    sample = np.zeros(lab.shape[:2], np.uint8)
    for cheek in CHEEKS:
        cv2.fillConvexPoly(sample, cv2.convexHull(_pixels(mesh[cheek])), 1)
    colours = lab[sample > 0]
    if len(colours) < 4:
        return np.ones(lab.shape[:2], np.float32)
    spread = np.cov(colours.T) + np.diag([150.0, 10.0, 12.0])  # light varies more over a face than hue
    return _alike(lab, np.median(colours, axis=0), spread)


def _alike(lab: Weights, colour: Weights, spread: NDArray[np.floating]) -> Weights:
    """1 near a colour, 0 far from it, measured by a covariance."""
    off = lab - colour
    squared = np.einsum("...i,ij,...j", off, np.linalg.inv(spread), off)
    return np.asarray(1 / (1 + np.exp(np.clip(1.5 * (squared - 6), -30, 30))), np.float32)


def _lab(crop: Image) -> Weights:
    return np.asarray(cv2.cvtColor(crop.astype(np.float32) / 255, cv2.COLOR_RGB2LAB), np.float32)


def _pixels(points: Floats) -> NDArray[np.int32]:
    return np.rint(points - 0.5).astype(np.int32)
