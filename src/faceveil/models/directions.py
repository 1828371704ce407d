"""Directions of W+ along which a face turns or smiles (made by training/directions.py).

    carried = carry_over("pose", mix, own)     # the mix, looking where `own` looks
    frontal = look_ahead(mix)                  # the mix, looking where the mean face looks

Only the few numbers that a direction reads (yaw and pitch; smile and opening of the mouth) pass from one code to
the other.
"""

from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np

from faceveil.models.mobilestylegan import Floats
from faceveil.models.npz import opened
from faceveil.models.wspace import w_space

DATA = Path(__file__).with_name("data") / "directions.npz"
Direction = Literal["pose", "expression"]


def carry_over(name: Direction, code: Floats, own: Floats) -> Floats:
    """The W+ `code` (23 × 512), changed until it reads as `own` does along this direction."""
    read, move = _direction(name)
    gap = np.tensordot(read, own - code, 2)
    return np.asarray(code + np.tensordot(gap, move, 1), np.float32)


def look_ahead(code: Floats) -> Floats:
    """The W+ `code` (23 × 512), looking straight ahead as the mean face does: turns of 12° to 34° become 1° to 9°."""
    return carry_over("pose", code, w_space().mean)


def turned(code: Floats, yaw: float, pitch: float) -> Floats:
    """The W+ `code` (23 × 512) looking so many degrees aside and up, from straight ahead."""
    _, move = _direction("pose")
    return np.asarray(
        look_ahead(code) + np.tensordot(np.array([yaw, pitch], np.float32), move, 1), np.float32
    )


@cache
def _direction(name: Direction) -> tuple[Floats, Floats]:
    with opened(DATA) as stored:
        return stored[f"{name}.read"].astype(np.float32), stored[f"{name}.move"].astype(np.float32)
