"""The projector: the W+ whose render looks most like a photo, found by gradient descent.

    W+* = argmin  |render - photo|² + weight · look(render, photo) [+ identity · ((1 - cos) + (1 - cos')/2)]

MIKU's equations 2 and 3 (and 1 and 2 of the conference paper) take the squared error of pixels and 0.1 times the
distance of four VGG-16 maps, with the background masked; `MIKU` below is that recipe. `REFINE` goes on from the
encoder's code with LPIPS and an identity term. It asks C of `recognizers.py`, whose layer before the last tells more
than its vector, and A with half the weight: what pleases two is nearer to the person for a third. Neither may judge
the result. Descent runs along axes on which the loss curves alike, as `training/curvature.py` measured it, and
through the generator's early exits, coarse to fine. The last steps look closely, at 256 px: in turn at the face,
where a recogniser is harder to please without the person, and at two quarters of the picture. Renders, looks and
gradients are OpenVINO's (`gradients.py`).

Every term is a sum of squares: a recogniser's vectors have length one, so that 1 - cos is half the squared distance.
"""

import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import reduce
from itertools import cycle, islice

import cv2
import numpy as np
from numpy.typing import NDArray

from faceveil.errors import UsageError
from faceveil.models import lpips, mobilefacenet, vgg
from faceveil.models.embedding_graphs import facelib, unit
from faceveil.models.generator import as_wplus, cores
from faceveil.models.layers import Node
from faceveil.models.mobilestylegan import SLOTS, Floats
from faceveil.models.npz import opened
from faceveil.models.runtime import Network, Precision, once, openvino
from faceveil.models.sampling import resampled
from faceveil.models.slope import Slope
from faceveil.models.windows import CELLS, WHOLE, Window
from faceveil.models.wspace import DATA, w_space

Images = NDArray[np.uint8]
HALF = CELLS // 2


@dataclass(frozen=True)
class View:
    """The picture at a size, or a part of it."""

    size: int
    window: Window = WHOLE

    @property
    def side(self) -> int:
        """Of what is seen, in pixels."""
        return self.window.side * self.size // CELLS

    @property
    def shows_somebody(self) -> bool:
        """A quarter of a face is nobody."""
        return self not in QUARTERS


FACE = View(256, Window(8, 8, 48))  # as much as the recogniser sees
QUARTERS = [View(256, Window(top, left, HALF)) for top, left in ((0, 0), (HALF, HALF), (0, HALF), (HALF, 0))]
DIAGONALS = tuple(QUARTERS[:2]), tuple(QUARTERS[2:])
FREE = 200  # of W's axes may move, in each slot
SOFTEST = 1.0  # of the mean curvature is added to every curvature, so that no direction is taken for flat
SECOND_MOMENTUM, TINY = 0.99, 1e-8
LOOKS = ("lpips", "vgg")
LEAST = 128  # px that a look needs


@dataclass(frozen=True)
class Recipe:
    """What is minimised, and how."""

    look: str = "lpips"  # or "vgg", MIKU's four maps
    look_weight: float = 2.0
    identity: float = 0.7
    stages: tuple[tuple[int, float], ...] = (
        (64, 1.0),
    )  # exit, and its share of the steps that see the whole
    close: float = 0.6  # share of all steps, the last ones, that see the face or two quarters at 256 px
    rate: float = 0.5
    momentum: float = 0.7  # of Adam; 0.9 is too slow to turn in twenty steps
    precision: Precision = "f32"  # of gradients
    background: float = 1.0  # what it weighs, beside the person's 1, where masks are given

    def __post_init__(self) -> None:
        if self.look not in LOOKS:
            raise UsageError(f"no look is named {self.look!r}. There are {', '.join(LOOKS)}.")


REFINE = Recipe(look_weight=2.8)
QUICK = Recipe(
    identity=0, close=0, rate=0.6, momentum=0.4, precision="bf16"
)  # for steps too few to look closely
FEW = 4  # steps that are
MIKU = Recipe(
    "vgg",
    look_weight=0.1,
    identity=0,
    stages=((64, 0.5), (128, 0.3), (256, 0.2)),
    close=0,
    background=0,
)


