"""The methods: another face, of nobody, in the place of each, and a check after pasting.

A target is swapped in and checked; if the check fails the next target is tried, and at last the face is covered
in black, or refused.

    styleid           the default: a target moved to the source's pose, expression and light
    styleid-layers    the source's own code with the identity slots of a target (section 3 of the paper)
    styleid-channels  the best blocks of channels instead of whole slots (section 4)
    styleid-swapper   a network says how much of each channel to take from a target (section 6)
    styleid-mask      only as much of the face as the check needs: eyes, nose, mouth, all (section 5)
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from faceveil.errors import ProtectionError, UsageError
from faceveil.faces import Face, Region
from faceveil.faces.face import Image
from faceveil.faces.paste import paste, placed
from faceveil.faces.regions import Mask
from faceveil.methods.company import Company, Met, Profile
from faceveil.methods.filters import FILTERS
from faceveil.methods.styleid.channels import BLOCK, CHANNELS, SLOTS, best, read_table
from faceveil.methods.styleid.check import Verdict, check
from faceveil.methods.styleid.choice import CHOICES, TRIED, shortlists
from faceveil.methods.styleid.deal import dealt
from faceveil.methods.styleid.guests import met, received, seen, targets_for
from faceveil.methods.styleid.layers import LAYERS, WHOLE, swapped
from faceveil.methods.styleid.measure import Source, encoder, measure
from faceveil.methods.styleid.move import OFF, choose, corrected, led_away, moved_code, promising, sketch
from faceveil.methods.styleid.paste import REGIONS, from_on, part_of
from faceveil.methods.styleid.render import generator, in_crop, prepare
from faceveil.methods.styleid.swapper import mixed
from faceveil.methods.styleid.targets import pool
from faceveil.models.mobilestylegan import STYLE_DIM
from faceveil.models.mobilestylegan import Floats as Vector
from faceveil.models.recognizers import WATCHING, recognizers_named
from faceveil.privacy import Guarantee

# The distance to the source that is needed, in thresholds, and the smallest region that is replaced.
PRIVACY = {"low": (1.0, "eyes-nose"), "medium": (1.02, "face"), "high": (1.2, "face")}
FALLBACKS = ("blackout", "refuse")
IN_COMPANY = {  # what a run over a set adds, at the highest level and below
    False: "In a run, none is nearer to anybody else of the photos than chance.",
    True: "In a run, none is nearer to anybody else, old face or new, than chance, and shows age, gender and "
    "beard of one of at least three people.",
}
STEPS = (2, 3, 4, 5)  # of the push, for each of choice.CHOICES
CORRECTIONS = 2  # of a face that is off in the photo
GAINED = 0.02  # thresholds that another push must gain
CARDS = (
    "mobilestylegan.ffhq-1024", "bisenet.celebamask", "selfie.multiclass", "iris.64", "age.v1", "gender.v1",
    "expression.fer", "mobilefacenet.facesdk",
)  # fmt: skip


class Tried(NamedTuple):
    """A new face that holds the check."""

    pasted: tuple[Image, Region]  # the part of the photo around it, and where it changed
    verdict: Verdict
    wplus: Vector


@dataclass(frozen=True)
class StyleId:
    """Replace each face by one of nobody, and check it."""

    options: ClassVar[tuple[str, ...]] = ("privacy", "fallback", "consistent", "recognizers")
    id: str = "styleid"
    summary: str = "another face, of nobody, with the same pose, expression, age and light"
    privacy: str = "medium"
    fallback: str = "blackout"
    tries: int = TRIED * len(CHOICES)
    pushes: int = 3  # more of them, for a face that is too near
    recognizers: tuple[str, ...] = tuple(WATCHING)
    consistent: bool = False
    company: Company | None = None  # given by a run that knows the set

    def __post_init__(self) -> None:
        if self.privacy not in PRIVACY:
            raise UsageError(f"{self.id}: privacy is {' or '.join(PRIVACY)}; {self.privacy!r} is not.")
        if self.fallback not in FALLBACKS:
            raise UsageError(
                f"{self.id}: the fallback is {' or '.join(FALLBACKS)}; {self.fallback!r} is not."
            )
        recognizers_named(self.recognizers)

    @property
    def guarantee(self) -> Guarantee:
        """What was checked of every face, after pasting."""
        return Guarantee(
            "beyond-threshold",
            f"Every replaced face was checked to be further from its original than the thresholds of "
            f"{', '.join(self.recognizers)}; where none could be found the face is covered or refused. "
            f"{IN_COMPANY[self.diverse]} Other recognisers, hair, clothes and surroundings may still tell.",
            recognizers=self.recognizers,
        )

    @property
    def needs_mesh(self) -> bool:
        """Always: pose, expression and outline come from it."""
        return True

    @property
    def parameters(self) -> dict[str, object]:
        """What a reader of the result needs to repeat it."""
        values = {name: getattr(self, name) for name in self.options if name != "recognizers"}
        return {**values, "tries": self.tries, "recognizers": list(self.recognizers)}

    @property
    def cards(self) -> tuple[str, ...]:
        """The weights it needs besides the detectors'."""
        return tuple(dict.fromkeys((*CARDS, *self.recognizers)))

    @property
    def needed(self) -> float:
        """The distance to the source that a new face needs, in thresholds."""
        return PRIVACY[self.privacy][0]

    @property
    def smallest(self) -> str:
        """The first of paste.REGIONS that is tried."""
        return PRIVACY[self.privacy][1]

    @property
    def needs_company(self) -> bool:
        """A new face shall not look like somebody else of the set."""
        return True

    @property
    def diverse(self) -> bool:
        """At the highest level new faces also keep apart from each other."""
        return self.privacy == "high"

    def load(self) -> None:
        """Prepare the networks for which the first face would wait longest, in the order in which it needs them."""
        for build in (generator, encoder, prepare):
            build()

    def meet(self, crop: Image) -> Met | None:
        """What to remember of an aligned face."""
        return met(crop, self.recognizers)

    def deal(
        self, suitable: Sequence[NDArray[np.int64]], people: Sequence[int], rng: np.random.Generator
    ) -> list[tuple[int, ...]]:
        """Targets for each face of a set, unlike those of the others, above all of the same person's."""
        return dealt(suitable, people, self.recognizers, rng)

    def targets(
        self, crop: Image, profile: Profile | None, rng: np.random.Generator, dealt: tuple[int, ...]
    ) -> tuple[int, ...]:
        """Targets for the person in an aligned face."""
        return targets_for(crop, self.recognizers, profile, rng, self.tries, dealt)

    def among(self, company: Company) -> "StyleId":
        """The method for one face in this company."""
        return replace(self, company=company)

    def seen(self, image: Image, face: Face) -> dict[str, Vector] | None:
        """How the recognisers see a face that was protected."""
        return seen(image, face, self.recognizers)

    def protect(self, image: Image, face: Face, rng: np.random.Generator) -> tuple[Image, Region]:
        """A new picture with another face in the place of this one, and the region that changed."""
        source = measure(image, face, self.recognizers)
        if self.company:
            source = received(source, self.company)
        found = source and self._search(source, rng)
        if source and found:
            return _into(image, source, *found)
        if self.fallback == "refuse":
            width, height = (round(v) for v in face.size_wh)
            raise ProtectionError(
                f"no new face for one of {width}×{height} px passed the check after {self.tries} tries. "
                "Use --fallback blackout to cover it."
            )
        return FILTERS["blackout"].protect(image, face, rng)

    @property
    def _dealt(self) -> tuple[int, ...]:
        return self.company.dealt if self.company else ()

    def _search(self, source: Source, rng: np.random.Generator) -> tuple[Image, Region] | None:
        """The first face that holds the check, or a better one of the same few; None where none holds it."""
        company = self.company or Company()
        targets = self.candidates(source, rng) if company.targets is None else company.targets
        left = enumerate(targets, company.tried)
        for number, target in left:
            one = source if number < TRIED else source.bare
            found = self._tried(one, target, number)
            if found is not None:
                others = islice(left, TRIED - 1 - number % TRIED)
                return self._mended(one, self._corrected(one, found), others).pasted
        return None

    def _mended(self, source: Source, found: "Tried", others: Iterator[tuple[int, int]]) -> "Tried":
        """The better of a face that lacks something and of those that may have it: where no other may, it stays."""
        for number, target in others:
            if found.verdict.suits:
                break
            if self.may_mend(source, target, number, found.verdict):
                other = self._tried(source, target, number)
                found = _better(found, other and self._corrected(source, other))
        return found

    def _corrected(self, source: Source, found: Tried) -> Tried:
        """The same face of another age or mood, with another mouth, where these are plainly off in the photo and it
        fits better then."""
        for _ in range(CORRECTIONS):
            if found.verdict.suits and abs(found.verdict.years) <= OFF:
                break
            found, before = (
                _better(found, self._shown(source, corrected(source, found.wplus, found.verdict))),
                found,
            )
            if found is before:
                break
        return found

    def may_mend(self, source: Source, target: int, number: int, lacking: Verdict) -> bool:
        """Whether a target's sketch shows what another's face lacked."""
        made = sketch(source, target, _turn(number))
        return lacking.mended_by(made.seen, source.person.unwanted(made.labels), source.person)

    def _tried(self, source: Source, target: int, number: int) -> "Tried | None":
        """A target's new face in the photo, if it holds the check and keeps apart from others.

        One that is too near is pushed again, while that helps: who is hard to hide needs more than others, and it
        changes less of a face than to begin with another that is further off.
        """
        found = self._pasted(source, self.code(source, target, number))
        for _ in range(self.pushes):
            if found is None or not found.verdict.only_near(self.needed):
                break
            further = self._pasted(source, led_away(source, target, found.wplus, STEPS[0]))
            if further is None or further.verdict.nearest < found.verdict.nearest + GAINED:
                break
            found = further
        return found if found and self._holds(found) else None

    def _shown(self, source: Source, wplus: Vector) -> "Tried | None":
        """A code's face in the photo, if it holds the check and keeps apart from others."""
        found = self._pasted(source, wplus)
        return found if found and self._holds(found) else None

    def _holds(self, found: "Tried") -> bool:
        others = self.company or Company()
        return found.verdict.holds(self.needed) and others.apart(found.verdict.embeddings)

    def _pasted(self, source: Source, wplus: Vector) -> "Tried | None":
        """A code's face in the smallest region that does, or the largest; None where that has no place."""
        crop, found = in_crop(source, wplus), None
        for region in from_on(self.smallest):
            cut: Mask = part_of(source.mask, region, source.mesh)
            where = placed(source.image, source.alignment, cut)
            if where is None:
                return None
            photo = paste(source.image, crop, source.alignment, cut, feather=0)
            found = Tried((photo, where), check(photo, source.face, source.embeddings, source.person), wplus)
            if self._holds(found):
                break
        return found

    def candidates(self, source: Source, rng: np.random.Generator) -> Iterator[int]:
        """Targets in the order to try them: of each few the one first that promises most."""
        best_first = (
            islice(promising(one, few, turn), TRIED) for one, turn, few in self._shortlists(source, rng)
        )
        return islice(chain.from_iterable(best_first), self.tries)

    def _shortlists(
        self, source: Source, rng: np.random.Generator
    ) -> Iterator[tuple[Source, int, list[int]]]:
        """Targets of each choice; all but the first are for the face without its glasses' frame, which tells."""
        lists = shortlists(source.person, source.embeddings, rng, self._dealt)
        yield source, 0, next(lists)
        bare = source.bare
        if bare is not source:
            lists = islice(shortlists(bare.person, bare.embeddings, rng, self._dealt), 1, None)
        for turn, few in enumerate(lists, 1):
            yield bare, turn, few

    def code(self, source: Source, target: int, number: int) -> Vector:
        """That of one target's new face; `number` counts the tries before."""
        wplus = moved_code(source, target, _turn(number))
        return led_away(source, target, wplus, STEPS[_turn(number)])


