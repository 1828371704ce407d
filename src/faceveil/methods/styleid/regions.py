"""What swapping a region of the picture does to the identity (StyleID, table 1 and figure 9).

The source is generated, and so is its counterpart: the same code with the identity slots of a target that suits
it, which keeps pose and outline. Ever larger regions of the counterpart are laid into the source.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from faceveil.faces.face import Image
from faceveil.faces.paste import paste
from faceveil.methods.styleid.layers import random_codes
from faceveil.methods.styleid.looks import face_in_crop
from faceveil.methods.styleid.measure import measure
from faceveil.methods.styleid.move import choose
from faceveil.methods.styleid.paste import REGIONS, part_of
from faceveil.methods.styleid.render import PREVIEW, generator, in_crop
from faceveil.methods.styleid.score import gaps, read
from faceveil.methods.styleid.targets import pool
from faceveil.models.segmenter import person_mask

NAMES = (*REGIONS, "face-hair", "all")


@dataclass(frozen=True)
class Swapped:
    """One region: the mean distance of identity with its spread over the pairs, and that of attributes."""

    region: str
    identity: float
    spread: float
    attributes: float


def table(pairs: int, seed: int, recognizers: Sequence[str], slots: slice) -> list[Swapped]:
    """Every region, smallest first: 2 s per pair."""
    found = np.array(list(_pairs(pairs, seed, recognizers, slots)))
    identity, kept = found[..., 0], found[..., 1]
    columns = (identity.mean(axis=0), identity.std(axis=0), kept.mean(axis=0))
    return [
        Swapped(name, *(round(float(value), 4) for value in values))
        for name, *values in zip(NAMES, *columns, strict=True)
    ]


def _pairs(
    count: int, seed: int, recognizers: Sequence[str], slots: slice
) -> Iterator[list[tuple[float, float]]]:
    rng = np.random.default_rng(seed)
    for code in random_codes(count, seed)[:, 0]:
        picture = np.asarray(generator().render(code[None], PREVIEW)[0])
        before = read(picture, recognizers)
        yield [gaps(before, read(image, recognizers)) for image in swaps(picture, code, slots, rng)]


def swaps(picture: Image, code: np.ndarray, slots: slice, rng: np.random.Generator) -> Iterator[Image]:
    """One generated face with each of NAMES from its counterpart."""
    source = measure(picture, face_in_crop(picture), ())
    assert source is not None  # the generator draws faces
    mixed = code.copy()
    mixed[slots] = pool().codes[choose(source, rng, 1)[0]][slots]
    new = in_crop(source, mixed)
    for region in REGIONS:
        yield paste(source.image, new, source.alignment, part_of(source.mask, region, source.mesh), feather=0)
    counterpart = np.asarray(generator().render(mixed[None], PREVIEW)[0])
    person = np.maximum(person_mask(picture), person_mask(counterpart))[..., None]
    yield np.rint(person * counterpart + (1 - person) * picture).astype(np.uint8)
    yield counterpart
