"""Guarantee: what a result may claim, in one word for programs and one sentence for people."""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["none", "k-anonymity", "beyond-threshold"]


@dataclass(frozen=True)
class Guarantee:
    """A claim. `k-anonymity` needs its k; `beyond-threshold` names the recognisers it was checked with."""

    kind: Kind
    sentence: str
    k: int | None = None
    recognizers: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if (self.kind == "k-anonymity") != (self.k is not None):
            raise ValueError("k belongs to k-anonymity, and k-anonymity needs it")
        if (self.kind == "beyond-threshold") != bool(self.recognizers):
            raise ValueError("beyond-threshold names its recognisers, and nothing else does")


def joined(claim: Guarantee) -> Guarantee:
    """A claim of k where the group's face is joined with each photo (faces/put_in.py): of the same people, and of
    less of what is seen. `verify` draws each face again to prove it."""
    if claim.k is None:
        return claim
    others = "the other" if claim.k == 2 else f"{claim.k - 1} others"
    return Guarantee(
        "k-anonymity",
        f"k-anonymity with k = {claim.k}, of faces joined with their photos: every released face is drawn from one "
        f"face that at least {claim.k} people of this set share, and from what is around it. Of the face that was "
        "there it takes up four things, which run.json records: its outline behind hair, hat, glasses, hands, "
        "clothes and background, the light on its skin in 8 × 8 colours, where the head looks, and how sharp three "
        f"scales are. But for these the face itself does not tell any of them from {others}; these, and what is "
        "around a face, may. Faces of a group are not identical pixel by pixel (--paste identical makes them so).",
        k=claim.k,
    )


NOT_COVERED = ("hair", "clothes", "name tags", "tattoos", "background", "other pictures of the same scene")
# What a group's picture leaves open besides: in photos, and where only the pictures are released.
NOT_COVERED_IN_A_SET = ("ears", "the outline of the head", "what all members of a group have in common")
NOT_COVERED_JOINED = (
    "glasses' frames, and dark glasses",
    "the outline of the face",
    "the light on its skin",
    "where the head looks",
    "how sharp the face was",
)
NOT_COVERED_BY_CROPS = ("what all members of a group have in common", "other pictures of the same people")
