"""Light and skin of the source for the target: the slow part of colour is the source's, the detail the target's.

Light on a face is told well by few numbers: over a convex body of one colour it is a polynomial of low order in the
surface's direction (Basri and Jacobs 2003), so here it is one in the place on the face. What a fringe, a hat or
glasses throw on the source's face does not fit it and is left out. A target in hard light is softened until its face
is no patchier than the source's, or than one in soft light.
"""

from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from faceveil.faces.face import Floats, Image
from faceveil.faces.regions import LEFT_BROW, LEFT_EYE, LIPS, OVAL, RIGHT_BROW, RIGHT_EYE

WORK = 64  # px: slow colour needs no more
REACH = 0.03  # of the crop's side: what varies faster is detail
DARK, GREY = 8.0, 4.0  # added to lightness and to colours in Lab before they are multiplied
MISFIT = (0.12, 4.0, 4.0)  # of log lightness and of colours, from which a pixel counts less for the light
STIFF = 0.02  # how much a polynomial is held back
MOST_GAIN = 0.8  # of log lightness
LEAST_TINT, MOST_TINT = 0.4, 1.0  # factors of colour; what is missing is added
STAIN, HELD_BACK = (
    10.0,
    0.75,
)  # redder or yellower than the skin by more, in Lab, and the share of it that goes
PATCHY = 0.06  # of log lightness: about what faces in soft light have
SOFTEST = 0.8  # share of a target's patches that is taken away at most
BARE_LIPS = 8.0  # by which lips without make-up are redder than cheeks, in Lab
LIPS_EDGE = 0.006  # of the crop's side, over which lips end
LIP_RIMS = ([0, 37, 267, 17, 84, 314], [13, 82, 312, 14, 87, 317])  # vertices outside and inside of both lips
MOST_DEPTH = 1.8  # factor by which dark is made darker at most
SHALLOW = 0.1  # of log lightness, up to which what is darker than skin is skin
DEEPEST = 0.8  # quantile
DEPTH_EDGE, LIDS_WIDTH, EYES_RIM = 0.012, 0.012, 0.03  # of the crop's side
CHIN, BETWEEN_EYES = 152, 168  # vertices
CHEEKS = ([50, 101, 36, 205], [280, 330, 266, 425])
LEAST_SPREAD = np.array([80.0, 10.0, 12.0])  # of skin's colours in Lab
EYES, BROWS = (RIGHT_EYE, LEFT_EYE), (RIGHT_BROW, LEFT_BROW)
Weights = NDArray[np.float32]
Parts = tuple[list[int], ...]


class Light(NamedTuple):
    """How a face is lit, in WORK × WORK pixels."""

    slow: NDArray[np.float64]  # log lightness, a and b as polynomials of the place
    patches: Weights  # what log lightness has besides
    patchiness: float  # how large patches are on the skin


class Depth(NamedTuple):
    """How much darker than the skin something is, in log lightness."""

    eyes: float
    brows: float


def relit(target: Image, mesh: Floats, wanted: Light) -> Image:
    """The target's crop under another light; its mesh is in crop pixels (468 × 2)."""
    had = light_on(target, mesh)
    allowed = min(wanted.patchiness, PATCHY)  # a fringe may pass for patches
    softer = np.clip(1 - allowed / max(had.patchiness, 1e-6), 0, SOFTEST)
    brighter = np.clip(wanted.slow[..., 0] - had.slow[..., 0], -MOST_GAIN, MOST_GAIN)
    gain = np.exp(brighter - softer * had.patches)
    colours, own = wanted.slow[..., 1:], had.slow[..., 1:]
    tint = np.clip((colours + GREY) / np.maximum(own + GREY, 1), LEAST_TINT, MOST_TINT)
    rest = colours + GREY - (own + GREY) * tint
    fields = np.dstack([gain, tint, rest, colours + STAIN]).astype(np.float32)
    return _under(fields, target)


