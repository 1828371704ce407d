"""The projector: the W+ whose render looks most like a photo, found by gradient descent.

    W+* = argmin  |render - photo|² + weight · look(render, photo) [+ identity · (1 - cos)]

MIKU's equations 2 and 3 (and 1 and 2 of the conference paper) take the squared error of pixels and 0.1 times the
distance of four VGG-16 maps, with the background masked; `MIKU` below is that recipe. `REFINE` goes on from the
encoder's code with LPIPS and an identity term. The recognisers in that term are A and C of `recognizers.py`: what
pleases two is nearer to the person for a third. Neither may judge the result. Descent runs along axes on which the
loss curves alike, as `training/curvature.py` measured it, and through the generator's early exits, coarse to fine.
The last steps look closely: in turn at the face at 128 px, where a recogniser is harder to please without the person,
and at two quarters of the picture at 256 px.
"""

import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle, islice

import cv2
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from faceveil.errors import UsageError
from faceveil.models.generator import as_wplus, cores, synthesis
from faceveil.models.mobilefacenet import arcface_matrices
from faceveil.models.mobilestylegan import SLOTS, Floats
from faceveil.models.runtime import once
from faceveil.models.torch.facelib import second_recognizer
from faceveil.models.torch.lpips import Lpips
from faceveil.models.torch.mobilenet import face_recognizer
from faceveil.models.torch.mobilestylegan import CELLS, WHOLE, Synthesis, Window
from faceveil.models.torch.vgg import VggMaps
from faceveil.models.wspace import DATA, w_space

Images = NDArray[np.uint8]
HALF = CELLS // 2


@dataclass(frozen=True)
class View:
    """The picture at a size, or a part of it."""

    size: int
    window: Window = WHOLE


FACE = View(128, Window(8, 8, 48))  # as much as the recogniser sees
QUARTERS = [View(256, Window(top, left, HALF)) for top, left in ((0, 0), (HALF, HALF), (0, HALF), (HALF, 0))]
DIAGONALS = tuple(QUARTERS[:2]), tuple(QUARTERS[2:])
FREE = 200  # of W's axes may move, in each slot
SOFTEST = 1.0  # of the mean curvature is added to every curvature, so that no direction is taken for flat
MOMENTUM = 0.7  # of Adam; 0.9 is too slow to turn in twenty steps
LOOKS: dict[str, Callable[[], "Lpips | VggMaps"]] = {"lpips": Lpips, "vgg": VggMaps}


@dataclass(frozen=True)
class Recipe:
    """What is minimised, and how."""

    look: str = "lpips"  # or "vgg", MIKU's four maps
    look_weight: float = 2.0
    identity: float = 1.0
    stages: tuple[tuple[int, float], ...] = (
        (64, 1.0),
    )  # exit, and its share of the steps that see the whole
    close: float = (
        0.6  # share of all steps, the last ones, that see the face at 128 px or two quarters at 256 px
    )
    rate: float = 0.5
    background: float = 1.0  # what it weighs, beside the person's 1, where masks are given
    batch: int = 1  # faces at a time

    def __post_init__(self) -> None:
        if self.look not in LOOKS:
            raise UsageError(f"no look is named {self.look!r}. There are {', '.join(LOOKS)}.")


