"""What a method is: one that protects face by face, perhaps knowing its company, or one that needs all faces of a set
at once."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from faceveil.faces import Face, FaceSet, Region
from faceveil.faces.face import Image
from faceveil.methods.company import Company, Embeddings, Met, Profile
from faceveil.privacy import Guarantee

if TYPE_CHECKING:
    from faceveil.privacy.watch import Watch


class Described(Protocol):
    """What every method says of itself. A method is a frozen dataclass; `options` are the fields a user may set."""

    options: ClassVar[tuple[str, ...]]

    @property
    def id(self) -> str: ...
    @property
    def summary(self) -> str: ...
    @property
    def guarantee(self) -> Guarantee: ...
    @property
    def parameters(self) -> dict[str, object]:
        """What a reader of the result needs to repeat it; it is published."""

    @property
    def cards(self) -> tuple[str, ...]:
        """The weights it needs besides the detectors'."""


@runtime_checkable
class FaceMethod(Described, Protocol):
    """Protects each face on its own."""

    @property
    def needs_mesh(self) -> bool:
        """Whether a box with rough points is not enough."""

    def protect(self, image: Image, face: Face, rng: np.random.Generator) -> tuple[Image, Region]:
        """A new picture with this face protected, and the region that changed; ProtectionError if it cannot."""


@runtime_checkable
class CompanyMethod(FaceMethod, Protocol):
    """Protects each face on its own, but knows who else is in the set."""

    @property
    def consistent(self) -> bool:
        """Whether one person's photos show one new person."""

    @property
    def recognizers(self) -> tuple[str, ...]:
        """Whose embeddings tell people apart."""

    @property
    def needs_company(self) -> bool:
        """Whether everybody must be looked at first."""

    @property
    def diverse(self) -> bool:
        """Whether new faces must also keep apart from each other, and people exchange their profiles."""

    @property
    def tries(self) -> int:
        """How many targets a face is given at most."""

    def meet(self, crop: Image) -> Met | None:
        """What to remember of an aligned face; None where it cannot be measured."""

    def deal(
        self, suitable: Sequence[NDArray[np.int64]], people: Sequence[int], rng: np.random.Generator
    ) -> list[tuple[int, ...]]:
        """Targets for each face of a set, of those that suit it, unlike those of the others and above all of
        the same person's; `people` says whom each face shows."""

    def targets(
        self, crop: Image, profile: Profile | None, rng: np.random.Generator, dealt: tuple[int, ...]
    ) -> tuple[int, ...]:
        """Targets for the person in an aligned face, in the order to try them; those that were dealt come first."""

    def among(self, company: Company) -> FaceMethod:
        """The method for one face in this company."""

    def seen(self, image: Image, face: Face) -> Embeddings | None:
        """How the recognisers see a face that was protected; None where no face is left."""


@dataclass(frozen=True, eq=False)
class Release:
    """What becomes of a set of faces: which group each is in, and which picture it is replaced by."""

    groups: NDArray[np.int64]  # one per face; -1: the face is in no group and must not be released
    pictures: NDArray[np.int64]  # one per face: its replacement's index in `crops`; -1 where there is none
    crops: NDArray[np.uint8]  # M × S × S × 3, FFHQ alignment
    reasons: dict[int, str] = field(default_factory=dict)  # why a face is not released
    notes: tuple[str, ...] = ()
    figures: dict[str, float] = field(default_factory=dict)  # information loss and the like, for run.json


@runtime_checkable
class SetMethod(Described, Protocol):
    """Replaces the faces of a whole set."""

    def release(self, faces: FaceSet, rng: np.random.Generator) -> Release: ...


@runtime_checkable
class WatchedMethod(SetMethod, Protocol):
    """Recognisers watch that a new face is taken for no member of its group, alone and in photos."""

    @property
    def watch(self) -> "Watch": ...

    def for_photos(self, paste: str) -> SetMethod:
        """The same method, for faces that are put into photos, joined with each or identical in all."""


Method = FaceMethod | SetMethod