def _under(fields: Weights, crop: Image) -> Image:
    """The crop with lightness and colours multiplied, colours added, and what is beyond the last ones held back: a
    shadow that is made lighter would be a red or yellow stain."""
    whole = cv2.split(cv2.resize(fields, crop.shape[1::-1], interpolation=cv2.INTER_LINEAR))
    gain, tints, rests, most = whole[0], whole[1:3], whole[3:5], whole[5:7]
    light, *colours = cv2.split(as_lab(crop))
    light = np.clip((light + DARK) * gain - DARK, 0, 100)
    tinted = [
        (colour + GREY) * tint - GREY + rest for colour, tint, rest in zip(colours, tints, rests, strict=True)
    ]
    held = [
        colour - HELD_BACK * np.maximum(colour - limit, 0) for colour, limit in zip(tinted, most, strict=True)
    ]
    return as_rgb(np.asarray(cv2.merge([light, *held]), np.float32))


def with_lips_of(target: Image, target_mesh: Floats, source: Image, source_mesh: Floats) -> Image:
    """The target's crop with lips that are redder than its skin by no more than the source's, or than bare ones."""
    allowed = max(_redness(source, source_mesh), BARE_LIPS)
    own = _redness(target, target_mesh)
    if own <= allowed:
        return target
    lab = as_lab(target)
    skin = skin_colour(lab, target_mesh)
    share = np.zeros(target.shape[:2], np.float32)
    cv2.fillPoly(share, [_pixels(target_mesh[LIPS])], 1.0)
    share = np.asarray(cv2.GaussianBlur(share, (0, 0), LIPS_EDGE * target.shape[0]), np.float32)
    excess = np.maximum(lab[..., 1] - skin[1], 0)
    lab[..., 1] -= share * (1 - allowed / own) * excess
    return as_rgb(lab)


def as_deep_as(target: Image, mesh: Floats, wanted: Depth) -> Image:
    """The target's crop with what is dark in it darker, until its eyes are as deep as is wanted, and all else by as
    much as its brows need: photos in hard light or of strong contrast have deeper pupils and lines than renders,
    which look pale in them."""
    lab = as_lab(target)
    below = _below_skin(lab, light_on(target, mesh))
    had = _depth(below, mesh)
    eyes, rest = (
        float(np.clip(want / max(own, 1e-6), 1, MOST_DEPTH)) - 1
        for want, own in zip(wanted, had, strict=True)
    )
    if max(eyes, rest) == 0:
        return target
    share = np.zeros(target.shape[:2], np.float32)
    cv2.fillPoly(share, [_pixels(mesh[OVAL])], rest)
    _fill(share, EYES, mesh, eyes, EYES_RIM)
    share = np.asarray(cv2.GaussianBlur(share, (0, 0), DEPTH_EDGE * target.shape[0]), np.float32)
    darker = (lab[..., 0] + DARK) * np.exp(-share * np.maximum(below - SHALLOW, 0)) - DARK
    lab[..., 0] = np.maximum(darker, 0)
    return as_rgb(lab)


def depth_of(crop: Image, mesh: Floats, light: Light) -> Depth:
    """How much darker than the skin eyes and brows are."""
    return _depth(_below_skin(as_lab(crop), light), mesh)


def _depth(below: Weights, mesh: Floats) -> Depth:
    """What four fifths of the pixels of each do not reach."""
    return Depth(*(_deepest(below, parts, mesh) for parts in (EYES, BROWS)))


def _deepest(below: Weights, parts: Parts, mesh: Floats) -> float:
    plane = np.zeros(below.shape, np.float32)
    _fill(plane, parts, mesh, 1.0, LIDS_WIDTH)
    there = below[plane > 0]
    return float(np.quantile(there, DEEPEST)) if there.size else 0.0


def _fill(plane: Weights, parts: Parts, mesh: Floats, value: float, rim: float) -> None:
    """Parts of a face in a plane of the crop's size, with a line around them, of so much of its side."""
    for part in parts:
        cv2.fillPoly(plane, [_pixels(mesh[part])], value)
        cv2.polylines(plane, [_pixels(mesh[part])], True, value, max(1, round(rim * plane.shape[0])))


