"""What is replaced and how it meets the rest: the whole face and the hair around it, in the source's colours.

The rim of a face (jaw, temples, hairline) tells a recogniser as much as its middle, so the mask ends beyond it: the
new face brings the hair next to it along, but not what is behind it.
"""

from dataclasses import dataclass
from functools import cached_property

import cv2
import numpy as np
from numpy.typing import NDArray

from faceveil.faces.face import Floats, Image
from faceveil.faces.regions import Mask
from faceveil.methods.styleid.fit import FACE_OUTLINE, spanned, within
from faceveil.methods.styleid.light import Weights, as_lab, as_rgb, likeness, skin_colour, squared_distance

# How far beyond the outline the new face reaches, in half widths of the face: around the hair and under the jaw.
HAIR_REACH, JAW_REACH = 0.60, 0.14
CHEEK, JAW = 0.55, 0.85  # of the way from forehead to chin: where the one goes over into the other
SPILL = 4  # px by which the mask is wider than the new head
LEAST_GAIN, MOST_GAIN = 0.25, 1.3  # by which hair is made darker or lighter
MOST_SHIFT = np.array([25.0, 20.0, 20.0], np.float32)  # by which it is recoloured besides, in Lab
HAIR_FROM, HAIR_SURE = 0.35, 0.65  # of the way from the colour of skin to that of hair
INNER = 0.97  # of the outline's size, within which it is face
MEET = 16  # part of the side over which colours meet
MIDDLE = 0.85  # of a new face's size, within which it has no holes
NOBODY = 0.25  # of how surely a pixel shows a person, up to which it may show what is behind
FILL_LEVELS = 6  # of the one that fills
UNLIKE_SKIN = 0.2  # from which a pixel may be hair
FRINGE = 0.09  # of the way from forehead to chin, down to which hair may hang over the face
FRINGE_DARKER = 10.0  # of lightness, than the cheeks: light hair cannot be told from a forehead in the light
LEAST_HAIR = 0.004  # of the crop: less does not tell its colour


@dataclass(frozen=True, eq=False)
class Pictured:
    """A face in its crop."""

    crop: Image
    mesh: Floats  # with forehead
    person: Weights  # how surely each pixel shows a person

    @cached_property
    def lab(self) -> Weights:
        """The crop in Lab."""
        return as_lab(self.crop)

    @cached_property
    def hair(self) -> Weights:
        """What of the person lies around the upper face and has not the colour of skin."""
        side = self.crop.shape[0]
        inner = within(self.mesh, side, INNER) > 127
        depth = _depth(self.mesh, side)
        upper = 1 - _ramp((depth - 0.45) / 0.2)
        darker = _ramp((skin_colour(self.lab, self.mesh)[0] - self.lab[..., 0]) / FRINGE_DARKER - 1)
        around = np.maximum(~inner, darker * (1 - _ramp((depth - FRINGE) / FRINGE)))
        other = (1 - likeness(self.lab, self.mesh)) * self.person
        return np.asarray(other * _rooted(other, self.person) * upper * around, np.float32)


def hair_colour(pictured: Pictured) -> NDArray[np.float64]:
    """The mean of the hair's colours, in Lab; not a number where there is too little to tell."""
    return _mean_colour(pictured.lab, pictured.hair).astype(np.float64)


def _mean_colour(lab: Weights, share: Weights) -> Weights:
    if share.sum() < LEAST_HAIR * share.size:
        return np.full(3, np.nan, np.float32)
    return np.asarray(np.einsum("ij,ijk->k", share, lab) / share.sum(), np.float32)


def head_window(mesh: Floats, side: int, covered: bool = False) -> Weights:
    """1 over the source's face, falling to 0 where the new head may no longer reach: short before a hat or scarf.

    `mesh` is the source's, with forehead.
    """
    outline = mesh[FACE_OUTLINE]
    half = np.linalg.norm(outline[9] - outline[27]) / 2  # the cheeks
    outside = (within(mesh, side) < 128).astype(np.uint8)
    beyond = np.asarray(cv2.distanceTransform(outside, cv2.DIST_L2, 5), np.float32) / max(float(half), 1.0)
    lower = 1.0 if covered else _ramp((_depth(mesh, side) - CHEEK) / (JAW - CHEEK))
    return _ramp(1.0 - beyond / (HAIR_REACH + lower * (JAW_REACH - HAIR_REACH)))


def head_mask(window: Weights, person: Weights) -> Mask:
    """0 to 255: the face, and around it what is person, with a few pixels to spare."""
    share = np.maximum(np.clip(4 * window, 0, 1) * _grown(person), window >= 1)
    return np.asarray(np.rint(255 * share), np.uint8)


def put_in(new: Pictured, source: Pictured, covered: bool = False, bald: bool = False) -> tuple[Image, Mask]:
    """The source's crop with the new head in it, and the mask of what changed.

    Only what is person in the new picture comes along, and around the face no more of it than the old head leaves
    room for. Where the old face was and the new one is not, one sees what was behind it. Of a bald head above the
    face only the slow colours change, until they meet the new forehead's.
    """
    side = source.crop.shape[0]
    window = head_window(source.mesh, side, covered or bald)
    inside = window >= 1
    head = np.maximum(new.person, _own_face(new.mesh, side, MIDDLE))
    head = np.where(inside, head, np.minimum(head, _grown(source.person)))
    ground = np.where(inside[..., None], without_face(source, inside), source.crop).astype(np.float32)
    ahead = np.rint(ground + head[..., None] * (new.crop - ground)).astype(np.uint8)
    met = multiband(ahead, source.crop, np.rint(255 * window).astype(np.uint8))
    return met, head_mask(head_window(source.mesh, side) if bald else window, head)


