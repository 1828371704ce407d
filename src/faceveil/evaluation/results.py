"""Results: the one object that the page, the JSON and the command line render. Described in docs/evaluation.md."""

import dataclasses
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from faceveil.evaluation.intervals import Estimate, Rate
from faceveil.show import Displayed, Table

SCHEMA = 1

NOT_COVERED = (
    "hair, clothes, jewellery, tattoos and body shape",
    "name tags, captions and other text in the photo",
    "the background, the place and other people in it",
    "file names, dates and other metadata (see: faceveil leaks)",
    "other photos of the same scene, and what an attacker knows besides faces",
    "faces that the detector does not find in the original",
)


@dataclass(frozen=True)
class AttackResult:
    """One attack with one recogniser. Rates have 95 % intervals by person."""

    attack: str  # naive, reverse, parrot, restored, trained
    recognizer: str
    recognizer_name: str
    used_by_method: bool
    probes: int
    people: int  # whom the probes show
    gallery_people: int
    chance: float  # of finding a person by a guess
    found: Rate  # people found at rank 1, each person weighing the same
    mean_rank: Estimate
    cmc_ranks: list[int]
    cmc: list[float]
    fta: Rate  # probes in which no face was acquired
    fte: Rate  # people of whom no template could be enrolled
    fmr: Rate  # at the recogniser's threshold, over comparisons that took place
    fnmr: Rate
    gfrr: Rate  # genuine comparisons that do not match, failures included
    threshold: float
    eer: Estimate  # failures counted as not matching
    eer_acquired: float  # over comparisons that took place
    auc: Estimate
    curve_fmr: list[float]
    curve_fnmr: list[float]

    @property
    def sentence(self) -> str:
        part = ", which took part in making the result," if self.used_by_method else ""
        return f"{self.attack} with {self.recognizer_name}{part} finds {self.found} of {self.people} people"

    @property
    def row(self) -> tuple[str, ...]:
        """Its figures as cells, in the order of ATTACK_COLUMNS."""
        part = " (used by the method)" if self.used_by_method else ""
        return (
            self.attack, self.recognizer + part, str(self.found), f"{self.mean_rank.value:.1f}",
            f"{100 * self.eer.value:.1f} %", f"{self.auc.value:.3f}", str(self.fta), str(self.fte),
        )  # fmt: skip


@dataclass(frozen=True)
class Exposed:
    """A released face that recognisers take for its own original."""

    photo: str
    person: str
    recognizers: list[str]
    unchanged: bool  # so near that it must be the original face
    face: int = 1  # its number in the original photo; 1 is the main one
    faces: int = 1
    box_xyxy: list[int] | None = None  # of the face, in pixels of the original photo

    @property
    def where(self) -> str:
        """The photo and, if it shows several, which face."""
        if self.faces < 2 or self.box_xyxy is None:
            return self.photo
        left, top, right, bottom = self.box_xyxy
        return f"{self.photo} (face {self.face} of {self.faces}, x {left}–{right}, y {top}–{bottom})"


@dataclass(frozen=True)
class Shown:
    """A released picture that shows an original face, under whatever name."""

    released: str
    original: str  # the photo
    person: str
    face: int  # its number in the original photo; 1 is the main one
    faces: int  # in the original photo
    by: str  # pixels: they are those of the original; recognisers: all of them take it for this person
    turned: (
        int  # degrees by which the released picture must be turned to the left to stand as the original does
    )
    mirrored: bool

    @property
    def sentence(self) -> str:
        which = f" (face {self.face} of {self.faces})" if self.faces > 1 else ""
        how = "the very pixels" if self.by == "pixels" else "as all recognisers see it"
        turned = f", turned by {self.turned}°" if self.turned else ""
        return f"{self.released} shows a face of {self.original}{which}: {how}{turned}{', mirrored' * self.mirrored}"


@dataclass(frozen=True)
class ClusterLevel:
    """Re-identification inside groups that share a face, as AnonFACES defines it, with one recogniser."""

    recognizer: str
    groups: int
    smallest: int  # k
    mean_rate: float  # Q = members below the threshold / members, mean over groups
    worst_rate: float
    groups_with_mean_below_threshold: int
    database_rate: Rate  # originals below the threshold of their own released face
    information_loss: Estimate  # definition 3.2: mean distance of original and released face
    bound: float  # 1/k


