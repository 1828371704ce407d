"""Harmony: the target's face and the source's surroundings as one picture.

A face laid over another leaves the old hairline, ears and neck beside its own. The encoder reads the two as one head:
its code renders the target's face with hair, outline and light that go with what stays of the photo. Where the code
tells features rather than frame or colour, the target's own is kept, for the encoder blurs them.
"""

from functools import cache

import cv2
import numpy as np

from faceveil.faces.face import Floats, Image
from faceveil.faces.regions import Mask
from faceveil.methods.styleid.blend import multiband
from faceveil.methods.styleid.fit import FACE_OUTLINE, fitted_mesh, warp, with_forehead
from faceveil.methods.styleid.light import relit
from faceveil.methods.styleid.looks import face_in_crop
from faceveil.models.encoder import INPUT_SIZE, Encoder
from faceveil.models.mobilestylegan import Floats as Vector

SIZE = INPUT_SIZE  # px
OWN = slice(2, 13)  # slots that stay the target's
INSET = 0.03  # of the outline's size, by which the face is cut smaller: no rim of the source is left inside


def harmonised(crop: Image, mesh: Floats, face: Image, wplus: Vector) -> Vector:
    """W+ (23 × 512) of the head in the source's crop with the face of a target.

    `mesh` is the source's, with forehead; `face` is the target's render from `wplus`.
    """
    scale = SIZE / crop.shape[0]
    small = np.asarray(cv2.resize(crop, (SIZE, SIZE), interpolation=cv2.INTER_AREA), np.uint8)
    there = mesh * scale
    seen = face_in_crop(face).mesh
    assert seen is not None
    own = with_forehead(seen)
    onto = fitted_mesh(own, there)
    lit = relit(warp(face, own, onto), onto, small, there)
    code = np.asarray(_encoder().encode(multiband(lit, small, _inside(there))[None])[0])
    code[OWN] = wplus[OWN]
    return code


def _inside(mesh: Floats) -> Mask:
    outline = mesh[FACE_OUTLINE]
    centre = outline.mean(axis=0)
    inner = centre + (1 - INSET) * (outline - centre)
    mask = np.zeros((SIZE, SIZE), np.uint8)
    cv2.fillPoly(mask, [np.rint((inner - 0.5) * 16).astype(np.int32)], 255, lineType=cv2.LINE_AA, shift=4)
    return mask


@cache
def _encoder() -> Encoder:
    return Encoder()