def _below_skin(lab: Weights, light: Light) -> Weights:
    """By how much each pixel is darker than skin would be there, in log lightness."""
    skin = cv2.resize(light.slow[..., 0].astype(np.float32), lab.shape[1::-1])
    return np.asarray(skin - np.log(lab[..., 0] + DARK), np.float32)


def _redness(crop: Image, mesh: Floats) -> float:
    """By how much the lips are redder than the cheeks, in Lab."""
    lab = as_lab(crop)
    middle = (mesh[LIP_RIMS[0]] + mesh[LIP_RIMS[1]]) / 2
    x, y = np.clip(_pixels(middle), 0, crop.shape[0] - 1).T
    return float(np.median(lab[y, x, 1]) - skin_colour(lab, mesh)[1])


def light_on(crop: Image, mesh: Floats) -> Light:
    """The light on the skin of a face; what lies before the skin is left out."""
    lab = as_lab(np.asarray(cv2.resize(crop, (WORK, WORK), interpolation=cv2.INTER_AREA), np.uint8))
    mesh = mesh * (WORK / crop.shape[0])
    weight = _skin_weight(lab, mesh)
    lab[..., 0] = np.log(lab[..., 0] + DARK)
    slow = _polynomials(lab, weight, mesh)
    rest = (lab[..., 0] - slow[..., 0]).astype(np.float32) * weight
    near = cv2.GaussianBlur(weight, (0, 0), REACH * WORK)
    patches = np.asarray(cv2.GaussianBlur(rest, (0, 0), REACH * WORK) / (near + 0.05), np.float32)
    size = float((weight * patches**2).sum() / max(float(weight.sum()), 1e-6)) ** 0.5
    return Light(slow, patches, size)


def _polynomials(tones: Weights, weight: Weights, mesh: Floats) -> NDArray[np.float64]:
    """Each channel as a polynomial over the face, that of lightness square, and constant beyond the face."""
    basis, skin = _basis(mesh), weight.ravel() > 0
    on_skin, values, share = basis[skin], tones.reshape(-1, 3)[skin].astype(np.float64), weight.ravel()[skin]
    fields = [
        basis[:, :terms] @ _fit(on_skin[:, :terms], values[:, channel], share, MISFIT[channel])
        for channel, terms in enumerate((6, 3, 3))
    ]
    return np.stack(fields, axis=-1).reshape(WORK, WORK, 3)


def _basis(mesh: Floats) -> NDArray[np.float64]:
    """1, x, y, x², xy and y² of every pixel, row by row: x and y reach from −1 to 1 over the face."""
    low, high = mesh[OVAL].min(axis=0), mesh[OVAL].max(axis=0)
    across, down = 2 * (np.arange(WORK)[:, None] + 0.5 - low).T / np.maximum(high - low, 1e-6)[:, None] - 1
    x, y = np.tile(across, WORK), np.repeat(down, WORK)
    beyond = np.maximum(np.hypot(x, y), 1)
    x, y = x / beyond, y / beyond
    return np.column_stack([np.ones_like(x), x, y, x * x, x * y, y * y])


def _fit(
    basis: NDArray[np.float64], values: NDArray[np.float64], weight: Weights, misfit: float, rounds: int = 3
) -> NDArray[np.float64]:
    """Coefficients by least squares, weighted anew: what does not fit counts less (Cauchy's weights)."""
    stiff = STIFF * np.diag([0.0] + [1.0] * (basis.shape[1] - 1))
    share = weight.astype(np.float64)
    coefficients = np.zeros(basis.shape[1])
    for _ in range(rounds):
        weighted = basis.T * share
        normal = weighted @ basis + share.sum() * stiff + 1e-6 * np.eye(basis.shape[1])
        coefficients = np.linalg.solve(normal, weighted @ values)
        share = weight / (1 + ((values - basis @ coefficients) / misfit) ** 2)
    return coefficients