@dataclass(frozen=True)
class ProtocolResult:
    """Accuracy of a pairs protocol, the threshold of each fold chosen on the others. One half is a guess."""

    comparison: str  # unprotected, naive, parrot
    recognizer: str
    accuracy: float
    error: float  # standard error over folds
    folds: int
    pairs: int
    failed: int  # pairs of which a face was not acquired, counted as judged "two people"


@dataclass(frozen=True)
class GroupRates:
    """Figures of one group of people."""

    attribute: str
    group: str
    people: int
    photos: int
    found: Rate
    missed: Rate  # originals in which the detector finds no face
    attribute_loss: Rate


ATTACK_COLUMNS = ("attack", "recogniser", "found", "mean rank", "EER", "AUC", "FTA", "FTE")


@dataclass(frozen=True, repr=False)
class Results(Displayed):
    """Everything an evaluation found."""

    originals: str
    anonymised: str
    version: str
    created: str
    photos: int
    people: int
    released: int
    withheld: int  # originals without a released photo
    unpaired: list[str]
    faces: int  # of originals, that are counted
    small_faces: int  # beside the main one, too small to count; only checked for being unchanged
    not_found_in_original: int
    several_faces: int  # originals with more than one face
    recognizers: list[dict[str, Any]]
    attacks: list[AttackResult]
    baseline: list[AttackResult]
    exposed: list[Exposed]
    clusters: list[ClusterLevel]
    protocol: list[ProtocolResult]
    diversity: dict[str, Any]
    utility: dict[str, Any]
    groups: list[GroupRates]
    warnings: list[str]
    parameters: dict[str, Any]
    seconds: dict[str, float]
    shown: list[Shown] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)  # released files, each with the reason
    unreadable_originals: list[str] = field(default_factory=list)
    uncompared: list[str] = field(default_factory=list)  # released files whose original cannot be read
    other_files: list[str] = field(default_factory=list)  # in the release, that are no pictures
    not_covered: list[str] = field(default_factory=lambda: list(NOT_COVERED))
    schema: int = SCHEMA

    @property
    def worst(self) -> AttackResult:
        return worst_of(self.attacks)

    @property
    def risk(self) -> float:
        """The share of people that the worst attack may find, at the upper end of its interval."""
        return reach(self.worst, self.attacks)

    @property
    def independent(self) -> bool:
        """Whether a recogniser attacked that took no part in making the result."""
        return any(not attack.used_by_method for attack in self.attacks)

    def table(self) -> Table:
        """One row for each attack and recogniser, and what else must be said."""
        from faceveil.evaluation.gate import failures_at_any_limit, left_out

        rows = [one.row for one in (*self.attacks, *self.baseline)]
        title = f"{self.people} people, {self.faces} faces, {self.released} released photos"
        said = [text[:1].upper() + text[1:] + "." for text in (*failures_at_any_limit(self), *left_out(self))]
        worst = f"The worst attack: {self.worst.sentence}."
        return Table(title, ATTACK_COLUMNS, rows, (worst, *said, *self.warnings))

    def to_dict(self) -> dict[str, Any]:
        """Plain values; what is not a number is null."""
        table: dict[str, Any] = _plain(dataclasses.asdict(self))
        table["worst"] = _plain(
            {"attack": self.worst.attack, "recognizer": self.worst.recognizer, "risk": self.risk}
        )
        return table

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def worst_of(attacks: Sequence[AttackResult]) -> AttackResult:
    """The attack that may find the largest share of people."""
    return max(attacks, key=lambda one: (reach(one, attacks), one.found.value))


def reach(attack: AttackResult, attacks: Sequence[AttackResult]) -> float:
    """The upper bound of an attack as a share of all people attacked: parrot finds nobody with a single photo."""
    return attack.found.high * attack.people / max(one.people for one in attacks)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, float):
        return round(value, 6) if math.isfinite(value) else None
    return value