@dataclass(frozen=True)
class OfCode(StyleId, ABC):
    """Mixes a target's code into the source's own, as the encoder reads it.

    Where that alone does not hide the source, later targets are led away from it.
    """

    pushes: int = 0
    tries: int = 9  # what stays of the source is its own code: another kind of target helps little

    def candidates(self, source: Source, rng: np.random.Generator) -> Iterator[int]:
        """Targets as they come: what becomes of them depends on the source's code."""
        yield from choose(source, rng, self.tries, self._dealt)

    def may_mend(self, source: Source, target: int, number: int, lacking: Verdict) -> bool:
        """Nobody knows: there are no sketches."""
        return True

    def code(self, source: Source, target: int, number: int) -> Vector:
        """The mix, or where others before did not hide the source, led away from it."""
        wplus = self.mixed(source, target)
        return led_away(source, target, wplus, STEPS[-1]) if number >= TRIED else wplus

    @abstractmethod
    def mixed(self, source: Source, target: int) -> Vector:
        """The source's code with this target's mixed in."""


@dataclass(frozen=True)
class StyleIdLayers(OfCode):
    """Swap a window of the code's slots."""

    options: ClassVar[tuple[str, ...]] = ("fallback", "consistent", "recognizers", "layers")
    id: str = "styleid-layers"
    summary: str = "the identity slots of the face's code from another face"
    layers: str = LAYERS

    def __post_init__(self) -> None:
        super().__post_init__()
        window(self.layers)

    def mixed(self, source: Source, target: int) -> Vector:
        """With its identity slots."""
        return swapped(source, target, [(window(self.layers), WHOLE)])


