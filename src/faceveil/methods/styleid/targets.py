"""Targets: a shipped pool of generated faces of nobody, measured, from which each source gets one that suits it.

`training/pool.py` draws, measures and filters them: as many of each gender, age and origin.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from faceveil.faces.attributes import Attributes
from faceveil.methods.styleid.looks import NAMES, WORN, traits
from faceveil.models.attrnet import INPUT_SIZE, AttrNet
from faceveil.models.mobilestylegan import Floats
from faceveil.models.npz import opened
from faceveil.models.recognizers import WATCHING, recognizer
from faceveil.models.runtime import once
from faceveil.models.wspace import w_space

DATA = Path(__file__).with_name("data") / "targets.npz"
HAIRY = DATA.with_name("hairy.npz")
CELLS = 16  # of a crop's side, each with hair or without
NUMBERS = ("looks", "age", "female", "skin", "expression", "shade", "hair")
ORIGINS = ("ethnicity White", "ethnicity Black", "ethnicity Asian", "ethnicity Indian")
LABELS = (  # of AttrNet's, what is kept of each face
    *ORIGINS,
    *("female", "age under 18", "age 60 and over", "glasses", "facial hair", "bald", "grey hair", "hat"),
)
NEIGHBOUR = 30  # which of the nearest targets tells how alone one is
BYTE = 127.0  # embeddings and axes are stored as bytes of the largest value

SURE = 0.85  # of a target's gender, so that no later step can tip it
# What may differ between a face and its target, and what one unit of unlikeness is beyond that. The closer a target
# were to resemble its source in every number, the better two photos of one person could be told by their targets.
# Looks, in the order of looks.NAMES, can be moved, and the light is the photo's.
LOOKS_UNIT = np.array([10.0, 8.0, 0.07, 0.07, 0.025, 1.6, 0.038, 0.07, 0.07])
AGE_FREE, AGE_UNIT = 3.0, 1.5
SKIN_FREE, SKIN_UNIT = 20.0, 20.0
SHADE_FREE, SHADE_UNIT = 0.1, 0.1
HAIR_FREE, HAIR_UNIT = 15.0, 8.0  # in Lab: brows and strands go with the hair that stays
HUNG_FREE, HUNG_UNIT = (
    0.03,
    0.03,
)  # of a face's area that a target's hair hangs over: strands without a head of hair
FAR = 3.0  # units of age from which unlikeness grows linearly
EXPRESSION_UNIT, ORIGIN_UNIT = 0.13, 0.09  # of a probability
MINOR = "age under 18"  # AttrNet tells children better than the network that tells years
KIND_UNIT = dict(zip((*WORN, MINOR), (0.15, 0.25, 0.25), strict=True))  # of a probability
SOFTENED, GROWN = 0.08, 25.0  # years that a softer face looks younger, for each beyond these
CLEAR = np.log(9.0)  # of the odds: nine of ten
FEMALE = LABELS.index("female")
WORN_LABELS = [LABELS.index(name) for name in WORN]
KIND_LABELS = [LABELS.index(name) for name in KIND_UNIT]


@dataclass(frozen=True, eq=False)
class Person:
    """What a target must suit: measured of the source."""

    looks: NDArray[np.float64]  # of looks.NAMES
    age: float
    female: float  # probability
    skin: float  # typology angle; NaN in a grey photo
    expression: NDArray[np.float32]  # 7 probabilities
    shade: float  # of the lower face: beards
    labels: NDArray[np.float32]  # probabilities of LABELS
    hair: NDArray[np.float64] = field(
        default_factory=lambda: np.full(3, np.nan)
    )  # Lab; NaN where it cannot be told
    at_a_distance: NDArray[np.float64] = field(
        default_factory=lambda: np.full(len(NAMES), np.nan)
    )  # looks as read in a detector's box; NaN where they were not
    glasses_stay: bool = False  # the photo's own, or their frame: a target needs none
    face: Floats = field(
        default_factory=lambda: np.zeros(CELLS**2, np.float32)
    )  # how much of each cell it is

    def change(self, close: NDArray[np.float64], at_a_distance: NDArray[np.float64]) -> NDArray[np.float64]:
        """By how much a face's looks differ from this person's, by both ways to read them: either errs alone."""
        changes = np.stack([close - self.looks, at_a_distance - self.at_a_distance])
        return np.asarray(np.nanmean(changes, axis=0))

    @property
    def origin(self) -> int:
        """The likeliest of ORIGINS."""
        return int(self.labels[: len(ORIGINS)].argmax())

    @property
    def wanted(self) -> NDArray[np.float32]:
        """The labels that a target should have."""
        labels = self.labels.copy()
        labels[LABELS.index("glasses")] *= not self.glasses_stay
        return labels

    @property
    def kind(self) -> NDArray[np.float64]:
        """Probabilities of looks.KIND of a target; who is given another's gender leaves the beard."""
        glasses, beard, female = kind_of(self.wanted, self.female)
        return np.array([glasses, beard * (female < 0.5), female])

    def others(self, labels: NDArray[np.floating]) -> int:
        """How many of KIND_LABELS a new face shows otherwise: glasses, a beard, a child."""
        return _others(labels, self.labels)

    def unwanted(self, labels: NDArray[np.floating]) -> int:
        """The same of a face by itself."""
        return _others(labels, self.wanted)

    def off_kind(self, shown: NDArray[np.floating]) -> NDArray[np.float64]:
        """By how much log odds of looks.KIND are to change until it is CLEAR that they are this person's."""
        side = np.where(self.kind > 0.5, 1.0, -1.0)
        return np.asarray(side * np.maximum(0.0, CLEAR - side * shown))

    @property
    def age_to_show(self) -> float:
        """In a small render: what is laid into a photo is softer, and looks younger."""
        return self.age + SOFTENED * max(0.0, self.age - GROWN)

    @property
    def traits(self) -> NDArray[np.float64]:
        """In the order of looks.TRAITS."""
        return traits(self.looks, self.age_to_show, self.kind, self.expression)