def without_face(source: Pictured, inside: NDArray[np.bool_]) -> Weights:
    """The crop as if nobody's face were `inside`: what stays around it, and hair and background within, go on over
    the skin."""
    seen = np.maximum(_ramp(1 - source.person / NOBODY), _ramp(source.hair))
    seen = np.maximum(seen * (1 - _own_face(source.mesh, source.crop.shape[0])), ~inside)
    return filled(source.crop, seen)


def filled(image: Image, weight: Weights) -> Weights:
    """The image where it has weight, and elsewhere what lies around, from ever further away."""
    known = _halved(np.dstack([image * weight[..., None], weight]).astype(np.float32), FILL_LEVELS)
    mean = known[-1].reshape(-1, 4).sum(axis=0)
    out = np.broadcast_to(mean[:3] / max(float(mean[3]), 1e-6), (*known[-1].shape[:2], 3))
    for one in reversed(known):
        share = one[..., 3:]
        coarse = cv2.resize(out, one.shape[1::-1], interpolation=cv2.INTER_LINEAR)
        out = one[..., :3] + (1 - share) * coarse
    return np.asarray(out, np.float32)


def _own_face(mesh: Floats, side: int, scale: float = 1.0) -> Weights:
    """1 within the mesh itself: what is there is face, whatever a segmenter sees."""
    own = mesh[: FACE_OUTLINE.start]
    centre = own.mean(axis=0)
    return np.asarray(spanned(centre + scale * (own - centre), side) / 255, np.float32)


def _grown(person: Weights) -> Weights:
    size = 2 * SPILL + 1
    wider = cv2.dilate(person, np.ones((size, size), np.uint8))
    return np.asarray(cv2.GaussianBlur(wider, (0, 0), SPILL / 2), np.float32)


def with_hair_of(source: Pictured, new: Pictured) -> Image:
    """The new picture with the hair around its face in the colour of the source's."""
    own = new.hair * _nearer_to_hair(new.lab, new.hair, new.mesh)
    wanted, had = _mean_colour(source.lab, source.hair), _mean_colour(new.lab, own)
    if np.isnan([*wanted, *had]).any():
        return new.crop
    gain = np.clip(wanted[0] / max(had[0], 1.0), LEAST_GAIN, [MOST_GAIN, 1, 1]).astype(
        np.float32
    )  # or grey turns red
    shift = np.clip(wanted - gain * had, -MOST_SHIFT, MOST_SHIFT).astype(np.float32)
    soft = cv2.GaussianBlur(own, (0, 0), max(0.8, 0.01 * new.crop.shape[0]))[..., None]
    lab = new.lab + soft * ((gain - 1) * new.lab + shift)
    lab[..., 0] = np.clip(lab[..., 0], 0, 100)
    return as_rgb(lab)


def multiband(new: Image, old: Image, mask: Mask) -> Image:
    """`new` where the mask is set, else `old`: slow colours meet gradually, detail sharply (Burt, Adelson 1983)."""
    levels = max(1, round(np.log2(len(mask) / MEET)))
    weight = np.asarray(cv2.GaussianBlur((mask > 127).astype(np.float32), (0, 0), 1.0), np.float32)
    gaps = _halved(np.asarray(new.astype(np.float32) - old, np.float32), levels)
    shares = [one[..., None] for one in _halved(weight, levels)]
    change: Weights = shares[-1] * gaps[-1]
    for gap, coarse, share in reversed(list(zip(gaps[:-1], gaps[1:], shares[:-1], strict=True))):
        size = gap.shape[1::-1]
        detail = gap - cv2.pyrUp(coarse, dstsize=size)
        change = np.asarray(cv2.pyrUp(change, dstsize=size) + share * detail, np.float32)
    return np.asarray(np.rint(np.clip(old + change, 0, 255)), np.uint8)


def _halved(image: Weights, levels: int) -> list[Weights]:
    """The image, and each time at half the size."""
    found = [image]
    for _ in range(levels):
        found.append(np.asarray(cv2.pyrDown(found[-1]), np.float32))
    return found


def _nearer_to_hair(lab: Weights, found: Weights, mesh: Floats) -> Weights:
    """1 where a colour is rather that of most of what was found than that of the cheeks: a forehead in the light is
    neither like cheeks nor hair."""
    if not (found > 0.5).any():
        return np.ones(lab.shape[:2], np.float32)
    to_hair, to_skin = (
        squared_distance(lab, colour)
        for colour in (np.median(lab[found > 0.5], axis=0), skin_colour(lab, mesh))
    )
    return _ramp((to_skin / np.maximum(to_skin + to_hair, 1e-6) - HAIR_FROM) / (HAIR_SURE - HAIR_FROM))


def _rooted(other: Weights, person: Weights) -> NDArray[np.bool_]:
    """What is joined to the head's rim. A bald head's shine has not the colour of skin either, but lies amid it."""
    _, labels = cv2.connectedComponents((other > UNLIKE_SKIN).astype(np.uint8))
    rim = cv2.dilate((person < 0.5).astype(np.uint8), np.ones((2 * SPILL + 1, 2 * SPILL + 1), np.uint8)) > 0
    rim[[0, -1]] = rim[:, [0, -1]] = True
    return np.asarray(np.isin(labels, np.unique(labels[rim & (labels > 0)])))


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
