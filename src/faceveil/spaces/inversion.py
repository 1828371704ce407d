"""From a photo's faces into the generator's latent space, and how near the render comes to each.

found = invert(image, find_faces(image), refine=20)
found.wplus       # N × 23 × 512
found.errors      # N, LPIPS at 256 px of the render against the aligned face
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from faceveil.errors import UsageError
from faceveil.faces import Face, align_ffhq
from faceveil.models.encoder import Encoder
from faceveil.models.generator import Generator
from faceveil.models.lpips import lpips
from faceveil.models.mobilestylegan import Floats

SIZE = 256


@dataclass(frozen=True, eq=False)
class Inversion:
    """The codes of faces, with the errors of their renders at 256 px."""

    wplus: Floats  # N × 23 × 512
    errors: Floats  # N, LPIPS
    pixel_errors: Floats  # N, root mean square of 0..255


def invert(image: NDArray[np.uint8], faces: list[Face], refine: int = 0) -> Inversion:
    """W+ of each face of a photo (RGB, uint8, H×W×3)."""
    crops = [align_ffhq(face, SIZE).crop(image) for face in faces]
    return invert_crops(np.stack(crops) if crops else np.zeros((0, SIZE, SIZE, 3), np.uint8), refine)


def invert_crops(crops: NDArray[np.uint8], refine: int = 0) -> Inversion:
    """W+ of faces in FFHQ's alignment at 256 px: the encoder's, then `refine` steps of the projector.

    Cost on one core: 0.02 s a face, and about 0.2 s for each step of refinement, which needs torch.
    """
    if refine < 0:
        raise UsageError(f"refinement takes 0 steps or more, not {refine}.")
    wplus = encoder().encode(crops)
    if refine and len(crops):
        from faceveil.models.torch.projector import project

        wplus = project(crops, wplus, refine)
    renders = list(_generator().render_each(wplus, SIZE))
    pairs = list(zip(crops, renders, strict=True))
    squares = [np.square(crop.astype(np.float32) - render).mean() for crop, render in pairs]
    looks = [lpips(crop, render) for crop, render in pairs]
    return Inversion(wplus, np.array(looks, np.float32), np.sqrt(np.array(squares, np.float32)))


@cache
def encoder() -> Encoder:
    """One for the process."""
    return Encoder()


@cache
def _generator() -> Generator:
    return Generator()
