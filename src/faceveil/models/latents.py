"""Latents in a file: `faceveil encode` and `faceveil sample --latents` write it, `faceveil render` reads it.

An .npz of three arrays, with the same order in each:

    latents   N × 23 × 512   float32, W+
    names     N              unicode, unique; a relative path without suffix, `/` between folders
    errors    N              float32, error of the reconstruction (LPIPS at 256 px); NaN where there is none

It holds no pickles and is read without them.
"""

from collections import Counter
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path, PurePosixPath

import numpy as np

from faceveil.errors import UsageError
from faceveil.models.mobilestylegan import SLOTS, STYLE_DIM, Floats

KEYS = ("latents", "names", "errors")


@dataclass(frozen=True)
class Latents:
    """W+ codes with the name and the reconstruction error of each."""

    latents: Floats
    names: tuple[str, ...]
    errors: Floats

    def __post_init__(self) -> None:
        count = len(self.names)
        if self.latents.shape != (count, SLOTS, STYLE_DIM) or self.errors.shape != (count,):
            raise UsageError(
                f"{count} names need latents of shape ({count}, {SLOTS}, {STYLE_DIM}) and {count} errors, "
                f"not {self.latents.shape} and {self.errors.shape}."
            )
        if not np.isfinite(self.latents).all():
            raise UsageError(
                "latents must be finite numbers; some are NaN or infinite. Encode the photos again."
            )
        for name, times in Counter(self.names).items():
            if times > 1:
                raise UsageError(f"names must be unique; {name!r} stands {times} times.")
            _check_name(name)

    def to_bytes(self) -> bytes:
        """The file's content."""
        buffer = BytesIO()
        np.savez(buffer, latents=self.latents, names=np.array(self.names, np.str_), errors=self.errors)
        return buffer.getvalue()


def read_latents(path: Path) -> Latents:
    """Read such a file; anything else is refused with what is wrong about it."""
    if path.exists() and not path.is_file():  # reading a pipe would wait for its writer
        raise UsageError(f"{path} is a folder, pipe or device. Give a file.")
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            latents, names, errors = (stored[key] for key in KEYS)
    except FileNotFoundError as error:
        raise UsageError(
            f"{path} does not exist. `faceveil encode PHOTOS -o latents.npz` makes one."
        ) from error
    except Exception as error:  # damaged files raise all kinds of errors
        wanted = ", ".join(KEYS)
        raise UsageError(f"{path} is not a file of latents: an .npz of {wanted}, without pickles.") from error
    if latents.dtype.kind != "f" or names.dtype.kind != "U" or errors.dtype.kind != "f":
        raise UsageError(
            f"{path} holds {latents.dtype} latents, {names.dtype} names and {errors.dtype} errors; "
            "they must be floats, text and floats."
        )
    return Latents(latents.astype(np.float32), tuple(map(str, names)), errors.astype(np.float32))


def _check_name(name: str) -> None:
    """A name becomes a file name: it must stay inside the output folder on every system."""
    parts = PurePosixPath(name).parts
    if not parts or name.startswith("/") or ".." in parts or any(c in name for c in "\\:\0"):
        raise UsageError(
            f"{name!r} cannot name a latent: a name is a relative path without '..', ':' or a backslash."
        )
