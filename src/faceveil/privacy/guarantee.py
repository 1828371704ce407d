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


NOT_COVERED = ("hair", "clothes", "name tags", "tattoos", "background", "other pictures of the same scene")
# What a group's picture leaves open besides: in photos, and where only the pictures are released.
NOT_COVERED_IN_A_SET = ("ears", "the outline of the head", "what all members of a group have in common")
NOT_COVERED_BY_CROPS = ("what all members of a group have in common", "other pictures of the same people")
