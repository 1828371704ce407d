"""Harmony: the target's face and the source's surroundings as one picture.

A face laid over another leaves the old hairline, ears and neck beside its own. So a first picture of the target is
laid into the source's outline, and the encoder reads the two as one head: hair, outline and light of its code go with
what stays of the photo. Only those are taken from it; the slots of the features stay the target's, for the encoder
blurs them, and reads a little of the source into them.
"""

import cv2
import numpy as np

from faceveil.faces.face import Floats, Image
from faceveil.methods.styleid.blend import multiband
from faceveil.methods.styleid.fit import fitted_mesh, warp, within
from faceveil.methods.styleid.light import Light, relit
from faceveil.models.encoder import INPUT_SIZE, Encoder
from faceveil.models.mobilestylegan import Floats as Vector
from faceveil.models.runtime import once

SIZE = INPUT_SIZE  # px
FEATURES = slice(2, 13)  # slots that stay the target's
INSET = (
    0.03  # of the outline's size, by which the face is cut smaller: none of the target's own hair comes in
)


def harmonised(
    crop: Image, mesh: Floats, light: Light, face: Image, face_mesh: Floats, wplus: Vector
) -> Vector:
    """The target's code (23 × 512) with the slots of frame and colour that go with the source's crop and its light.

    Meshes are those with forehead; `face` is a small picture of the target, as large as the encoder reads.
    """
    small = np.asarray(cv2.resize(crop, (SIZE, SIZE), interpolation=cv2.INTER_AREA), np.uint8)
    there = mesh * (SIZE / crop.shape[0])
    onto = fitted_mesh(face_mesh, there)
    lit = relit(warp(face, face_mesh, onto), onto, light)
    inside = within(there, SIZE, 1 - INSET)
    code = np.asarray(encoder().encode(multiband(lit, small, inside)[None])[0])
    code[FEATURES] = wplus[FEATURES]
    return code


@once
def encoder() -> Encoder:
    """The one that reads heads."""
    return Encoder()
