"""Layers: which slots of the code hold the identity (StyleID, section 3), and a swap of them.

`search` swaps windows of consecutive slots between random faces and scores what that did to identity and attributes.
The paper does so on encoded photos; here both faces are generated, so that their codes are exact and the encoder's
error plays no part. The result ships as layers.csv; `faceveil analyze layers` makes it again.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from faceveil.faces.face import Image
from faceveil.methods.styleid.measure import Source
from faceveil.methods.styleid.render import PREVIEW, generator
from faceveil.methods.styleid.score import gaps, ia_scores, read
from faceveil.methods.styleid.tables import read_rows
from faceveil.methods.styleid.targets import pool
from faceveil.models.generator import as_wplus
from faceveil.models.mobilestylegan import SLOTS, Floats

TABLE = Path(__file__).with_name("data") / "layers.csv"
LAYERS = "4-12"
RECOGNIZERS_OF_SEARCH = ("mobilenet.facelib", "mobilefacenet.facesdk")
WIDTHS = (1, 2, 3, 4, 6, 9)
TRUNCATION = 0.7
SEARCH_SIZE = 64  # px of the renders that a search looks at: at 128 px it takes twice as long
Part = tuple[slice, slice]  # slots and channels of a code
WHOLE = slice(None)


@dataclass(frozen=True)
class Window:
    """Slots first … first + width − 1, and what swapping them did, as means over pairs of faces."""

    first: int
    width: int
    identity: float
    attributes: float
    score: float = 0.0


def swapped(source: Source, target: int, parts: Sequence[Part]) -> Floats:
    """The source's code with a target's in these parts."""
    wplus = source.code.copy()
    for slots, channels in parts:
        wplus[slots, channels] = pool().codes[target][slots, channels]
    return wplus


def search(pairs: int, seed: int, recognizers: Sequence[str], widths: Sequence[int] = WIDTHS) -> list[Window]:
    """All windows of these widths, scored on random pairs of generated faces: 0.1 s per window and pair."""
    windows = [(first, width) for width in widths for first in range(SLOTS - width + 1)]
    parts = [(slice(first, first + width), WHOLE) for first, width in windows]
    identity, kept = swap_gaps(random_codes(pairs, seed), parts, recognizers)
    return [
        Window(*place, *(round(float(value), 4) for value in values))
        for place, *values in zip(windows, identity, kept, ia_scores(identity, kept), strict=True)
    ]


def random_codes(pairs: int, seed: int) -> Floats:
    """Codes of generated faces, pairs × 2 × 23 × 512."""
    rng = np.random.default_rng(seed)
    draw = generator().mapping(generator().sample_z(2 * pairs, rng))
    codes = as_wplus(generator().truncate(draw, TRUNCATION))
    return codes.reshape(pairs, 2, *codes.shape[1:])


def swap_gaps(
    codes: Floats, parts: Sequence[Part], recognizers: Sequence[str]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """For each part the mean distances of identity and attributes that swapping it makes."""
    found = np.array([list(_gaps(source, target, parts, recognizers)) for source, target in codes])
    identity, kept = found.mean(axis=0).T
    return identity, kept


def _gaps(
    source: Floats, target: Floats, parts: Sequence[Part], recognizers: Sequence[str]
) -> Iterator[tuple[float, float]]:
    before = read(preview(source, SEARCH_SIZE), recognizers)
    for slots, channels in parts:
        mixed = source.copy()
        mixed[slots, channels] = target[slots, channels]
        yield gaps(before, read(preview(mixed, SEARCH_SIZE), recognizers))


def preview(wplus: Floats, size: int = PREVIEW) -> Image:
    """A small render of one code."""
    return np.asarray(generator().render(wplus[None], size)[0])


def read_table(path: Path = TABLE) -> list[Window]:
    """The windows of a CSV; the shipped one by default."""
    return read_rows(Window, path)
