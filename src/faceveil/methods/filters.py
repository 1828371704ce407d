"""The six ad-hoc filters of the Techniques paper: blackout, eye mask, threshold, blur, noise, pixelate.

Strength is defined as in the paper (section 3.4.1): blur is the mean over a k×k kernel, pixelate shows the face
as k×k pixels, noise gives random values to k % of the face's pixels. All work only on pixels inside the region,
so nothing outside bleeds in or out. Filters guarantee nothing: all but a solid cover can be undone or matched.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import cv2
import numpy as np
from numpy.typing import NDArray

from faceveil.errors import UsageError
from faceveil.faces import Face, Region, region
from faceveil.faces.face import Image
from faceveil.privacy import Guarantee

Inside = NDArray[np.bool_]


def blackout(pixels: Image, inside: Inside, strength: int, rng: np.random.Generator) -> Image:
    """Black."""
    return np.zeros_like(pixels)


def blur(pixels: Image, inside: Inside, strength: int, rng: np.random.Generator) -> Image:
    """The mean over a k×k kernel; k = 1 changes nothing."""
    return np.asarray(cv2.blur(pixels, (strength, strength), borderType=cv2.BORDER_REFLECT), np.uint8)


def pixelate(pixels: Image, inside: Inside, strength: int, rng: np.random.Generator) -> Image:
    """The mean colours of k×k cells."""
    height, width = pixels.shape[:2]
    cells = min(strength, width), min(strength, height)
    small = cv2.resize(pixels, cells, interpolation=cv2.INTER_AREA)
    return np.asarray(cv2.resize(small, (width, height), interpolation=cv2.INTER_NEAREST), np.uint8)


def noise(pixels: Image, inside: Inside, strength: int, rng: np.random.Generator) -> Image:
    """Random red, green and blue at k % of the region's pixels, chosen at random."""
    out = pixels.reshape(-1, 3).copy()
    candidates = np.flatnonzero(inside)
    chosen = rng.choice(candidates, round(len(candidates) * strength / 100), replace=False)
    out[chosen] = rng.integers(0, 256, (len(chosen), 3), dtype=np.uint8)
    return out.reshape(pixels.shape)


def threshold(pixels: Image, inside: Inside, strength: int, rng: np.random.Generator) -> Image:
    """White where the pixel is brighter than the threshold, black elsewhere."""
    grey = cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY)
    return np.repeat(np.where(grey > strength, np.uint8(255), np.uint8(0))[..., None], 3, axis=2)


def _half_the_width(face: Face) -> int:
    return max(3, round(face.size_wh[0] / 2))


@dataclass(frozen=True)
class Filter:
    """A filter: what it does to pixels, where, and what its strength means. `strength` None is the default."""

    options: ClassVar[tuple[str, ...]] = ("strength", "shape")
    cards: ClassVar[tuple[str, ...]] = ()
    id: str
    summary: str
    apply: Callable[[Image, Inside, int, np.random.Generator], Image]
    meaning: str | None = None  # of strength; None: the filter has no strength
    bounds: tuple[int, int] = (1, 10_000)
    default: Callable[[Face], int] | int = 0
    default_meaning: str = ""
    shapes: tuple[str, ...] = ("box", "face")  # the first is the default
    place: str | None = None  # a fixed region instead of a shape
    strength: int | None = None
    shape: str | None = None

    def __post_init__(self) -> None:
        if self.strength is not None:
            _check_strength(self)
        if self.shape is not None and (self.place or self.shape not in self.shapes):
            offered = "has a shape of its own" if self.place else f"covers the {' or the '.join(self.shapes)}"
            raise UsageError(f"{self.id} {offered}; shape {self.shape!r} does not apply.")

    @property
    def guarantee(self) -> Guarantee:
        """Nothing, and why."""
        if self.id == "blackout":
            return Guarantee("none", "No pixel of the covered face remains; nothing else is claimed.")
        return Guarantee("none", "No guarantee: a recogniser or a restoration may still find the person.")

    @property
    def region_name(self) -> str:
        """The region of the face that is changed."""
        shape = self.shape or self.shapes[0]
        return self.place or {"box": "box", "face": "face-shape"}[shape]

    @property
    def needs_mesh(self) -> bool:
        """A rectangle needs none; a band over the eyes and the face's shape do."""
        return self.region_name != "box"

    @property
    def parameters(self) -> dict[str, object]:
        """What a reader of the result needs to repeat it."""
        values: dict[str, object] = {"region": self.region_name}
        if self.meaning:
            values["strength"] = self.strength if self.strength is not None else self.default_meaning
        return values

    def protect(self, image: Image, face: Face, rng: np.random.Generator) -> tuple[Image, Region]:
        """A new picture with this face filtered, and the region that changed."""
        where = region(self.region_name, face, image)
        if where.mask.size == 0:
            return image.copy(), where
        strength = self.strength
        if strength is None:
            strength = self.default(face) if callable(self.default) else self.default
        pixels, inside = np.ascontiguousarray(image[where.window]), where.mask > 0
        filtered, out = self.apply(pixels, inside, strength, rng), image.copy()
        # A box is inside everywhere, and where numpy need not ask it copies many times as fast.
        np.copyto(out[where.window], filtered, where=True if inside.all() else inside[..., None])
        return out, where


def _check_strength(filter_: Filter) -> None:
    low, high = filter_.bounds
    if filter_.meaning is None:
        raise UsageError(f"{filter_.id} has no strength; leave --strength out.")
    if not low <= (filter_.strength or 0) <= high:
        raise UsageError(
            f"{filter_.id}: strength is the {filter_.meaning}, from {low} to {high}; {filter_.strength} is not."
        )


FILTERS = {
    item.id: item
    for item in (
        Filter("blackout", "cover the face in black", blackout, shapes=("face", "box")),
        Filter("eye-mask", "a black bar over the eyes", blackout, place="eye-band"),
        Filter(
            "threshold", "black or white by brightness", threshold,
            meaning="brightness above which a pixel is white", bounds=(0, 255), default=127, default_meaning="127",
        ),
        Filter(
            "blur", "the mean over a k×k kernel", blur,
            meaning="kernel's side k in pixels", default=_half_the_width, default_meaning="half the face's width",
        ),
        Filter(
            "noise", "random values at k % of the pixels", noise,
            meaning="percentage k of pixels replaced", bounds=(1, 100), default=90, default_meaning="90",
        ),
        Filter(
            "pixelate", "the face as k×k pixels", pixelate,
            meaning="number k of pixels across and down", default=6, default_meaning="6",
        ),
    )
}  # fmt: skip
