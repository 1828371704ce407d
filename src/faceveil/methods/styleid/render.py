"""Render a new face as part of its photo: see `faces/joined.py`."""

import cv2
import numpy as np

from faceveil.faces.detail import matched
from faceveil.faces.face import Floats, Image
from faceveil.faces.joined import SMALLEST, joined, network, resized
from faceveil.faces.light import met, toned
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
    crop = joined(wplus, source.small, source.share, source.light, source.alignment.size)
    crop = fitted(crop, source.mesh)
    crop = met(toned(crop, source.small, source.skin), source.small, source.share, source.bared)
    return matched(crop, source.crop, source.skin)


def fitted(render: Image, mesh: Floats) -> Image:
    """The render moved, scaled and slanted so that its face's outline and eyes lie where those of `mesh` do: beside a
    face that is narrower or elsewhere, what is around it would show twice."""
    found = face_in_crop(render).mesh
    assert found is not None
    here = np.column_stack([found[FITTED, :2], np.ones(len(FITTED))])
    there, *_ = np.linalg.lstsq(here, mesh[FITTED], rcond=None)
    size = render.shape[1::-1]
    return np.asarray(
        cv2.warpAffine(render, there.T, size, flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE),
        np.uint8,
    )


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
