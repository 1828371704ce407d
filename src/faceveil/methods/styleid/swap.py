"""Swap one face: measure the source, choose a target that suits it, move it to the source's pose, fit it in."""

from dataclasses import dataclass
from functools import cache

import numpy as np

from faceveil.faces import Alignment, Face, align_ffhq, with_mesh
from faceveil.faces.attributes import attributes, skin_angle
from faceveil.faces.face import Floats, Image
from faceveil.faces.mesh import SURE
from faceveil.faces.regions import Mask
from faceveil.methods.styleid.blend import face_mask, seamless, without_hair
from faceveil.methods.styleid.check import embeddings
from faceveil.methods.styleid.control import control
from faceveil.methods.styleid.fit import fitted_mesh, warp, with_forehead
from faceveil.methods.styleid.light import relit
from faceveil.methods.styleid.looks import face_in_crop, looks, lower_face_shade, traits
from faceveil.methods.styleid.targets import Person, origin, pool
from faceveil.models.generator import Generator, as_wplus
from faceveil.models.mobilestylegan import SIZES
from faceveil.models.mobilestylegan import Floats as Vector
from faceveil.models.recognizers import recognizer

PREVIEW = 128  # px of the render on which pose and expression are measured and corrected
SUITABLE, FURTHEST = (
    (32, 200),
    10,
)  # targets that suit best, at first and later; how many of them are drawn from
CORRECTION = 0.8  # of what the preview is off; directions are not quite independent
PUSH, PUSH_MORE = (
    1.0,
    0.5,
)  # whitened units away from the source, and more with each further try: far squeezes eyes
# How far each trait may be moved at first and after the preview, in deviations: age and smile read too coarsely.
FIRST = np.array([2.0] * 8 + [0.7, 1.0])
SECOND = np.array([1.0] * 8 + [0.2, 0.3])
LARGEST = 1024
CARDS = ("mobilestylegan.ffhq-1024", "iris.64", "age.v1", "gender.v1", "expression.fer")


@dataclass(frozen=True, eq=False)
class Source:
    """One face to replace, with everything that is measured of it once."""

    image: Image  # the part of the photo around the face
    face: Face  # in that part's pixels
    alignment: Alignment
    crop: Image
    mesh: Floats  # with forehead, in the crop
    person: Person
    embeddings: dict[str, Vector]
    corner_xy: tuple[int, int]  # of the part in the photo


@dataclass(frozen=True, eq=False)
class Fitted:
    """A new face in the source's crop, where it replaces the old one, and its mesh there."""

    crop: Image
    mask: Mask
    mesh: Floats


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
    crop, mesh = alignment.crop(part), with_forehead(alignment.points_to_crop(face.mesh[:, :2]))
    person = Person(
        looks(part, face), seen.age, seen.female, skin_angle(part, face), seen.expression,
        lower_face_shade(crop, mesh), origin(crop),
    )  # fmt: skip
    return Source(part, face, alignment, crop, mesh, person, embeddings(part, face, recognizers), corner)


def choose(source: Source, rng: np.random.Generator, count: int) -> list[int]:
    """Targets to try, in order: of those that suit best the ones furthest from the source, drawn at random.

    What stays of the source (hair, outline, light) brings a swapped face nearer to it, so being a stranger is
    not enough. The second half of the tries comes from a wider choice, of which some are further away.
    """
    targets = pool()
    unlike = targets.unlikeness(source.person)
    order = np.argsort(unlike, kind="stable")
    order = order[np.isfinite(unlike[order])]
    margins = [
        targets.distances(name, embedding) / recognizer(name).threshold
        for name, embedding in source.embeddings.items()
    ]
    far = np.min(margins, axis=0) if margins else np.zeros(len(targets))
    chosen: list[int] = []
    for suitable in SUITABLE:
        best = order[:suitable]
        furthest = best[np.argsort(-far[best], kind="stable")[:FURTHEST]]
        drawn = [int(i) for i in rng.permutation(furthest) if int(i) not in chosen]
        chosen += drawn[: -(-count // len(SUITABLE))]
    return chosen[:count]


def moved_render(source: Source, target: int, push: float = PUSH) -> Image:
    """The target in the source's pose, expression and age, after one look at a small render."""
    wanted, targets = source.person.traits, pool()
    wplus = as_wplus(targets.w[target][None])[0]
    wplus = control().pushed(wplus, source.embeddings, push)
    wplus = control().moved(wplus, wanted - targets.traits(target), FIRST)
    preview = generator().render(wplus[None], PREVIEW)[0]
    off = wanted - traits(preview, face_in_crop(preview))
    wplus = control().moved(wplus, CORRECTION * off, SECOND)
    return np.asarray(generator().render(wplus[None], source.alignment.size)[0])


def fitted(source: Source, crop: Image) -> Fitted:
    """A rendered face laid into the source's outline, under its light, with a seam nobody sees."""
    face = face_in_crop(crop)
    assert face.mesh is not None
    points = source.alignment.points_to_crop(source.face.points)
    mesh = with_forehead(face.mesh)
    onto = fitted_mesh(mesh, source.mesh, (face.points, points))
    lit = relit(warp(crop, mesh, onto), onto, source.crop, source.mesh)
    mask = without_hair(face_mask(source.crop, source.mesh), lit, onto)
    return Fitted(seamless(lit, source.crop, source.mesh, mask), mask, onto)


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
def generator() -> Generator:
    return Generator()