@dataclass(frozen=True)
class StyleIdChannels(OfCode):
    """Swap the channels that hold most of the identity."""

    options: ClassVar[tuple[str, ...]] = ("fallback", "consistent", "recognizers", "channels")
    id: str = "styleid-channels"
    summary: str = "the channels of the face's code that hold its identity from another face"
    channels: int = CHANNELS

    def __post_init__(self) -> None:
        super().__post_init__()
        if not BLOCK <= self.channels <= len(SLOTS) * STYLE_DIM:
            most = len(SLOTS) * STYLE_DIM
            raise UsageError(f"{self.id}: channels are {BLOCK} to {most}; {self.channels} is not.")

    def mixed(self, source: Source, target: int) -> Vector:
        """With its best-scoring channels."""
        return swapped(source, target, best(read_table(), self.channels))


@dataclass(frozen=True)
class StyleIdSwapper(OfCode):
    """Mix the code with a target's as the trained network says."""

    options: ClassVar[tuple[str, ...]] = ("fallback", "consistent", "recognizers")
    id: str = "styleid-swapper"
    summary: str = "the face's code mixed with another's, channel by channel, by a trained network"

    def mixed(self, source: Source, target: int) -> Vector:
        """As much of it as the network says."""
        return mixed(source.code, pool().codes[target])


