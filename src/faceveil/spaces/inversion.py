"""From a photo's faces into the generator's latent space, and how near the render comes to each.

found = invert(image, find_faces(image), refine=20)
found.wplus       # N × 23 × 512
found.errors      # N, LPIPS at 256 px of the render against the aligned face
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from faceveil.errors import UsageError
from faceveil.faces import Face, align_ffhq
from faceveil.models.encoder import Encoder
from faceveil.models.generator import Generator
from faceveil.models.lpips import CARD as LPIPS
from faceveil.models.lpips import lpips
from faceveil.models.mobilestylegan import Floats
from faceveil.models.runtime import once

SIZE = 256
REFINED_BY = ("mobilenet.facelib", LPIPS)  # weights that the projector reads besides the encoder's


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
    """W+ of faces in FFHQ's alignment at 256 px, and what their renders lack."""
    wplus = codes_of(crops, refine)
    renders = list(_generator().render_each(wplus, SIZE))
    pairs = list(zip(crops, renders, strict=True))
    squares = [np.square(crop.astype(np.float32) - render).mean() for crop, render in pairs]
    looks = [lpips(crop, render) for crop, render in pairs]
    return Inversion(wplus, np.array(looks, np.float32), np.sqrt(np.array(squares, np.float32)))


def codes_of(crops: NDArray[np.uint8], refine: int = 0) -> Floats:
    """W+ of faces in FFHQ's alignment: the encoder's, then `refine` steps of the projector.

    Cost on one core: 0.02 s a face, 0.1 s for each of up to four steps, which ask no recogniser, and 0.2 s for each
    of more.
    """
    check_refinement(refine)
    wplus = encoder().encode(crops)
    if not refine or not len(crops):
        return wplus
    from faceveil.models.projector import FEW, QUICK, REFINE, project

    return project(crops, wplus, refine, QUICK if refine <= FEW else REFINE)


def check_refinement(steps: int) -> None:
    """Refuse what cannot be done before anything is."""
    if isinstance(steps, bool) or steps != int(steps) or steps < 0:
        raise UsageError(f"refinement takes 0 steps or more, not {steps}.")


@once
def encoder() -> Encoder:
    """One for the process."""
    return Encoder()


@once
def _generator() -> Generator:
    return Generator()
