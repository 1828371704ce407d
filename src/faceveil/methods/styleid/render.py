"""Render a new face as part of its photo: see `faces/joined.py`."""

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from faceveil.faces.detail import matched
from faceveil.faces.face import Floats, Image
from faceveil.faces.joined import SMALLEST, joined, network, resized
from faceveil.faces.light import light_of, met, toned
from faceveil.faces.paste import paste
from faceveil.faces.regions import LEFT_EYE, OVAL, RIGHT_EYE
from faceveil.methods.styleid.looks import face_in_crop
from faceveil.methods.styleid.measure import Source
from faceveil.models.generator import Generator
from faceveil.models.mobilestylegan import Floats as Code
from faceveil.models.runtime import allowed_threads, once

FITTED = [*OVAL, *RIGHT_EYE, *LEFT_EYE]  # of the mesh
PREVIEW, SKETCH = 128, 64  # px of a small picture of a code, and of its render


def in_crop(source: Source, wplus: Code) -> Image:
    """A code's face rendered for a photo: with what is around the photo's face, in its light, as sharp."""
    where = seat(wplus, source.mesh / source.alignment.size)
    photo, skin = moved(source.small, where), moved(source.skin.astype(np.float32), where) > 0.5
    face = np.clip(moved(source.share, where), 0, 1)
    crop = moved(joined(wplus, photo, face, light_of(photo, skin), source.alignment.size), where, back=True)
    crop = met(toned(crop, source.small, source.skin), source.small, source.share, source.bared)
    return matched(crop, source.crop, source.skin)


def seat(wplus: Code, mesh: Floats) -> Floats:
    """From where to look at a crop (2 × 3, in its sides) so that outline and eyes of its face (`mesh`, in the same)
    lie where those of a code's face do: beside a face that is narrower, what is around it would show twice."""
    plain = small(wplus)
    found = face_in_crop(plain).mesh
    assert found is not None
    here = np.column_stack([mesh[FITTED], np.ones(len(FITTED))])
    fit, *_ = np.linalg.lstsq(here, found[FITTED, :2] / plain.shape[0], rcond=None)
    return np.asarray(fit.T, np.float64)


def moved(picture: NDArray[Any], where: Floats, *, back: bool = False) -> NDArray[Any]:
    """A square picture as it is seen from there; or what was seen from there, as it was before."""
    side = picture.shape[0]
    matrix = where * [1, 1, side]
    how = cv2.INTER_CUBIC | (cv2.WARP_INVERSE_MAP if back else 0)
    return cv2.warpAffine(picture, matrix, (side, side), flags=how, borderMode=cv2.BORDER_REPLICATE)


def in_photo(source: Source, wplus: Code) -> Image:
    """The part of the photo around a face with a code's face in its place."""
    return paste(source.image, in_crop(source, wplus), source.alignment, source.mask, feather=0)


def small(wplus: Code) -> Image:
    """A cheap look at a code, by itself."""
    return resized(generator().render(wplus[None], SKETCH)[0], PREVIEW)


def prepare() -> None:
    """Compile what most faces need."""
    network(SMALLEST)
    generator().compiled(SKETCH)


@once
def generator() -> Generator:
    """One for the process, for as many threads as work in it."""
    return Generator(allowed_threads(), "bf16")