@dataclass(frozen=True)
class StyleIdMask(StyleId):
    """Replace a region, and more of the face where the check asks for it."""

    options: ClassVar[tuple[str, ...]] = ("fallback", "consistent", "recognizers", "region")
    id: str = "styleid-mask"
    summary: str = "as much of the face as the check needs: eyes, nose, mouth, all"
    region: str = "eyes"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.region not in REGIONS:
            raise UsageError(f"{self.id}: region is {', '.join(REGIONS)}; {self.region!r} is not.")

    @property
    def needed(self) -> float:
        """Just beyond the thresholds."""
        return PRIVACY["low"][0]

    @property
    def smallest(self) -> str:
        """As was asked for."""
        return self.region


def _better(found: Tried, other: Tried | None) -> Tried:
    return other if other and other.verdict.misfit < found.verdict.misfit else found


def _turn(number: int) -> int:
    """Which of the choices a target comes from after so many tries."""
    return min(number // TRIED, len(CHOICES) - 1)


def window(layers: str) -> slice:
    """ "4-12" as the slots 4 to 12."""
    first, _, last = layers.partition("-")
    if not (first.isdigit() and last.isdigit() and 0 <= int(first) <= int(last) <= 22):
        raise UsageError(f"layers are two slots from 0 to 22 as in {LAYERS!r}; {layers!r} is not.")
    return slice(int(first), int(last) + 1)


def _into(image: Image, source: Source, swapped: Image, where: Region) -> tuple[Image, Region]:
    """The part of the photo around the face put back into the whole."""
    left, top = source.corner_xy
    out = image.copy()
    out[top : top + swapped.shape[0], left : left + swapped.shape[1]] = swapped
    return out, Region(where.mask, where.left + left, where.top + top)


STYLEID = {
    item.id: item for item in (StyleId(), StyleIdLayers(), StyleIdChannels(), StyleIdSwapper(), StyleIdMask())
}
