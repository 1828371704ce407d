"""Channels: blocks of channels instead of whole slots (StyleID, section 4), and a greedy swap of the best.

Each block of the identity slots is swapped alone between random generated faces and scored; the blocks with the best
scores are then swapped together. The shipped table is channels.csv; `faceveil analyze channels` makes it again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from faceveil.methods.styleid.layers import Part, preview, random_codes, swap_gaps
from faceveil.methods.styleid.score import gaps, ia_scores, read
from faceveil.methods.styleid.tables import read_rows
from faceveil.models.mobilestylegan import STYLE_DIM

TABLE = Path(__file__).with_name("data") / "channels.csv"
SLOTS = range(4, 13)  # the identity slots
BLOCK = 64
CHANNELS = 3584  # the number that is swapped by default
WIDER = (256, 512)  # blocks that the curve is drawn for besides
COUNTS = (512, 1024, 1536, 2048, 2560, 3584, 4608)  # channels of the curve


@dataclass(frozen=True)
class Block:
    """Channels first … first + width − 1 of one slot, and what swapping them alone did."""

    slot: int
    first: int
    width: int
    identity: float
    attributes: float
    score: float

    @property
    def part(self) -> Part:
        """As slices of a code."""
        return slice(self.slot, self.slot + 1), slice(self.first, self.first + self.width)


@dataclass(frozen=True)
class Step:
    """So many channels swapped in blocks of this width, and what that did, as means over pairs of faces."""

    width: int
    channels: int
    identity: float
    attributes: float


def search(pairs: int, seed: int, recognizers: Sequence[str], block: int = BLOCK) -> list[Block]:
    """Every block of the identity slots, best first: 0.1 s per block and pair."""
    places = [(slot, first) for slot in SLOTS for first in range(0, STYLE_DIM, block)]
    parts = [(slice(slot, slot + 1), slice(first, first + block)) for slot, first in places]
    identity, kept = swap_gaps(random_codes(pairs, seed), parts, recognizers)
    scores = ia_scores(identity, kept)
    found = [
        Block(*place, block, *(round(float(value), 4) for value in values))
        for place, *values in zip(places, identity, kept, scores, strict=True)
    ]
    return sorted(found, key=lambda one: -one.score)


def joined(blocks: Sequence[Block], width: int) -> list[Block]:
    """The same in wider blocks, each with the mean of what its parts did, best first."""
    parts: dict[tuple[int, int], list[Block]] = {}
    for block in blocks:
        parts.setdefault((block.slot, block.first // width * width), []).append(block)
    wide = [
        Block(*place, width, *(_mean(part, name) for name in ("identity", "attributes", "score")))
        for place, part in parts.items()
    ]
    return sorted(wide, key=lambda one: -one.score)


def curve(
    blocks: Sequence[Block], counts: Sequence[int], pairs: int, seed: int, recognizers: Sequence[str]
) -> list[Step]:
    """What swapping the best blocks together does, up to so many channels (figure 5)."""
    codes = random_codes(pairs, seed)
    before = [read(preview(source), recognizers) for source in codes[:, 0]]
    steps = []
    for count in counts:
        mixed = codes[:, 0].copy()
        for slots, channels in best(blocks, count):
            mixed[:, slots, channels] = codes[:, 1, slots, channels]
        after = [read(preview(code), recognizers) for code in mixed]
        identity, kept = np.mean([gaps(*both) for both in zip(before, after, strict=True)], axis=0)
        steps.append(Step(blocks[0].width, count, round(float(identity), 4), round(float(kept), 4)))
    return steps


def best(blocks: Sequence[Block], channels: int) -> list[Part]:
    """The best blocks, so many channels of them."""
    return [one.part for one in blocks[: max(1, channels // blocks[0].width)]]


@cache
def read_table(path: Path = TABLE) -> tuple[Block, ...]:
    """The blocks of a CSV, best first; the shipped one by default."""
    return tuple(read_rows(Block, path))


def _mean(blocks: Sequence[Block], name: str) -> float:
    return float(np.mean([getattr(block, name) for block in blocks]))