REFINE = Recipe()
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
    the background. `progress` is told how many faces are done. A face takes about 0.25 s a step on one core;
    several are worked on at a time, one on each core.
    """
    _check(crops, start, steps, masks)
    codes = np.repeat(w_space().mean[None], len(crops), axis=0) if start is None else start
    found = as_wplus(codes).copy()
    parts = [slice(begin, begin + recipe.batch) for begin in range(0, len(crops), recipe.batch)]

    def descend(part: slice) -> Floats:
        target = _Target(crops[part], None if masks is None else masks[part], recipe)
        return _descend(found[part], target, steps, recipe)

    with _one_thread_each(), ThreadPoolExecutor(cores()) as pool:
        for part, code in zip(parts, pool.map(descend, parts), strict=True):
            found[part] = code
            progress(min(part.stop, len(crops)))
    return found


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Torch on one thread for each face. With more it adds in another order, which gives other bits, and on a busy
    machine its threads wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


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
    """Adam with a rate that rises for a few steps and then falls along a cosine."""
    begin = torch.from_numpy(wplus)
    moved = torch.zeros(len(wplus), SLOTS, 1, FREE, requires_grad=True)
    optimizer = torch.optim.Adam([moved], lr=recipe.rate, betas=(MOMENTUM, 0.99))
    for step, views in enumerate(_views(steps, recipe)):
        warm_up = min(1.0, (step + 1) / 3)
        optimizer.param_groups[0]["lr"] = recipe.rate * warm_up * _fall(step / steps)
        optimizer.zero_grad()
        for view in views:
            loss = target.loss(begin + (moved @ _axes())[:, :, 0], view) / len(views)
            loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    found: Floats = (begin + (moved @ _axes())[:, :, 0]).detach().numpy()
    return found


@once
def _axes() -> Tensor:
    """Directions of each slot of W+ (23 × 200 × 512), the longer the less the loss curves along them."""
    space = w_space()
    with np.load(DATA / "projector-axes.npz") as stored:
        axes, curvature = stored["axes"].astype(np.float32), stored["curvature"]
    scaled = axes / np.sqrt(curvature / curvature.mean() + SOFTEST)[..., None]
    return torch.from_numpy(scaled @ (space.spread[:FREE, None] * space.axes[:FREE]))


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
    """Photos as each view shows them, and what the fixed networks say of them."""

    def __init__(self, crops: Images, masks: NDArray[np.float32] | None, recipe: Recipe) -> None:
        self.recipe, self.look = recipe, _look(recipe.look)
        self.crops, self.masks = crops, masks
        self.seen: dict[View, tuple[Tensor, Tensor, list[Tensor]]] = {}
        self.people: dict[View, Tensor] = {}

    def at(self, view: View) -> tuple[Tensor, Tensor, list[Tensor]]:
        """Photos in [-1, 1], their weights, and what they look like."""
        if view not in self.seen:
            photos = view.window.cut(_resized(self.crops, view.size)) / 127.5 - 1
            weights = torch.ones_like(photos[:, :1])
            if self.masks is not None:
                floor = self.recipe.background
                weights = floor + (1 - floor) * view.window.cut(_resized(self.masks[..., None], view.size))
            with torch.no_grad():
                self.seen[view] = photos, weights, self.look.taps(enlarged(photos))
        return self.seen[view]

    def person(self, view: View) -> Tensor:
        """Who the photos show, as far as this view tells."""
        if view not in self.people:
            with torch.no_grad():
                self.people[view] = who(self.at(view)[0], view)
        return self.people[view]

    def loss(self, wplus: Tensor, view: View) -> Tensor:
        """Summed over faces, so that one does not depend on its company."""
        photos, weights, looks = self.at(view)
        renders = weights * draw(wplus, view) + (1 - weights) * photos
        pixels = (renders - photos).square().mean((1, 2, 3))
        look = self.look.distance(self.look.taps(enlarged(renders)), looks)
        total = pixels + self.recipe.look_weight * look
        if self.recipe.identity and view not in QUARTERS:  # a quarter of a face is nobody
            likeness = (who(renders, view) * self.person(view)).sum(1)
            total = total + self.recipe.identity * (1 - likeness)
        summed: Tensor = total.sum()
        return summed


def draw(wplus: Tensor, view: View) -> Tensor:
    """What a view shows of codes, in [-1, 1]."""
    images: Tensor = _generator(view.size)(wplus, view.window)
    return images


def who(images: Tensor, view: View) -> Tensor:
    """What two recognisers say of what a view shows of FFHQ crops in [-1, 1], as one vector of length 1."""
    rows, columns = (torch.from_numpy(matrix) for matrix in arcface_matrices(view.size))
    part = view.window.part(view.size)
    rows, columns = rows[:, part.top : part.bottom], columns[:, part.left : part.right]
    crops = rows @ ((images + 1) / 2) @ columns.T
    return torch.cat([network(crops) for network in (face_recognizer(), second_recognizer())], 1) / 2**0.5


def _resized(images: NDArray[np.uint8] | NDArray[np.float32], size: int) -> Tensor:
    """N × channels × size × size, in float."""
    shrunk = [cv2.resize(image, (size, size), interpolation=cv2.INTER_AREA) for image in images]
    planes = np.stack(shrunk).reshape(len(images), size, size, -1).transpose(0, 3, 1, 2)
    return torch.from_numpy(np.ascontiguousarray(planes, np.float32))


def enlarged(images: Tensor) -> Tensor:
    """AlexNet and VGG look at 128 px or more."""
    if images.shape[-1] >= 128:
        return images
    return F.interpolate(images, size=(128, 128), mode="bilinear", align_corners=False)


@once
def _generator(size: int) -> Synthesis:
    return Synthesis(synthesis(size))


@once
def _look(name: str) -> "Lpips | VggMaps":
    return LOOKS[name]()
