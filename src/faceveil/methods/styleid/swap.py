"""Swap one face: measure the source, choose a target that suits it, and render that in its place.

The target is moved to the source's pose and expression, fitted into its outline and put under its light.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np

from faceveil.faces import Alignment, Face, align_ffhq, with_mesh
from faceveil.faces.attributes import attributes, skin_angle
from faceveil.faces.face import Floats, Image
from faceveil.faces.mesh import SURE
from faceveil.methods.styleid.blend import face_mask
from faceveil.methods.styleid.check import embeddings
from faceveil.methods.styleid.control import control
from faceveil.methods.styleid.fit import fitted_mesh, warp
from faceveil.methods.styleid.light import relit
from faceveil.methods.styleid.looks import face_in_crop, looks, lower_face_shade
from faceveil.methods.styleid.targets import Person, pool
from faceveil.models.attributes import EXPRESSIONS
from faceveil.models.generator import Generator, as_wplus
from faceveil.models.mobilestylegan import SIZES
from faceveil.models.recognizers import recognizer

PREVIEW = 128  # px of the render on which pose and expression are measured and corrected
SUITABLE = 24  # targets among which the random draw is made
LARGEST = 1024
CARDS = ("mobilestylegan.ffhq-1024", "iris.64", "age.v1", "gender.v1", "expression.fer")


@dataclass(frozen=True, eq=False)
class Source:
    """One face to replace, with everything that is measured of it once."""

    image: Image  # the part of the photo around the face
    face: Face  # in that part's pixels
    alignment: Alignment
    crop: Image
    mesh: Floats  # 468 × 2, in the crop
    person: Person
    embeddings: dict[str, Floats]
    corner_xy: tuple[int, int]  # of the part in the photo


def look_at(image: Image, face: Face, recognizers: tuple[str, ...]) -> Source | None:
    """Measure a face; None where the mesh network sees none."""
    part, corner = _surroundings(image, face)
    shift = np.array(corner, np.float64)
    face = Face(face.box_xyxy - np.tile(shift, 2), face.points - shift, face.score, face.detector)
    face = with_mesh(part, [face])[0]
    if face.mesh is None or (face.presence or 0) < SURE:
        return None
    alignment = align_ffhq(face, 256)
    alignment = alignment.resized(_render_size(256 / alignment.zoom))
    seen = attributes(part, face)
    crop, mesh = alignment.crop(part), alignment.points_to_crop(face.mesh[:, :2])
    person = Person(
        looks(part, face), seen.age, seen.female, skin_angle(part, face),
        float(seen.expression[EXPRESSIONS.index("happy")]), lower_face_shade(crop, mesh),
    )  # fmt: skip
    return Source(part, face, alignment, crop, mesh, person, embeddings(part, face, recognizers), corner)


def choose(source: Source, rng: np.random.Generator, count: int, needed: float) -> list[int]:
    """Targets that suit, in random order; those that a recogniser would take for the source are left out."""
    targets = pool()
    unlike = targets.unlikeness(source.person)
    for name, embedding in source.embeddings.items():
        near = targets.distances(name, embedding) < needed * recognizer(name).threshold
        unlike[near] = np.inf
    suitable = np.argsort(unlike, kind="stable")[:SUITABLE]
    suitable = suitable[np.isfinite(unlike[suitable])]
    return [int(i) for i in rng.permutation(suitable)[:count]]


def replacement(source: Source, target: int) -> tuple[Image, np.ndarray]:
    """The target's face in the source's place: the crop and its mask."""
    targets = pool()
    wplus = as_wplus(targets.w[target][None])[0]
    wplus = control().moved(wplus, source.person.looks - targets.looks[target])
    size = source.alignment.size
    preview = _generator().render(wplus[None], PREVIEW)[0]
    seen = face_in_crop(preview)
    wplus = control().moved(wplus, 0.8 * (source.person.looks - looks(preview, seen)), furthest=1.0)
    crop = _generator().render(wplus[None], size)[0]
    face = face_in_crop(crop)
    assert face.mesh is not None
    points = source.alignment.points_to_crop(source.face.points)
    onto = fitted_mesh(face.mesh[:, :2], source.mesh, (face.points, points))
    fitted = warp(crop, face.mesh[:, :2], onto)
    lit = relit(fitted, onto, source.crop, source.mesh)
    return lit, face_mask(source.crop, source.mesh)


def _surroundings(image: Image, face: Face) -> tuple[Image, tuple[int, int]]:
    """The photo within two face sizes around the face: a large photo costs no more than a small one."""
    height, width = image.shape[:2]
    reach = 2.0 * max(face.size_wh) + 16
    left, top = np.clip(np.floor(face.centre - reach), 0, [width - 1, height - 1]).astype(int)
    right, bottom = np.clip(np.ceil(face.centre + reach), [left + 1, top + 1], [width, height]).astype(int)
    return np.ascontiguousarray(image[top:bottom, left:right]), (int(left), int(top))


def _render_size(side: float) -> int:
    """The smallest render that is not much coarser than the photo."""
    return next((size for size in SIZES if size >= 0.8 * side), LARGEST)


@cache
def _generator() -> Generator:
    return Generator()
