"""Examples for the swapper: generated sources, targets that suit them, and the mask method's result as the truth.

    RUN/examples.npz   source, target, change: N × 23 × 512 in half precision; before, after: N × 64 × 64 × 3

`source` is exact for every other example and the encoder's reading of the render for the others, as users' photos
come to it. `change` is what the mask method did to the code, as the encoder reads both pictures. Example i is the
same wherever it is made; the last tenth of the pool is kept for examples that judge.
"""

from dataclasses import dataclass, fields
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from faceveil.faces.face import Image
from faceveil.methods.styleid.layers import LAYERS, TRUNCATION
from faceveil.methods.styleid.looks import face_in_crop
from faceveil.methods.styleid.measure import measure
from faceveil.methods.styleid.method import window
from faceveil.methods.styleid.render import PREVIEW, generator, in_photo
from faceveil.methods.styleid.targets import Person, pool
from faceveil.models.encoder import Encoder
from faceveil.models.generator import as_wplus
from faceveil.models.mobilestylegan import Floats

SIZE = 64  # px of the pictures that training compares
SUITABLE = 100  # targets that suit best, of which one is drawn
SEED = 7
HELD_OUT = 10  # one part in this many of the pool
CHUNK = 100


@dataclass(frozen=True, eq=False)
class Examples:
    """Rows go together."""

    source: NDArray[np.float16]
    target: NDArray[np.float16]
    change: NDArray[np.float16]
    before: NDArray[np.uint8]
    after: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.source)


def make(run: Path, count: int, *, held_out: bool = False) -> Examples:
    """So many examples; what RUN already holds is not made again."""
    path = run / ("held-out.npz" if held_out else "examples.npz")
    rows = _rows(path)
    for index in range(len(rows), count):
        rows.append(one(index, held_out))
        if len(rows) % CHUNK == 0 or len(rows) == count:
            _save(rows, path)
            print(f"{path.name}: {len(rows)} of {count}", flush=True)
    return Examples(*(np.stack(column) for column in zip(*rows[:count], strict=True)))


def one(index: int, held_out: bool) -> tuple[NDArray, ...]:
    """One example, in the order of the fields; a face that cannot be measured makes way for another draw."""
    rng = np.random.default_rng([SEED, int(held_out), index])
    while True:
        exact = source_code(rng)
        before = generator().render(exact[None], PREVIEW)[0]
        source = measure(before, face_in_crop(before), ())
        if source is None:
            continue
        target = pool().codes[suitable(source.person, rng, held_out)]
        mixed = exact.copy()
        mixed[window(LAYERS)] = target[window(LAYERS)]
        after = in_photo(source, mixed)
        codes = Encoder().encode(np.stack([before, after]))
        code = exact if index % 2 else codes[0]
        halves = [np.float16(array) for array in (code, target, codes[1] - codes[0])]
        return (*halves, shrunk(before), shrunk(after))


def source_code(rng: np.random.Generator) -> Floats:
    """W+ of one draw, truncated to between the pool's share and none."""
    w = generator().mapping(generator().sample_z(1, rng))
    return as_wplus(generator().truncate(w, rng.uniform(TRUNCATION, 1.0)))[0]


def suitable(person: Person, rng: np.random.Generator, held_out: bool) -> int:
    """One of the targets that suit a person best, from the part of the pool that training or judging may see."""
    unlike = pool().unlikeness(person)
    judging = np.arange(len(unlike)) >= len(unlike) * (HELD_OUT - 1) // HELD_OUT
    order = np.flatnonzero(judging == held_out)
    order = order[np.argsort(unlike[order], kind="stable")][: SUITABLE // (HELD_OUT if held_out else 1)]
    return int(rng.choice(order))


def shrunk(image: Image) -> Image:
    """Averaged down to SIZE."""
    return np.asarray(cv2.resize(image, (SIZE, SIZE), interpolation=cv2.INTER_AREA), np.uint8)


def _rows(path: Path) -> list[tuple[NDArray, ...]]:
    if not path.exists():
        return []
    with np.load(path) as stored:
        return list(zip(*(stored[field.name] for field in fields(Examples)), strict=True))


def _save(rows: list[tuple[NDArray, ...]], path: Path) -> None:
    columns = [np.stack(column) for column in zip(*rows, strict=True)]
    partial = path.with_suffix(".partial.npz")
    np.savez(partial, **{field.name: column for field, column in zip(fields(Examples), columns, strict=True)})
    partial.replace(path)