@dataclass(frozen=True, eq=False)
class Codes:
    """W+ along the axes in which codes of people differ (`training/people.py`), around W's mean.

    Sums are einsum's and not a matrix library's, whose last bits depend on how many threads it has.
    """

    axes: Floats  # 23 × A × 300, whitened: what one deviation along each changes
    coordinates: Floats  # N × A

    def __getitem__(self, rows: NDArray[np.intp] | slice | int) -> Floats:
        """23 × 512 of one face, N × 23 × 512 of several."""
        return _unwhitened(np.einsum("...a,sac->...sc", self.coordinates[rows], self.axes))

    def of(self, rows: NDArray[np.intp]) -> "Codes":
        """Some of them."""
        return replace(self, coordinates=self.coordinates[rows])

    def stepped(self, row: int, steps: Floats) -> Floats:
        """23 × 512 of one face, each slot moved by so many deviations along the axes (23 × A)."""
        return _unwhitened(np.einsum("sa,sac->sc", self.coordinates[row] + steps, self.axes))

    def packed(self) -> dict[str, NDArray[np.generic]]:
        """As it is stored: axes as bytes of their largest value."""
        scale = np.abs(self.axes).max(axis=(0, 2)) / BYTE
        return {
            "axes": np.rint(self.axes / scale[:, None]).astype(np.int8),
            "axis_scale": scale.astype(np.float32),
            "coordinates": self.coordinates.astype(np.float16),
        }

    @classmethod
    def unpacked(cls, stored: Mapping[str, NDArray[Any]]) -> "Codes":
        """From what `packed` gave."""
        axes = stored["axes"] * stored["axis_scale"][:, None]
        return cls(axes, stored["coordinates"].astype(np.float32))


def _unwhitened(white: Floats) -> Floats:
    """WSpace.unwhiten with the same last bits on any number of threads."""
    space, components = w_space(), white.shape[-1]
    change = np.einsum("...c,cd->...d", white * space.spread[:components], space.axes[:components])
    return np.asarray(space.mean + change, np.float32)


@dataclass(frozen=True, eq=False)
class Pool:
    """N generated faces; rows of all arrays go together."""

    codes: Codes
    looks: NDArray[np.float64]  # N × looks.NAMES
    age: NDArray[np.float64]
    female: NDArray[np.float64]
    skin: NDArray[np.float64]
    expression: NDArray[np.float64]  # N × 7
    shade: NDArray[np.float64]
    hair: NDArray[np.float64]  # N × 3, Lab; NaN of a bald head
    labels: NDArray[np.float64]  # N × LABELS
    hairy: Floats  # N × CELLS², 1 where hair is seen
    embeddings: dict[str, Floats]  # recogniser id → N × 128
    alone: dict[
        str, NDArray[np.float64]
    ]  # recogniser id → N: the distance to the NEIGHBOUR-th nearest target

    def __len__(self) -> int:
        return len(self.age)

    @property
    def origin(self) -> NDArray[np.float64]:
        """N × 4, of ORIGINS."""
        return self.labels[:, : len(ORIGINS)]

    def traits(self, target: int) -> NDArray[np.float64]:
        """Of one target, in the order of looks.TRAITS."""
        kind = kind_of(self.labels[target], self.female[target])
        return traits(self.looks[target], self.age[target], kind, self.expression[target])

    def unlikeness(self, source: Person) -> NDArray[np.float64]:
        """How badly each target suits: squared differences in the units above; infinite for the other gender."""
        total = (_beyond((self.looks - source.looks) / LOOKS_UNIT, 1.0) ** 2).sum(axis=1)
        total += _squared_then_linear(_beyond(self.age - source.age, AGE_FREE) / AGE_UNIT)
        total += (_beyond(self.shade - source.shade, SHADE_FREE) / SHADE_UNIT) ** 2
        total += (_missing(self.expression[:, source.expression.argmax()]) / EXPRESSION_UNIT) ** 2
        total += (_missing(self.origin[:, source.origin]) / ORIGIN_UNIT) ** 2
        wanted = source.wanted
        for name, unit in KIND_UNIT.items():
            label = LABELS.index(name)
            there = self.labels[:, label]
            total += (_missing(there if wanted[label] > 0.5 else 1 - there) / unit) ** 2
        total += (_beyond(_apart(self.hair, source.hair), HAIR_FREE) / HAIR_UNIT) ** 2
        total += (_beyond(self.overhung(source.face), HUNG_FREE) / HUNG_UNIT) ** 2
        if not np.isnan(source.skin):
            total += (_beyond(self.skin - source.skin, SKIN_FREE) / SKIN_UNIT) ** 2
        same = self.female > SURE if source.female > 0.5 else self.female < 1 - SURE
        total[~same] = np.inf
        return np.asarray(total)

    def overhung(self, face: Floats) -> NDArray[np.float64]:
        """Which share of a face each target's hair would hang over."""
        return np.asarray(np.einsum("nc,c->n", self.hairy, face) / max(float(face.sum()), 1.0), np.float64)

    def known(self, names: Iterable[str]) -> list[str]:
        """Those of these recognisers that saw the targets; others can only judge a face that is pasted."""
        return [name for name in names if name in self.embeddings]

    def distances(self, name: str, embedding: Floats) -> NDArray[np.float32]:
        """Of each target to an embedding, by the recogniser of that id."""
        return recognizer(name).distance(self.embeddings[name], embedding)


