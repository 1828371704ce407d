"""Swap one face: measure the source, choose a target that suits it, move it to the source's pose, fit it in."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from heapq import heappop, heappush
from itertools import chain, islice

import cv2
import numpy as np
from numpy.typing import NDArray

from faceveil.faces import Alignment, Face, align_ffhq, with_mesh
from faceveil.faces.attributes import Attributes, attributes, skin_angle
from faceveil.faces.face import Floats, Image
from faceveil.faces.mesh import SURE
from faceveil.faces.regions import OVAL, Mask
from faceveil.faces.sharpness import detail, no_sharper
from faceveil.methods.styleid.blend import Pictured, hair_colour, put_in, with_hair_of
from faceveil.methods.styleid.check import embeddings, margins, same_gender
from faceveil.methods.styleid.choice import TRIED, shortlists
from faceveil.methods.styleid.control import control, step_to_people
from faceveil.methods.styleid.fit import fitted_mesh, looking, warp, with_forehead
from faceveil.methods.styleid.harmony import encoder, harmonised
from faceveil.methods.styleid.light import (
    PATCHY,
    Depth,
    Light,
    Weights,
    as_deep_as,
    depth_of,
    light_on,
    relit,
    with_lips_of,
)
from faceveil.methods.styleid.looks import (
    EYES,
    FELT,
    GAZE_X,
    GAZE_Y,
    KIND,
    MOODS,
    MOUTH,
    NAMES,
    OF_KIND,
    PITCH,
    TEETH,
    YAW,
    closely,
    face_in_crop,
    looks,
    lower_face_shade,
    traits,
)
from faceveil.methods.styleid.retouch import SKETCH, expression_slope, retouched
from faceveil.methods.styleid.stranger import IDENTITY, away_slope, estranged
from faceveil.methods.styleid.targets import KIND_LABELS, Person, by_two, kind_of, labels, pool
from faceveil.models.attributes import EXPRESSIONS
from faceveil.models.generator import Generator
from faceveil.models.mobilefacenet import CARD as ATTRNET_READS
from faceveil.models.mobilestylegan import SIZES, SLOTS
from faceveil.models.mobilestylegan import Floats as Vector
from faceveil.models.runtime import allowed_threads, once
from faceveil.models.segmenter import person_mask

PREVIEW = 128  # px of a small render
TYPICAL = 0.92  # of what a target differs from the mean face: less looks more natural, and more alike
CORRECTION = 0.8  # of what the sketch is off; directions are not quite independent
AWAY = (
    1.0,
    1.7,
    2.5,
    3.5,
)  # deviations of people from the source, for each of choice.CHOICES; far squeezes eyes
# How much of each trait's difference is moved. Mouth width and eye opening are as much shape as expression, and
# taken over whole they bring a person's AUC up by 0.07 to 0.1.
SHARE = np.array([1.0, 1.0, 1.0, 0.3, 0.7, 1.0, 0.3, 1.0, 1.0, 1.0] + [1.0] * len(KIND + MOODS))
# How far each trait may be moved at first and after the sketch, in deviations: age reads too coarsely.
FIRST = np.array([2.0] * len(NAMES) + [1.0] + [2.0] * len(KIND + MOODS))
SECOND = np.array([1.0] * len(NAMES) + [0.6] + [1.0] * len(KIND + MOODS))
# What one unit of a sketch's cost is: thresholds that are missing to WANTED, years, patches of light beyond
# PATCHY, degrees; and what another class costs.
WANTED, MARGIN_UNIT, YEARS_UNIT, PATCHY_UNIT, DEGREES_UNIT = 1.4, 0.1, 3.0, 0.04, 5.0
SHUT_UNIT, GRIN_UNIT = 0.02, 0.7  # eye widths by which eyes are less open, and of looks.teeth
DEEP, DEPTH_UNIT = 0.6, 0.025  # of eyes, in log lightness: paler ones look washed out or squint
OTHER_EXPRESSION, OTHER_ORIGIN, OTHER_GENDER, OTHER_KIND = 8.0, 8.0, 8.0, 3.0
RIVAL = np.log(2.0)  # a mood that shows half as much as the source's
LARGEST = 1024
# Detail that nine of ten renders of half the side still have, enlarged to this one.
OF_HALF = {256: 2.1, 512: 1.6, 1024: 1.1}
MOST_GAZE, MOST_OPENED = 0.2, 0.03  # eye widths by which irises and lids are moved at most
CARDS = (
    "mobilestylegan.ffhq-1024",
    "iris.64",
    "age.v1",
    "gender.v1",
    "expression.fer",
    "selfie.256",
    ATTRNET_READS,
)


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
    pictured: Pictured  # the crop as it is blended with others
    sketches: dict[tuple[int, int], "Sketch"] = field(default_factory=dict, init=False)  # by target and turn

    @cached_property
    def light(self) -> Light:
        """That on its skin."""
        return light_on(self.crop, self.mesh)

    @cached_property
    def depth(self) -> Depth:
        """Of its eyes and brows."""
        return depth_of(self.crop, self.mesh, self.light)

    @cached_property
    def middle(self) -> NDArray[np.bool_]:
        """Where the face is in the crop."""
        mask = np.zeros(self.crop.shape[:2], np.uint8)
        return np.asarray(cv2.fillPoly(mask, [np.rint(self.mesh[OVAL]).astype(np.int32)], 1) > 0)

    @cached_property
    def detail(self) -> float:
        """How fine the photo is there."""
        return detail(self.crop, self.middle)

    @property
    def render_size(self) -> int:
        """A soft photo shows no more than half the side does, enlarged."""
        size = self.alignment.size
        return size // 2 if self.detail <= OF_HALF.get(size, 0.0) else size


@dataclass(frozen=True, eq=False)
class Sketch:
    """A target moved towards the source, as a small render shows it."""

    wplus: Vector
    crop: Image
    face: Face  # in the crop, with its mesh
    mesh: Floats  # with forehead
    seen: Attributes
    labels: Vector  # AttrNet's

    @property
    def traits(self) -> NDArray[np.float64]:
        """In the order of looks.TRAITS."""
        kind = kind_of(self.labels, self.seen.female)
        return traits(self.looks, self.seen.age, kind, self.seen.expression)

    @cached_property
    def looks(self) -> NDArray[np.float64]:
        """In the order of looks.NAMES."""
        return looks(self.crop, self.face)


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
    wide = with_mesh(part, [face])[0]
    face = closely(part, wide)
    if face.mesh is None or (face.presence or 0) < SURE:
        return None
    alignment = align_ffhq(face, 256)
    alignment = alignment.resized(_render_size(256 / alignment.zoom))
    crop, mesh = alignment.crop(part), with_forehead(alignment.points_to_crop(face.mesh[:, :2]))
    shown = labels(crop)
    seen = by_two(attributes(part, face), shown)
    pictured = Pictured(crop, mesh, person_mask(crop))
    person = Person(
        looks(part, face), seen.age, seen.female, skin_angle(part, face), seen.expression,
        lower_face_shade(crop, mesh), shown, hair_colour(pictured), looks(part, wide),
    )  # fmt: skip
    vectors = embeddings(part, face, recognizers)
    return Source(part, face, alignment, crop, mesh, person, vectors, corner, pictured)


def choose(source: Source, rng: np.random.Generator, count: int, dealt: Sequence[int] = ()) -> list[int]:
    """Targets to try, in order, without a look at their sketches; those that were dealt come first."""
    few = (one[:TRIED] for one in shortlists(source.person, source.embeddings, rng, dealt))
    return list(islice(chain.from_iterable(few), count))


def promising(source: Source, targets: Sequence[int], turn: int = 0) -> Iterator[int]:
    """These targets, the one first that promises most.

    A cost only grows with each of its PARTS, so of a sketch no more is looked at than decides.
    """
    queue = [(0.0, place, 0) for place in range(len(targets))]
    while queue:
        cost, place, known = heappop(queue)
        if known == len(PARTS):
            yield targets[place]
        else:
            more = part_of_cost(known, source, targets[place], turn)
            heappush(queue, (cost + more, place, known + 1))


def part_of_cost(number: int, source: Source, target: int, turn: int) -> float:
    """How little a target promises in one regard."""
    return PARTS[number](source, sketch(source, target, turn))


def sketch(source: Source, target: int, turn: int = 0) -> Sketch:
    """A first look at a target of the choice `turn` in the source's pose, expression and age; made once."""
    if (target, turn) not in source.sketches:
        wplus = somebody_else(source, target, turn)
        change = _change(source.person, pool().traits(target))
        wplus = control().moved(wplus, change, FIRST)
        crop = _small(wplus)
        face = face_in_crop(crop)
        assert face.mesh is not None
        shown = labels(crop)
        seen = by_two(attributes(crop, face), shown)
        made = Sketch(wplus, crop, face, with_forehead(face.mesh), seen, shown)
        source.sketches[target, turn] = made
    return source.sketches[target, turn]


