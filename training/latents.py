"""The W+ codes that training draws: an index gives the same code on every machine and after every restart."""

import numpy as np

from faceveil.models.generator import Generator
from faceveil.models.mobilestylegan import SLOTS, Floats


def mixed_wplus(generator: Generator, seed: int, indices: range) -> Floats:
    """W+ (N × 23 × 512): one to three draws of W per code, truncation 0.7 to 1, joined at random slots."""
    return np.stack([_one(generator, np.random.default_rng([seed, index])) for index in indices])


def _one(generator: Generator, rng: np.random.Generator) -> Floats:
    parts = rng.integers(1, 4)
    w = generator.truncate(generator.mapping(generator.sample_z(parts, rng)), rng.uniform(0.7, 1.0))
    ends = np.sort(rng.integers(0, SLOTS + 1, parts - 1))
    return w[np.searchsorted(ends, np.arange(SLOTS), side="right")]