def _skin_weight(lab: Weights, mesh: Floats) -> Weights:
    """The face without eyes, brows and lips, and without what has not the colour of skin."""
    weight = np.zeros((WORK, WORK), np.float32)
    cv2.fillPoly(weight, [_pixels(mesh[OVAL])], 1.0)
    for part in (RIGHT_EYE, LEFT_EYE, RIGHT_BROW, LEFT_BROW, LIPS):
        cv2.fillPoly(weight, [_pixels(mesh[part])], 0.0)
        cv2.polylines(weight, [_pixels(mesh[part])], True, 0.0, 2)
    colours = lab[(weight > 0) & _below_the_eyes(mesh)]  # a fringe may be half of what is above
    if len(colours) < 4:
        return weight
    middle = np.median(colours, axis=0)
    deviation = 1.48 * np.median(np.abs(colours - middle), axis=0)
    spread = deviation**2 + LEAST_SPREAD  # light may vary much over a face, a fringe lies outside it
    return weight * (0.02 + _near(((lab - middle) ** 2 / spread.astype(np.float32)).sum(axis=-1)))


def _below_the_eyes(mesh: Floats) -> NDArray[np.bool_]:
    """Of WORK × WORK pixels those on the chin's side of the line through the eyes."""
    down = mesh[CHIN] - mesh[BETWEEN_EYES]
    ticks = np.arange(WORK) + 0.5 - mesh[BETWEEN_EYES][:, None]
    return np.asarray(down[0] * ticks[0][None] + down[1] * ticks[1][:, None] > 0)


def skin_colour(lab: Weights, mesh: Floats) -> Weights:
    """The cheeks' colour in the middle of their values; of a face too small to tell, any."""
    return np.asarray(np.median(_cheeks(lab, mesh), axis=0), np.float32)


def likeness(lab: Weights, mesh: Floats) -> Weights:
    """1 where a pixel has the colour of the cheeks, 0 where it has not, smooth between."""
    colours = _cheeks(lab, mesh)
    spread = np.cov(colours.T) + np.diag([150.0, 10.0, 12.0])  # light varies more over a face than hue
    return _alike(lab, np.median(colours, axis=0), spread)


def _cheeks(lab: Weights, mesh: Floats) -> Weights:
    """The colours of both cheeks, N × 3."""
    sample = np.zeros(lab.shape[:2], np.uint8)
    for cheek in CHEEKS:
        cv2.fillConvexPoly(sample, cv2.convexHull(_pixels(mesh[cheek])), 1)
    return lab[sample > 0] if sample.any() else lab.reshape(-1, 3)


def _alike(lab: Weights, colour: Weights, spread: NDArray[np.floating]) -> Weights:
    """1 near a colour, 0 far from it, measured by a covariance."""
    return _near(squared_distance(lab, colour, np.linalg.cholesky(np.linalg.inv(spread)).T))


def squared_distance(lab: Weights, colour: Weights, root: NDArray[np.floating] = np.eye(3)) -> Weights:
    """Of every pixel to a colour, measured after `root` (3 × 3)."""
    off = cv2.transform(lab, np.column_stack([root, -root @ colour]))
    return np.asarray(cv2.transform(off * off, np.ones((1, 3))), np.float32)


def _near(squared: Weights) -> Weights:
    """1 for small squared distances, 0 for large ones."""
    return np.asarray(1 / (1 + np.exp(np.clip(1.5 * (squared - 6), -30, 30))), np.float32)


def as_lab(crop: Image) -> Weights:
    """L from 0 to 100, a and b."""
    return np.asarray(cv2.cvtColor(crop.astype(np.float32) / 255, cv2.COLOR_RGB2LAB), np.float32)


def as_rgb(lab: Weights) -> Image:
    """And back, in bytes."""
    return np.rint(np.clip(cv2.cvtColor(lab, cv2.COLOR_LAB2RGB), 0, 1) * 255).astype(np.uint8)


def _pixels(points: Floats) -> NDArray[np.int32]:
    return np.rint(points - 0.5).astype(np.int32)