def _small(wplus: Vector) -> Image:
    """A cheap look at a code."""
    return _enlarged(generator().render(wplus[None], SKETCH)[0], PREVIEW)


def _enlarged(image: Image, side: int) -> Image:
    if image.shape[0] == side:
        return image
    return np.asarray(cv2.resize(image, (side, side), interpolation=cv2.INTER_CUBIC), np.uint8)


def somebody_else(source: Source, target: int, turn: int) -> Vector:
    """The target, a step away from the source, and one towards people: generated faces resemble each other."""
    steps = (TYPICAL - 1) * np.repeat(pool().codes.coordinates[target][None], SLOTS, axis=0)
    steps[IDENTITY] += AWAY[turn] * control().away_from(source.embeddings) + step_to_people()
    return pool().codes.stepped(target, steps.astype(np.float32))


def moved_code(source: Source, target: int, turn: int = 0) -> Vector:
    """The target in the source's pose, expression, age and surroundings: the sketch corrected by what it was off.

    Those of wider choices are for faces that are hard to hide, and are not retouched: it leads a little towards them.
    """
    first = sketch(source, target, turn)
    off = _change(source.person, first.traits)
    wplus = control().moved(first.wplus, CORRECTION * off, SECOND)
    wplus = harmonised(source.crop, source.mesh, source.light, first.crop, first.mesh, wplus)
    wplus = led_away(source, target, wplus)
    return wplus if turn else retouched(source.person, wplus, _small)


