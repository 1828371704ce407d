"""Measure a face that is to be replaced, once: all that later steps want to know of it."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import cv2
import numpy as np
from numpy.typing import NDArray

from faceveil.faces import Alignment, Face, align_ffhq, with_mesh
from faceveil.faces.attributes import attributes, skin_angle
from faceveil.faces.face import Floats, Image
from faceveil.faces.light import SKINS, Light, light_of
from faceveil.faces.mesh import SURE
from faceveil.faces.regions import Mask
from faceveil.methods.styleid.check import embeddings
from faceveil.methods.styleid.looks import closely, looks, lower_face_shade
from faceveil.methods.styleid.occluders import with_occluders
from faceveil.methods.styleid.paste import Share, as_mask, face_share, glasses_kept
from faceveil.methods.styleid.targets import Person, by_two, in_cells, labels
from faceveil.models.encoder import Encoder
from faceveil.models.mobilestylegan import SIZES
from faceveil.models.mobilestylegan import Floats as Code
from faceveil.models.parser import EARS, HAIR, NECK, SIZE, Shares, parse
from faceveil.models.runtime import once
from faceveil.models.segmenter import parts

if TYPE_CHECKING:
    from faceveil.methods.styleid.move import Sketch

LARGEST = 1024  # px of a crop
COARSER = 0.8  # of the crop that shows each of the photo's pixels, down to which it may be smaller
LEAST_HAIR = 0.01  # of the crop: less does not tell the hair's colour


@dataclass(frozen=True, eq=False)
class Source:
    """One face to replace."""

    image: Image  # the part of the photo around the face
    face: Face  # in that part's pixels
    alignment: Alignment
    crop: Image
    mesh: Floats  # in the crop
    shares: Shares  # what each pixel of the crop shows
    person: Person
    share: Share  # how much of each pixel, at SIZE px, is to be the new face's
    embeddings: dict[str, Code]
    corner_xy: tuple[int, int]  # of the part in the photo
    frame: bool  # whether that of its clear glasses stays
    sketches: dict[tuple[int, int], "Sketch"] = field(default_factory=dict, init=False)  # by target and turn

    @cached_property
    def small(self) -> Image:
        """The crop at SIZE px."""
        return self.alignment.resized(SIZE).crop(self.image)

    @cached_property
    def small_face(self) -> Face:
        """The face in that."""
        alignment = self.alignment.resized(SIZE)
        box = np.array([0, 0, SIZE, SIZE], np.float64)
        return Face(box, alignment.points_to_crop(self.face.points), self.face.score, self.face.detector)

    def with_face(self, crop: Image) -> Image:
        """The small crop with the face of another, of any size, laid in."""
        face = cv2.resize(crop, (SIZE, SIZE), interpolation=cv2.INTER_LINEAR).astype(np.float32)
        return np.asarray(self.small + self.share[..., None] * (face - self.small), np.uint8)

    @cached_property
    def code(self) -> Code:
        """As the encoder reads it, 23 × 512."""
        return np.asarray(encoder().encode(self.small[None])[0])

    @cached_property
    def light(self) -> Light:
        """On its skin, as it is told to the render."""
        return light_of(self.small, self.skin)

    @cached_property
    def skin(self) -> NDArray[np.bool_]:
        """Where the face's skin is seen, at SIZE px."""
        return np.isin(self.shares.argmax(axis=0), SKINS)

    @cached_property
    def bared(self) -> NDArray[np.bool_]:
        """Where any skin is seen, of ears and neck too."""
        return np.isin(self.shares.argmax(axis=0), (*SKINS, *EARS, NECK))

    @cached_property
    def bare(self) -> "Source":
        """The same with no frame of clear glasses that stays."""
        if not self.frame:
            return self
        share = face_share(
            self.shares, self.mesh * (SIZE / self.alignment.size), np.zeros((SIZE, SIZE), bool)
        )
        person = replace(self.person, glasses_stay=False, face=in_cells(share))
        return replace(self, share=share, person=person, frame=False)

    @property
    def mask(self) -> Mask:
        """The same in the crop."""
        return as_mask(self.share, self.alignment.size)


def measure(image: Image, face: Face, recognizers: Sequence[str]) -> Source | None:
    """Everything about a face; None where the mesh network sees none."""
    part, corner = _surroundings(image, face)
    shift = np.array(corner, np.float64)
    face = Face(face.box_xyxy - np.tile(shift, 2), face.points - shift, face.score, face.detector)
    wide = with_mesh(part, [face])[0]
    face = closely(part, wide)
    if face.mesh is None or (face.presence or 0) < SURE:
        return None
    alignment = align_ffhq(face, SIZE)
    alignment = alignment.resized(_crop_size(SIZE / alignment.zoom))
    crop, mesh = alignment.crop(part), alignment.points_to_crop(face.mesh[:, :2])
    shown, small_mesh = labels(crop), mesh * (SIZE / alignment.size)
    single = alignment.crop(part, cv2.BORDER_REPLICATE)  # mirrored faces confuse what names pixels
    seen_parts = parts(single)
    shares = with_occluders(parse(single), seen_parts, small_mesh)
    glasses, dark = glasses_kept(alignment.resized(SIZE).crop(part), shares, seen_parts)
    share = face_share(shares, small_mesh, glasses)
    seen = by_two(attributes(part, face), shown)
    person = Person(
        looks(part, face), seen.age, seen.female, skin_angle(part, face), seen.expression,
        lower_face_shade(crop, mesh), shown, hair_colour(crop, shares), looks(part, wide),
        bool(glasses.any()), in_cells(share),
    )  # fmt: skip
    vectors = embeddings(part, face, recognizers)
    return Source(
        part,
        face,
        alignment,
        crop,
        mesh,
        shares,
        person,
        share,
        vectors,
        corner,
        bool(glasses.any() and not dark),
    )


def hair_colour(crop: Image, shares: Shares) -> NDArray[np.float64]:
    """The mean of the hair's colours, in Lab; not a number where there is too little to tell."""
    hair = shares[HAIR]
    if hair.mean() < LEAST_HAIR:
        return np.full(3, np.nan)
    small = cv2.resize(crop, (SIZE, SIZE), interpolation=cv2.INTER_AREA).astype(np.float32) / 255
    lab = np.asarray(cv2.cvtColor(small, cv2.COLOR_RGB2LAB), np.float64)
    return np.asarray(np.einsum("ij,ijk->k", hair, lab) / hair.sum(), np.float64)


def _surroundings(image: Image, face: Face) -> tuple[Image, tuple[int, int]]:
    """The photo within two face sizes around the face: a large photo costs no more than a small one."""
    height, width = image.shape[:2]
    reach = 2.0 * max(face.size_wh) + 16
    left, top = np.clip(np.floor(face.centre - reach), 0, [width - 1, height - 1]).astype(int)
    right, bottom = np.clip(np.ceil(face.centre + reach), [left + 1, top + 1], [width, height]).astype(int)
    return np.ascontiguousarray(image[top:bottom, left:right]), (int(left), int(top))


def _crop_size(side: float) -> int:
    """The smallest that loses little of the photo."""
    return next((size for size in SIZES if size >= max(SIZE, COARSER * side)), LARGEST)


@once
def encoder() -> Encoder:
    """One for the process."""
    return Encoder()
