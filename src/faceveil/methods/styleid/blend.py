"""What is replaced and how it meets the rest: the whole face and the hair around it, in the source's colours.

The rim of a face (jaw, temples, hairline) tells a recogniser as much as its middle, so the mask ends beyond it: the
new face brings the hair next to it along, but not what is behind it.
"""

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from faceveil.faces.face import Floats, Image
from faceveil.faces.regions import Mask
from faceveil.methods.styleid.fit import FACE_OUTLINE
from faceveil.methods.styleid.light import WORK, skin_likeness

# How far beyond the outline the new face reaches, in half widths of the face: around the hair and under the jaw.
HAIR_REACH, JAW_REACH = 0.60, 0.14
CHEEK, JAW = 0.55, 0.85  # of the way from forehead to chin: where the one goes over into the other
SCALES = (1.5, 3.0, 6.0, 12.0)  # px of WORK over which the rim's colours are carried on
FADE = 0.10  # of the crop's side: how far inwards the seam's colours reach
MOST_SHIFT = np.array([25.0, 12.0, 12.0], np.float32)  # by which hair is recoloured, in Lab
LEAST_HAIR = 0.004  # of the crop: less does not tell its colour
Weights = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Pictured:
    """A face in its crop."""

    crop: Image
    mesh: Floats  # with forehead
    person: Weights  # how surely each pixel shows a person


def head_mask(mesh: Floats, person: Weights) -> Mask:
    """0 to 255 over the source's crop: the face, and around it what of the new picture is person, fading out.

    `mesh` is the source's, with forehead; `person` tells how surely the new picture shows a person.
    """
    side = person.shape[0]
    outline = mesh[FACE_OUTLINE]
    face = np.zeros((side, side), np.uint8)
    cv2.fillPoly(face, [np.rint((outline - 0.5) * 16).astype(np.int32)], 255, lineType=cv2.LINE_AA, shift=4)
    half = np.linalg.norm(outline[9] - outline[27]) / 2  # the cheeks
    outside = (face < 128).astype(np.uint8)
    beyond = np.asarray(cv2.distanceTransform(outside, cv2.DIST_L2, 5), np.float32) / max(float(half), 1.0)
    lower = _ramp((_depth(mesh, side) - CHEEK) / (JAW - CHEEK))
    window = _ramp(1.0 - beyond / (HAIR_REACH + lower * (JAW_REACH - HAIR_REACH)))
    around = np.rint(255 * window * person).astype(np.uint8)
    return np.asarray(np.maximum(face, around), np.uint8)


def with_hair_of(source: Pictured, new: Pictured) -> Image:
    """The new picture with the hair around its face in the colour of the source's."""
    labs, hairs = zip(*((_lab(one.crop), _hair(one)) for one in (source, new)), strict=True)
    if min(hair.sum() for hair in hairs) < LEAST_HAIR * hairs[0].size:
        return new.crop
    wanted, had = (
        np.einsum("ij,ijk->k", hair, lab) / hair.sum() for lab, hair in zip(labs, hairs, strict=True)
    )
    shift = np.clip(wanted - had, -MOST_SHIFT, MOST_SHIFT).astype(np.float32)
    soft = cv2.GaussianBlur(hairs[1], (0, 0), max(0.8, 0.01 * new.crop.shape[0]))
    lab = labs[1] + soft[..., None] * shift
    lab[..., 0] = np.clip(lab[..., 0], 0, 100)
    rgb = np.clip(cv2.cvtColor(lab, cv2.COLOR_LAB2RGB), 0, 1)
    return np.asarray(np.rint(rgb * 255), np.uint8)


def seamless(crop: Image, source: Image, mesh: Floats, mask: Mask) -> Image:
    """The crop with the source's colours along the mask's rim, fading inwards.

    Only where the rim shows skin: hair and background must not bleed into the face.
    """
    side = crop.shape[0]
    solid = cv2.resize(mask, (WORK, WORK), interpolation=cv2.INTER_AREA)
    inside = cv2.distanceTransform((solid > 127).astype(np.uint8), cv2.DIST_L2, 5)
    small = [_shrunk(one) for one in (source, crop)]
    there = mesh * (WORK / side)
    rim = (inside > 0) & (inside < 3.5)
    weight = np.where(rim, skin_likeness(small[0], there) * skin_likeness(small[1], there), 0)
    gap = small[0].astype(np.float32) - small[1]
    field = _carried_on(gap, weight.astype(np.float32)) * np.exp(-inside / (FADE * WORK))[..., None]
    field = cv2.resize(field.astype(np.float32), (side, side), interpolation=cv2.INTER_CUBIC)
    return np.asarray(np.rint(np.clip(crop + field, 0, 255)), np.uint8)


def _shrunk(image: Image) -> Image:
    return np.asarray(cv2.resize(image, (WORK, WORK), interpolation=cv2.INTER_AREA), np.uint8)


def _carried_on(values: Weights, weight: Weights) -> Weights:
    """Values known where there is weight, carried on to everywhere: near ones first, far ones where none is near."""
    found = np.zeros_like(values)
    unsure = np.ones_like(weight)
    for sigma in SCALES:
        near = cv2.GaussianBlur(weight, (0, 0), sigma)
        mean = cv2.GaussianBlur(values * weight[..., None], (0, 0), sigma) / (near[..., None] + 1e-4)
        trust = unsure * np.clip(near / 0.05, 0, 1)
        found += mean * trust[..., None]
        unsure -= trust
    return found


def _hair(one: Pictured) -> Weights:
    """What of a person lies around the upper face and has not the colour of skin."""
    side = one.crop.shape[0]
    inner = np.zeros((side, side), np.uint8)
    outline = one.mesh[FACE_OUTLINE]
    centre = outline.mean(axis=0)
    cv2.fillPoly(inner, [np.rint(centre + 0.97 * (outline - centre)).astype(np.int32)], 1)
    upper = 1 - _ramp((_depth(one.mesh, side) - 0.45) / 0.2)
    return np.asarray((1 - skin_likeness(one.crop, one.mesh)) * one.person * upper * (inner == 0), np.float32)


def _lab(crop: Image) -> Weights:
    return np.asarray(cv2.cvtColor(crop.astype(np.float32) / 255, cv2.COLOR_RGB2LAB), np.float32)


def _depth(mesh: Floats, side: int) -> Weights:
    """For each pixel how far down the face it lies: 0 at the mesh's top, 1 at the chin."""
    down = mesh[152] - mesh[10]
    rows, columns = np.mgrid[:side, :side].astype(np.float32) + 0.5
    along = (columns - mesh[10, 0]) * down[0] + (rows - mesh[10, 1]) * down[1]
    return np.asarray(along / max(float(down @ down), 1e-6), np.float32)


def _ramp(value: NDArray[np.floating]) -> Weights:
    """0 below 0, 1 above 1, smooth between."""
    part = np.clip(value, 0, 1)
    return np.asarray(part * part * (3 - 2 * part), np.float32)
