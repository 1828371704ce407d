"""Cards: what each weight file is, where it comes from and what its terms allow.

The table is `cards.toml`; nothing else in the package names a distribution or a hash.
"""

import difflib
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any, Literal, get_args

from faceveil.errors import UnknownCard, UsageError

Commercial = Literal["open", "closed", "unclear"]
Role = Literal[
    "generator",
    "detector",
    "landmarks",
    "segmenter",
    "recognizer",
    "attribute",
    "perceptual",
    "features",
    "data",
]


@dataclass(frozen=True)
class Distribution:
    """One file on a package index: a wheel, an sdist, or the tarball of an npm package."""

    name: str
    version: str
    filename: str
    sha256: str
    size: int
    registry: Literal["pypi", "npm"] = "pypi"


@dataclass(frozen=True)
class Member:
    """One file, or one folder of files, inside a distribution (or inside this package)."""

    path: str
    sha256: str
    size: int

    @property
    def is_folder(self) -> bool:
        """A path with a wildcard stands for every file it matches."""
        return "*" in self.path

    @property
    def root(self) -> str:
        """The folder below which a folder member's files keep their relative paths, with its slash."""
        return self.path[: self.path.index("*")].rpartition("/")[0] + "/"

    @property
    def name(self) -> str:
        """Its name in the cache."""
        return PurePosixPath(self.root if self.is_folder else self.path).name


@dataclass(frozen=True)
class Card:
    """One set of weights: what it is, where it comes from, and what its terms allow."""

    id: str
    role: Role
    summary: str
    license: str
    origin: str
    commercial: Commercial
    notes: str
    members: tuple[Member, ...]
    distribution: Distribution | None = None

    @property
    def shipped(self) -> bool:
        """True for weights that lie inside this package and are never downloaded."""
        return self.distribution is None

    @property
    def size(self) -> int:
        return sum(member.size for member in self.members)

    def member(self, name: str | None = None) -> Member:
        """The member of that name; without a name the only one, or the first (an IR's .xml)."""
        if name is None:
            return self.members[0]
        for member in self.members:
            if member.name == name:
                return member
        names = ", ".join(member.name for member in self.members)
        raise UsageError(f"card {self.id} has no member {name!r}. It has: {names}.")


def card(card_id: str, table: dict[str, "Card"] | None = None) -> Card:
    """The card of that id; an unknown one raises UnknownCard with the nearest id."""
    table = all_cards() if table is None else table
    if card_id in table:
        return table[card_id]
    near = difflib.get_close_matches(card_id, table, n=1, cutoff=0.4)
    hint = f"Did you mean {near[0]!r}?" if near else "`faceveil models list` shows them all."
    raise UnknownCard(f"no weights card is named {card_id!r}. {hint}")


def cards(role: Role | None = None) -> Iterator[Card]:
    """Every card, or those of one role, in the order of the table."""
    return (entry for entry in all_cards().values() if role is None or entry.role == role)


@cache
def all_cards() -> dict[str, Card]:
    """The table that ships with the package."""
    return read_cards(Path(__file__).with_name("cards.toml").read_text("utf-8"))


def read_cards(text: str) -> dict[str, Card]:
    """Read a table of cards; the shape of `cards.toml`."""
    table = tomllib.loads(text)
    files = {entry["name"]: Distribution(**entry) for entry in table.get("distribution", [])}
    entries = [_card(entry, files) for entry in table["card"]]
    return {entry.id: entry for entry in entries}


def _card(entry: dict[str, Any], files: dict[str, Distribution]) -> Card:
    fields = dict(entry)
    members = tuple(Member(**member) for member in fields.pop("member"))
    name = fields.pop("distribution", None)
    card = Card(**fields, members=members, distribution=None if name is None else files[name])
    if card.commercial not in get_args(Commercial) or card.role not in get_args(Role):
        raise ValueError(f"card {card.id}: unknown role {card.role!r} or commercial {card.commercial!r}")
    return card
