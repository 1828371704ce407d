"""latent: W+ of the generator (LATENT of MIKU, the space AnonFACES mixes in)."""

from collections.abc import Hashable
from typing import ClassVar

import numpy as np

from faceveil.faces import FaceSet
from faceveil.faces.face_set import CROP_SIZE
from faceveil.models import mobilefacenet
from faceveil.models.generator import Generator, as_wplus, cores
from faceveil.models.mobilestylegan import SLOTS, STYLE_DIM
from faceveil.models.runtime import once
from faceveil.spaces.inversion import REFINED_BY, check_refinement, codes_of
from faceveil.spaces.space import Crops, SynthesisSpace, Vectors

NATURAL = 0.8  # truncation of made-up people: natural, and not too like each other


class LatentSpace(SynthesisSpace):
    """23 × 512 numbers, in one row, through the encoder; the generator draws them at 256 px.

    Cost: 0.02 s to encode and 0.16 s to decode a face on one core, 47 kB to keep its vector.
    decode∘encode shows a like person in like pose and light, not the same pixels. `refine` steps of gradient descent
    bring it nearer (20 are a good number); they take about 0.2 s each.
    """

    id: ClassVar[str] = "latent"
    crisp: ClassVar[bool] = True

    def __init__(self, refine: int = 0) -> None:
        check_refinement(refine)
        self.refine = refine

    @property
    def key(self) -> Hashable:
        """Refined codes are dear, and kept for who asks again; the encoder's are not worth their memory."""
        return ("latent", self.refine) if self.refine else None

    @property
    def cards(self) -> tuple[str, ...]:
        """The generator's, the recogniser's that the encoder reads, and the projector's; the encoder itself ships."""
        return ("mobilestylegan.ffhq-1024", mobilefacenet.CARD, *(REFINED_BY if self.refine else ()))

    def _encode(self, faces: FaceSet) -> Vectors:
        return codes_of(np.ascontiguousarray(faces.crops), self.refine).reshape(len(faces), -1)

    def decode(self, vectors: Vectors) -> Crops:
        """Draw the faces."""
        return generator().render(vectors.reshape(-1, SLOTS, STYLE_DIM), CROP_SIZE)

    def strangers(self, count: int, rng: np.random.Generator) -> Vectors:
        """Codes of people who do not exist."""
        made = generator()
        w = made.truncate(made.mapping(made.sample_z(count, rng)), NATURAL)
        return as_wplus(w).reshape(count, -1)


@once
def generator() -> Generator:
    """One for the process; several threads may draw with it at a time."""
    return Generator(threads=cores())