def project(
    crops: Images,
    start: Floats | None = None,
    steps: int = 20,
    recipe: Recipe = REFINE,
    masks: NDArray[np.float32] | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> Floats:
    """W+ (N × 23 × 512) of faces in FFHQ's alignment (N × S × S × 3, RGB uint8).

    `start` is W or W+ of each face, or None for the mean face; `masks` (N × S × S) are 1 on the person and 0 on
    the background. `progress` is told how many faces are done. A face takes about 0.2 s a step on one core;
    several are worked on at a time, one on each core, and none depends on the others.
    """
    _check(crops, start, steps, masks)
    codes = np.repeat(w_space().mean[None], len(crops), axis=0) if start is None else start
    found = as_wplus(codes).copy()
    if not steps or not len(crops):
        return found

    def descend(face: int) -> Floats:
        target = _Target(crops[face], None if masks is None else masks[face], recipe)
        return _descend(found[face], target, steps, recipe)

    with ThreadPoolExecutor(cores()) as pool:
        needed = {view for views in _views(steps, recipe) for view in views}
        list(pool.map(lambda view: _slope(view, recipe, masks is not None), needed))  # compiled side by side
        for face, code in enumerate(pool.map(descend, range(len(crops)))):
            found[face] = code
            progress(face + 1)
    return found


def _check(crops: Images, start: Floats | None, steps: int, masks: NDArray[np.float32] | None) -> None:
    if crops.ndim != 4 or crops.shape[3] != 3 or crops.shape[1] != crops.shape[2] or crops.dtype != np.uint8:
        raise UsageError(
            f"the projector takes aligned faces (N, S, S, 3) in uint8, not {crops.dtype} {crops.shape}."
        )
    if steps < 0:
        raise UsageError(f"the projector takes 0 steps or more, not {steps}.")
    if start is not None and len(start) != len(crops):
        raise UsageError(f"{len(crops)} faces need as many codes to start from, not {len(start)}.")
    if masks is not None and masks.shape != crops.shape[:3]:
        raise UsageError(f"masks must have the faces' shape {crops.shape[:3]}, not {masks.shape}.")


def _descend(wplus: Floats, target: "_Target", steps: int, recipe: Recipe) -> Floats:
    """Adam (Kingma and Ba 2015) with a rate that rises for a few steps and then falls along a cosine."""
    moved, first, second = (np.zeros((SLOTS, FREE), np.float32) for _ in range(3))
    keep, keep_squares = recipe.momentum, SECOND_MOMENTUM
    for step, views in enumerate(_views(steps, recipe)):
        gradient = np.mean([target.gradient(wplus, moved, view) for view in views], axis=0)
        first = keep * first + (1 - keep) * gradient
        second = keep_squares * second + (1 - keep_squares) * gradient**2
        mean, spread = first / (1 - keep ** (step + 1)), second / (1 - keep_squares ** (step + 1))
        rate = recipe.rate * min(1.0, (step + 1) / 3) * _fall(step / steps)
        moved = moved - np.float32(rate) * mean / (np.sqrt(spread) + TINY)
    found: Floats = wplus + (moved[:, None] @ _axes())[:, 0]
    return found


@once
def _axes() -> Floats:
    """Directions of each slot of W+ (23 × 200 × 512), the longer the less the loss curves along them."""
    with opened(DATA / "projector-axes.npz") as stored:
        axes, curvature = stored["axes"].astype(np.float32), stored["curvature"]
    scaled = axes / np.sqrt(curvature / curvature.mean() + SOFTEST)[..., None]
    directions: Floats = scaled @ w_space().deviations(FREE)
    return directions


def _fall(done: float) -> float:
    return 0.5 * (1 + math.cos(math.pi * done)) * 0.9 + 0.1


def _views(steps: int, recipe: Recipe) -> Iterator[tuple[View, ...]]:
    """What each step looks at: the whole, then by turns the face and two quarters of the picture."""
    close = round(steps * recipe.close)
    yield from ((View(size),) for size in _exits(steps - close, recipe))
    turns = cycle(views for quarters in DIAGONALS for views in ((FACE,), quarters))
    yield from islice(turns, close)


def _exits(steps: int, recipe: Recipe) -> Iterator[int]:
    """The exit of each step that sees the whole; the last stage takes what rounding leaves."""
    total = sum(share for _, share in recipe.stages)
    passed, given = 0.0, 0
    for size, share in recipe.stages:
        passed += share / total
        until = round(passed * steps)
        yield from [size] * (until - given)
        given = until


class _Target:
    """One photo as each view shows it, and what the fixed networks say of it."""

    def __init__(self, crop: Images, mask: NDArray[np.float32] | None, recipe: Recipe) -> None:
        self.crop, self.mask, self.recipe = crop, mask, recipe
        self.seen: dict[View, list[Floats]] = {}

    def gradient(self, wplus: Floats, moved: Floats, view: View) -> Floats:
        """Of the loss, by how far a code was moved along each axis (23 × 200)."""
        if view not in self.seen:
            self.seen[view] = self._look(view)
        return _slope(view, self.recipe, self.mask is not None)(wplus, self.seen[view], moved)

    def _look(self, view: View) -> list[Floats]:
        photo = _seen(self.crop, view) / np.float32(127.5) - 1
        found = look_network(view, self.recipe)(photo)
        if self.mask is None:
            return found
        floor = self.recipe.background
        return [photo, floor + (1 - floor) * _seen(self.mask[..., None], view), *found]


def _seen(image: NDArray[np.uint8] | NDArray[np.float32], view: View) -> Floats:
    """What a view shows of a photo or a mask, 1 × channels × side × side."""
    shrunk = cv2.resize(image, (view.size, view.size), interpolation=cv2.INTER_AREA)
    rows, columns = view.window.part(view.size).within(WHOLE.part(view.size))
    planes = shrunk.reshape(view.size, view.size, -1)[rows, columns].transpose(2, 0, 1)
    return np.ascontiguousarray(planes[None], np.float32)


def slope_of(view: View, recipe: Recipe, masked: bool, axes: Floats) -> Slope:
    """Of a view's loss, given what was seen of the photo."""
    op = openvino().opset13

    def loss(render: Node) -> tuple[Node, list[Node]]:
        given = []
        if masked:
            given = [op.parameter([1, planes, view.side, view.side], np.float32) for planes in (3, 1)]
            photo, weight = given
            render = op.add(photo, op.multiply(weight, op.subtract(render, photo)))
        found = looks(render, view, recipe)
        wanted = [op.parameter(list(look.get_output_shape(0)), np.float32) for look in found]
        squares = [_squared(op.subtract(a, b)) for a, b in zip(found, wanted, strict=True)]
        return reduce(op.add, squares), [*given, *wanted]

    return Slope(view.size, loss, axes, view.window, cores(), recipe.precision)


@once
def _slope(view: View, recipe: Recipe, masked: bool) -> Slope:
    return slope_of(view, recipe, masked, _axes())


def _squared(x: Node) -> Node:
    op = openvino().opset13
    return op.reduce_sum(op.multiply(x, x), np.arange(len(x.get_output_shape(0))), False)


@once
def look_network(view: View, recipe: Recipe) -> Network:
    """A photo as a view shows it → what is compared."""
    image = openvino().opset13.parameter([1, 3, view.side, view.side], np.float32, "image")
    return Network(openvino().Model(looks(image, view, recipe), [image], "looks"), streams=cores())


def looks(image: Node, view: View, recipe: Recipe) -> list[Node]:
    """What is compared of a picture in [-1, 1], each times the root of its weight: the loss is the sum of squares."""
    found = [_scaled(image, 1 / image.get_output_shape(0)[-1] / 3**0.5)]
    if recipe.look_weight:
        found += _appearance(enlarged(image), recipe)
    if recipe.identity and view.shows_somebody:
        found += [_scaled(one, (recipe.identity * part / 2) ** 0.5) for one, part in who(image, view)]
    return found


def _appearance(image: Node, recipe: Recipe) -> list[Node]:
    if recipe.look == "vgg":
        maps = vgg.vgg_maps(image)
        return [_scaled(one, (recipe.look_weight / np.prod(one.get_output_shape(0))) ** 0.5) for one in maps]
    maps = lpips.unit_maps(image)
    return [
        _scaled(one, np.sqrt(recipe.look_weight * head / np.prod(one.get_output_shape(0)[2:])))
        for one, head in zip(maps, lpips.heads(), strict=True)
    ]


def who(image: Node, view: View) -> list[tuple[Node, float]]:
    """What two recognisers say of a view of FFHQ crops in [-1, 1], a vector of length 1 each, and what it weighs."""
    op = openvino().opset13
    rows, columns = mobilefacenet.arcface_matrices(view.size)
    part = view.window.part(view.size)
    rows, columns = rows[:, part.top : part.bottom], columns[:, part.left : part.right]
    crop = resampled(op.add(_scaled(image, 0.5), op.constant(np.float32(0.5))), rows, columns)
    return [(unit(mobilefacenet.last_layers(crop)[0]), 1.0), (unit(facelib(crop)), 0.5)]


def _scaled(x: Node, factor: float | NDArray[np.floating]) -> Node:
    """Times a number, or a number for each channel."""
    op = openvino().opset13
    numbers = np.asarray(factor, np.float32)
    return op.multiply(x, op.constant(numbers.reshape(1, -1, 1, 1) if numbers.size > 1 else numbers))


def enlarged(image: Node) -> Node:
    """AlexNet and VGG look at 128 px or more."""
    side = image.get_output_shape(0)[-1]
    if side >= LEAST:
        return image
    places = np.clip((np.arange(LEAST) + 0.5) * side / LEAST - 0.5, 0, side - 1)
    matrix = np.maximum(0, 1 - np.abs(places[:, None] - np.arange(side)[None])).astype(np.float32)
    return resampled(image, matrix, matrix)