def _others(one: NDArray[np.floating], other: NDArray[np.floating]) -> int:
    return int(((one[KIND_LABELS] > 0.5) != (other[KIND_LABELS] > 0.5)).sum())


def _apart(colours: NDArray[np.float64], colour: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of each colour to one; 0 where either cannot be told."""
    return np.asarray(np.nan_to_num(np.linalg.norm(colours - colour, axis=1)))


def _beyond(difference: NDArray[np.float64], free: float) -> NDArray[np.float64]:
    return np.maximum(0.0, np.abs(difference) - free)


def _missing(probability: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 of what is surely not there, 0 of what is rather there than not: how surely makes no difference."""
    return np.maximum(0.0, 1 - 2 * probability)


def _squared_then_linear(steps: NDArray[np.float64]) -> NDArray[np.float64]:
    """Huber's loss: what is far off anyway must not outweigh everything else."""
    size = np.abs(steps)
    return np.asarray(np.where(size < FAR, size**2, 2 * FAR * size - FAR**2))


def labels(crop: NDArray[np.uint8]) -> NDArray[np.float32]:
    """What AttrNet sees in a face of FFHQ's alignment, in the order of LABELS."""
    if crop.shape[0] < INPUT_SIZE:
        crop = np.asarray(
            cv2.resize(crop, (INPUT_SIZE, INPUT_SIZE), interpolation=cv2.INTER_LINEAR), np.uint8
        )
    net = _attrnet()
    return net.read(crop[None])[0, [net.labels.index(name) for name in LABELS]]


def in_cells(picture: NDArray[np.floating]) -> Floats:
    """A crop's numbers as means of CELLS × CELLS, in a row."""
    return np.asarray(cv2.resize(picture, (CELLS, CELLS), interpolation=cv2.INTER_AREA), np.float32).reshape(
        -1
    )


def kind_of(shown: NDArray[np.floating], female: float) -> NDArray[np.float64]:
    """Probabilities of looks.KIND, from AttrNet's labels and from the gender as it was read."""
    return np.array([*shown[WORN_LABELS], female], np.float64)


def by_two(seen: Attributes, shown: NDArray[np.floating]) -> Attributes:
    """What was read in a face, with its gender as AttrNet's labels (`shown`), which count twice, and the classifier
    see it: they disagree about one face in ten, and by eye the classifier errs in most of these."""
    return replace(seen, female=(seen.female + 2 * float(shown[FEMALE])) / 3)


@once
def _attrnet() -> AttrNet:
    return AttrNet()


@once
def pool() -> Pool:
    """The pool that ships with the package."""
    return read_pool(DATA)


def read_pool(path: Path) -> Pool:
    """What `training/pool.py` packed."""
    with opened(HAIRY) as stored:
        hairy = np.unpackbits(stored["hairy"], axis=1).astype(np.float32)
    with opened(path) as stored:
        scales, steps = stored["embedding_scale"], stored["embeddings"]
        vectors = {
            name: np.asarray(steps[:, number] * (scales[number] / BYTE), np.float32)
            for number, name in enumerate(WATCHING)
        }
        numbers = {name: stored[name].astype(np.float64) for name in NUMBERS}
        return Pool(
            codes=Codes.unpacked(stored),
            labels=stored["labels"] / 255.0,
            hairy=hairy,
            embeddings=vectors,
            alone={
                name: stored["alone"][:, number].astype(np.float64) for number, name in enumerate(WATCHING)
            },
            **numbers,
        )