def led_away(source: Source, target: int, wplus: Vector) -> Vector:
    """The code of a target's face, made a stranger to the source."""
    return estranged(source.crop, source.mesh, source.embeddings, target, wplus)


def rendered(source: Source, wplus: Vector) -> Image:
    """A code as large as the source's crop, and as fine as the photo needs."""
    return _enlarged(generator().render(wplus[None], source.render_size)[0], source.alignment.size)


def _change(person: Person, shown: NDArray[np.float64]) -> NDArray[np.float64]:
    """What of a face's traits is to change."""
    change: NDArray[np.float64] = SHARE * (person.traits - shown)
    change[OF_KIND] = person.off_kind(shown[OF_KIND])
    change[FELT] = _change_of_mood(person, shown[FELT])
    return change


def _change_of_mood(person: Person, seen: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of the moods the source's may only grow, and only those that rival it fade: to bring each to the source's
    number, unsure as these are, would tip the one that counts."""
    change = person.traits[FELT] - seen
    own = np.array([EXPRESSIONS.index(mood) == person.expression.argmax() for mood in MOODS])
    rival = ~own & (seen > seen[own].sum() - RIVAL)
    return np.where(own, np.maximum(change, 0.0), np.where(rival, np.minimum(change, 0.0), 0.0))


def _unlike(source: Source, made: Sketch) -> float:
    """Another pose, age, expression or gender, shut or pale eyes, or in a hard light."""
    person, seen = source.person, made.seen
    change = made.looks - person.looks
    cost = float(np.abs(change[[YAW, PITCH]]).sum()) / DEGREES_UNIT + abs(float(change[TEETH])) / GRIN_UNIT
    cost += max(0.0, -float(change[EYES])) / SHUT_UNIT + abs(seen.age - person.age_to_show) / YEARS_UNIT
    cost += OTHER_EXPRESSION * (1 - float(seen.expression[person.expression.argmax()]))
    cost += OTHER_GENDER * (not same_gender(seen, person))
    light = light_on(made.crop, made.mesh)
    cost += max(0.0, DEEP - depth_of(made.crop, made.mesh, light).eyes) / DEPTH_UNIT
    return cost + max(0.0, light.patchiness - PATCHY) / PATCHY_UNIT


def _of_another_kind(source: Source, made: Sketch) -> float:
    """Of another origin, with other glasses or beard, or a child for a grown-up."""
    person, shown = source.person, made.labels
    others = int(((shown[KIND_LABELS] > 0.5) != (person.labels[KIND_LABELS] > 0.5)).sum())
    return OTHER_ORIGIN * (1 - float(shown[person.origin])) + OTHER_KIND * others


def _near(source: Source, made: Sketch) -> float:
    """Like the source to the recognisers."""
    vectors = embeddings(made.crop, made.face, list(source.embeddings))
    missing = [max(0.0, WANTED - margin) for margin in margins(source.embeddings, vectors).values()]
    return float(np.mean(missing)) / MARGIN_UNIT if missing else 0.0


PARTS = (_unlike, _of_another_kind, _near)  # of a sketch's cost, the dearest to look at last


def fitted(source: Source, crop: Image) -> Fitted:
    """A rendered face laid into the source's outline, under its light, with a seam nobody sees."""
    face = face_in_crop(crop)
    assert face.mesh is not None
    mesh = with_forehead(face.mesh)
    own, person = looks(crop, face), source.person
    missing = -person.change(own, looks(crop, with_mesh(crop, [face])[0]))
    opened = float(np.clip(missing[EYES], -MOST_OPENED, MOST_OPENED))
    unseen = float(
        (missing - (person.looks - own))[MOUTH]
    )  # of the mouth's opening, by the meshes that are laid
    onto = fitted_mesh(mesh, source.mesh, opened, unseen)
    laid = warp(np.dstack([crop, _as_bytes(person_mask(crop))]), mesh, onto)
    gaze = own[[GAZE_X, GAZE_Y]]
    there = gaze + np.clip(missing[[GAZE_X, GAZE_Y]], -MOST_GAZE, MOST_GAZE)
    turned = looking(np.ascontiguousarray(laid[..., :3]), onto, gaze, there)
    lit = with_lips_of(relit(turned, onto, source.light), onto, source.crop, source.mesh)
    lit = no_sharper(lit, source.detail, source.middle)
    lit = as_deep_as(lit, onto, source.depth)
    share = np.asarray(laid[..., 3] / 255, np.float32)
    lit = with_hair_of(source.pictured, Pictured(lit, onto, share))
    head = Pictured(lit, onto, share)
    return Fitted(*put_in(head, source.pictured, person.covered, person.bald), onto)


def _as_bytes(share: Weights) -> Mask:
    return np.rint(255 * share).astype(np.uint8)


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


def load(recognizers: Sequence[str]) -> None:
    """Prepare what takes longest."""
    generator().compiled(SKETCH)
    for build in (encoder, partial(away_slope, tuple(recognizers)), expression_slope):
        build()


@once
def generator() -> Generator:
    """One for the process, for as many threads as work in it."""
    return Generator(allowed_threads(), "bf16")
