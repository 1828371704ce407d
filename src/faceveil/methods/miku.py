"""MIKU: any group space, Mondrian, the mean in any synthesis space.

T. Nakamura, Y. Sakuma and H. Nishi, "Face-image anonymization as an application of multidimensional data
k-anonymizer", IJNC 11(1), 2021. Every pair of maps of its Table 3:

    G map   direct, latent, attribute     where groups are formed
    S map   direct, latent                where their mean is taken and drawn

The default is the pair it found best, attribute and latent; `CONFERENCE` is the form of the earlier conference
paper, latent for both.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np

from faceveil.errors import UsageError
from faceveil.faces import FaceSet
from faceveil.grouping import group
from faceveil.methods.method import Release
from faceveil.methods.sets import DEFAULT_K, check_k, draw_means, k_anonymity, seed_from, shared, too_few
from faceveil.privacy import Guarantee
from faceveil.spaces import Space, SynthesisSpace
from faceveil.spaces.attribute import AttributeSpace
from faceveil.spaces.inversion import check_refinement
from faceveil.spaces.latent import LatentSpace
from faceveil.spaces.pixel import PixelSpace

GroupMap = Literal["direct", "latent", "attribute"]
SynthesisMap = Literal["direct", "latent"]
# The paper's fourteen labels as far as AttrNet has them: one for goatee and no beard, age for young.
PAPERS_LABELS = (
    "age", "female", "bald", "bangs", "black hair", "brown hair", "blond hair", "grey hair", "facial hair", "glasses",
    "makeup", "smiling", "hat",
)  # fmt: skip
N_S = 9216  # dimensions that Mondrian looks at for each cut, in the paper
GROUP_SIDE = 64  # px: 12,288 numbers to group by are enough, of which N_s are looked at


@dataclass(frozen=True)
class Miku:
    """Multidimensional inputs k-anonymising unit."""

    options: ClassVar[tuple[str, ...]] = ("k", "group_map", "synthesis_map", "n_s", "attributes", "refine")
    id: ClassVar[str] = "miku"
    summary: ClassVar[str] = "groups by attributes (Mondrian), the mean in the generator's latent space"
    k: int = DEFAULT_K
    group_map: GroupMap = "attribute"
    synthesis_map: SynthesisMap = "latent"
    n_s: int = N_S
    attributes: tuple[str, ...] | None = None  # what the attribute map reads; None: all there are
    refine: int = 0  # steps of gradient descent after the encoder, where a map is latent

    def __post_init__(self) -> None:
        check_k(self.id, self.k)
        for name, value, known in (
            ("G", self.group_map, get_args(GroupMap)),
            ("S", self.synthesis_map, get_args(SynthesisMap)),
        ):
            if value not in known:
                raise UsageError(f"miku: the {name} map is {' or '.join(known)}; {value!r} is not.")
        if self.n_s < 1:
            raise UsageError(
                f"miku: N_s counts the dimensions looked at for a cut, 1 or more; {self.n_s} is not."
            )
        if self.attributes is not None:
            AttributeSpace(self.attributes)  # refuses names that it does not know
        check_refinement(self.refine)

    @property
    def guarantee(self) -> Guarantee:
        """k."""
        return k_anonymity(self.k)

    @property
    def parameters(self) -> dict[str, object]:
        """k, the two maps, N_s, the attributes where they are grouped by, and refinement where a map is latent."""
        maps = {"group_map": self.group_map, "synthesis_map": self.synthesis_map}
        read = (
            {"attributes": list(AttributeSpace(self.attributes).names)}
            if self.group_map == "attribute"
            else {}
        )
        found = {"refine": self.refine} if "latent" in maps.values() else {}
        return {"k": self.k, **maps, "n_s": self.n_s, **read, **found}

    @property
    def cards(self) -> tuple[str, ...]:
        """The weights of its spaces."""
        return tuple(dict.fromkeys((*self._group_space().cards, *self._synthesis_space().cards)))

    def release(self, faces: FaceSet, rng: np.random.Generator) -> Release:
        """Replace every face by the mean of its group."""
        refused = too_few(faces, self.k)
        if refused is not None:
            return refused
        vectors = self._group_space().fit(faces).encode(faces)
        partition = group(
            vectors, self.k, "mondrian", faces.subjects.tolist(), seed_from(rng), dimensions=self.n_s
        )
        drawn = self._synthesis_space().fit(faces)
        loss = {"loss_in_group_space": partition.information_loss(vectors)}
        return shared(partition, draw_means(drawn, faces, partition), figures=loss)

    def _group_space(self) -> Space:
        if self.group_map == "direct":
            return PixelSpace(side=GROUP_SIDE)
        return LatentSpace(self.refine) if self.group_map == "latent" else AttributeSpace(self.attributes)

    def _synthesis_space(self) -> SynthesisSpace:
        return PixelSpace() if self.synthesis_map == "direct" else LatentSpace(self.refine)


MIKU = Miku()
CONFERENCE = Miku(group_map="latent", synthesis_map="latent")
