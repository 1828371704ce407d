"""Channels: blocks of channels instead of whole slots (StyleID, section 4), and a greedy swap of the best.

Each block of the identity slots is swapped alone between random generated faces and scored; the blocks with the best
scores are then swapped together. The shipped table is channels.csv; `faceveil analyze channels` makes it again.
"""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from faceveil.methods.styleid.layers import Part, random_codes, swap_gaps
from faceveil.methods.styleid.score import ia_scores
from faceveil.models.mobilestylegan import STYLE_DIM

TABLE = Path(__file__).with_name("data") / "channels.csv"
SLOTS = range(4, 13)  # the identity slots
BLOCK = 64
CHANNELS = 3584  # the number that is swapped by default


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


def search(pairs: int, seed: int, recognizers: Sequence[str], block: int = BLOCK) -> list[Block]:
    """Every block of the identity slots, best first: 0.2 s per block and pair."""
    places = [(slot, first) for slot in SLOTS for first in range(0, STYLE_DIM, block)]
    parts = [(slice(slot, slot + 1), slice(first, first + block)) for slot, first in places]
    identity, kept = swap_gaps(random_codes(pairs, seed), parts, recognizers)
    scores = ia_scores(identity, kept)
    found = [
        Block(*place, block, *(round(float(value), 4) for value in values))
        for place, *values in zip(places, identity, kept, scores, strict=True)
    ]
    return sorted(found, key=lambda one: -one.score)


def curve(
    blocks: Sequence[Block], counts: Sequence[int], pairs: int, seed: int, recognizers: Sequence[str]
) -> list[float]:
    """The mean identity distance when the best blocks are swapped together, up to so many channels (figure 5)."""
    codes = random_codes(pairs, seed)
    distances = []
    for count in counts:
        chosen = best(blocks, count)
        mixed = codes.copy()
        for slots, channels in chosen:
            mixed[:, 0, slots, channels] = codes[:, 1, slots, channels]
        both = np.stack([codes[:, 0], mixed[:, 0]], axis=1)
        distances.append(float(swap_gaps(both, [(slice(None), slice(None))], recognizers)[0][0]))
    return distances


def best(blocks: Sequence[Block], channels: int) -> list[Part]:
    """The best blocks, so many channels of them."""
    return [one.part for one in blocks[: max(1, channels // blocks[0].width)]]


def write_table(blocks: Sequence[Block], path: Path) -> None:
    """As CSV, one line per block, best first."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["slot", "first", "width", "identity", "attributes", "score"])
        writer.writerows([b.slot, b.first, b.width, b.identity, b.attributes, b.score] for b in blocks)


@cache
def read_table(path: Path = TABLE) -> tuple[Block, ...]:
    """The blocks of a CSV that `write_table` wrote; the shipped one by default."""
    with path.open(newline="", encoding="utf-8") as file:
        return tuple(
            Block(
                *(int(r[n]) for n in ("slot", "first", "width")),
                *(float(r[n]) for n in ("identity", "attributes", "score")),
            )
            for r in csv.DictReader(file)
        )
