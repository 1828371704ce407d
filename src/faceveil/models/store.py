"""The weights store: a card's files, downloaded once, pinned by hash, kept in the user's cache.

    home/weights/<card id>/<member>   the files, each checked against its card before it got its name
    home/downloads/                   a distribution on its way, deleted once its members are taken out
    home/locks/                       one lock per distribution, so that two processes download it once

A file appears under its name only whole and checked (written aside, then renamed), so readers need no lock.
"""

import errno
import hashlib
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import platformdirs

from faceveil.errors import HashMismatch, StoreUnusable, WeightsUnavailable
from faceveil.models.archive import extract
from faceveil.models.cards import Card, Distribution, Member, all_cards, card

if TYPE_CHECKING:
    from faceveil.models.index import Fetcher, Location, Progress

PACKAGE = Path(__file__).parent.parent

# Files whose hash this process has checked, with their time and size: a changed file is checked again.
_checked: set[tuple[Path, int, int]] = set()

State = Literal["ok", "missing", "damaged"]


@dataclass(frozen=True)
class Checked:
    """What a look at one card's files found."""

    card: Card
    state: State
    folder: Path


def weights(card_id: str, member: str | None = None) -> Path:
    """The path of a card's file in the default store, downloaded if need be."""
    return Store().path(card_id, member)


def offline() -> bool:
    """True when FACEVEIL_OFFLINE forbids every download."""
    return os.environ.get("FACEVEIL_OFFLINE", "").lower() in ("1", "true", "yes", "on")


class Store:
    """Weights on this machine. `home` is FACEVEIL_HOME, or else the platform's cache folder."""

    def __init__(self, home: Path | str | None = None, table: dict[str, Card] | None = None) -> None:
        chosen = (
            home
            or os.environ.get("FACEVEIL_HOME")
            or platformdirs.user_cache_path("faceveil", appauthor=False)
        )
        self.home = Path(chosen).expanduser().absolute()
        self._table = table

    @property
    def table(self) -> dict[str, Card]:
        return all_cards() if self._table is None else self._table

    def card(self, card_id: str) -> Card:
        """The card of that id in this store's table."""
        return card(card_id, self.table)

    def folder(self, entry: Card) -> Path:
        """Where a card's files lie, or will lie."""
        return self.home / "weights" / entry.id

    def has(self, card_id: str) -> bool:
        """True when all files of a card are there with the right size (their hash is checked on loading)."""
        entry = self.card(card_id)
        return all(_size(self._place(entry, member)) == member.size for member in entry.members)

    def path(self, card_id: str, member: str | None = None) -> Path:
        """A card's file: there and checked, downloaded first if it is missing.

        Without `member`, the card's only or first file. Each file's hash is checked once per process.
        """
        entry = self.card(card_id)
        wanted = entry.member(member)
        if not self.has(card_id):
            self.pull([card_id])
        for each in entry.members:
            place = self._place(entry, each)
            if not _is_intact(place, each):
                raise HashMismatch(
                    f"{entry.id}: {place} is not the file that the card pins (sha256 {each.sha256[:12]}…). "
                    f"Replace it with: faceveil models pull {entry.id}"
                )
        return self._place(entry, wanted)

    def pull(self, card_ids: Iterable[str], progress: "Progress | None" = None) -> list[Card]:
        """Make these cards' files present and whole; the cards that had to be fetched."""
        wanted = [self.card(card_id) for card_id in dict.fromkeys(card_ids)]
        lacking = [entry for entry in wanted if self.check(entry).state != "ok"]
        for entry in lacking:
            if entry.distribution is None:
                raise HashMismatch(f"{entry.id} ships with faceveil and is damaged. Reinstall faceveil.")
            if offline():
                raise WeightsUnavailable(
                    f"{entry.id}: its weights are not in {self.home}, and FACEVEIL_OFFLINE is set. "
                    f"{_remedy(entry)}"
                )
        for entry in lacking:
            if entry.distribution is not None:
                self._fetch(entry, entry.distribution, progress)
        return lacking

    def verify(self) -> list[Checked]:
        """Look at every card's files, hashing each."""
        return [self.check(entry) for entry in self.table.values()]

    def check(self, entry: Card) -> Checked:
        """Hash one card's files."""
        places = [(self._place(entry, member), member) for member in entry.members]
        state: State = "ok"
        if not all(place.exists() for place, _ in places):
            state = "missing"
        elif not all(_sha256(place) == member.sha256 for place, member in places):
            state = "damaged"
        return Checked(entry, state, places[0][0].parent)

    def _place(self, entry: Card, member: Member) -> Path:
        return PACKAGE / member.path if entry.shipped else self.folder(entry) / member.name

    def _fetch(self, entry: Card, wanted: Distribution, progress: "Progress | None") -> None:
        from filelock import FileLock

        with self._named_errors(entry, wanted):
            for folder in ("weights", "downloads", "locks"):
                (self.home / folder).mkdir(parents=True, exist_ok=True)
            with FileLock(self.home / "locks" / f"{wanted.filename}.lock"):
                if self.check(entry).state == "ok":  # another process was faster
                    return
                try:
                    archive = self._obtain(wanted, progress)
                    # Every card of this file at once, so that it is downloaded once.
                    for other in self.table.values():
                        if other.distribution == wanted:
                            self._install(other, archive)
                finally:
                    (self.home / "downloads" / wanted.filename).unlink(missing_ok=True)

    def _obtain(self, wanted: Distribution, progress: "Progress | None") -> Path:
        """A file with the pinned hash: where it lies on this machine, or downloaded."""
        index = _fetcher(wanted)
        try:
            for where in index.locate(wanted):
                try:
                    archive = where.path or self._download(index, where, wanted, progress)
                except WeightsUnavailable as error:
                    index.reasons.append(str(error))
                    continue
                if _sha256(archive) == wanted.sha256:
                    return archive
                index.mismatches.append(f"{where.shown} has another sha256 than the card pins")
        finally:
            index.close()
        if index.mismatches:
            raise HashMismatch("; ".join(index.mismatches))
        raise WeightsUnavailable("; ".join(index.reasons) or "no index or folder offers it")

    def _download(
        self, index: "Fetcher", where: "Location", wanted: Distribution, progress: "Progress | None"
    ) -> Path:
        part = self.home / "downloads" / f"{wanted.filename}.part"
        resumed = part.exists()
        index.download(where, wanted, part, progress)
        if resumed and _sha256(part) != wanted.sha256:
            part.unlink()  # what an earlier run left was of another file: once more from the start
            index.download(where, wanted, part, progress)
        return part.replace(part.with_suffix(""))

    def _install(self, entry: Card, archive: Path) -> None:
        """Take a card's files out of the archive: aside, checked, then renamed into place."""
        folder = self.folder(entry)
        folder.mkdir(parents=True, exist_ok=True)
        for member in entry.members:
            target = folder / member.name
            if _sha256(target) == member.sha256:
                continue
            with tempfile.TemporaryDirectory(prefix=".new-", dir=folder) as aside:
                fresh = Path(aside) / member.name
                extract(archive, member, fresh)
                if _sha256(fresh) != member.sha256:
                    raise HashMismatch(f"{member.path} in {archive.name} is not what the card pins")
                if target.is_dir():  # a damaged folder: a rename cannot replace a folder that is not empty
                    target.rename(Path(aside) / "old")
                fresh.replace(target)

    @contextmanager
    def _named_errors(self, entry: Card, wanted: Distribution) -> Iterator[None]:
        """Every failure names the card and the remedy."""
        try:
            yield
        except (WeightsUnavailable, HashMismatch) as error:
            raise type(error)(
                f"{entry.id}: {_of(wanted)} cannot be used: {error}. {_remedy(entry)}"
            ) from error
        except OSError as error:
            what = (
                "is full" if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) else "cannot be written"
            )
            raise StoreUnusable(
                f"{entry.id}: the weights folder {self.home} {what} ({error.strerror or error}). It needs "
                f"{(wanted.size + entry.size) / 1e6:.0f} MB: make room, or point FACEVEIL_HOME elsewhere."
            ) from error


def _fetcher(wanted: Distribution) -> "Fetcher":
    """With an HTTP client: only for those who download."""
    if wanted.registry == "npm":
        from faceveil.models.npm import Registry

        return Registry(wanted.name)
    from faceveil.models.index import Index

    return Index()


def _of(wanted: Distribution) -> str:
    return f"{wanted.name} {wanted.version} ({wanted.filename})"


def _remedy(entry: Card) -> str:
    npm = entry.distribution is not None and entry.distribution.registry == "npm"
    settings = "npm's registry settings" if npm else "pip's index settings"
    return (
        f"Check {settings}, or put that file in a folder and set PIP_FIND_LINKS to it; or run "
        f"`faceveil models pull {entry.id}` on a machine with network and copy its FACEVEIL_HOME here."
    )


def _is_intact(place: Path, member: Member) -> bool:
    try:
        status = place.stat()
    except OSError:
        return False
    key = (place, status.st_mtime_ns, status.st_size)
    if key not in _checked and _sha256(place) == member.sha256:
        _checked.add(key)
    return key in _checked


def _files(place: Path) -> list[tuple[str, Path]]:
    """A folder's files with their paths inside it, in the order of the card's hash."""
    return sorted((path.relative_to(place).as_posix(), path) for path in place.rglob("*") if path.is_file())


def _size(place: Path) -> int:
    try:
        return (
            sum(path.stat().st_size for _, path in _files(place)) if place.is_dir() else place.stat().st_size
        )
    except OSError:
        return -1


def _sha256(place: Path) -> str | None:
    """The hash of a file; of a folder, that of its sorted lines "sha256  path"; of nothing, None."""
    try:
        if not place.is_dir():
            with place.open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
        lines = "".join(f"{_sha256(path)}  {name}\n" for name, path in _files(place))
        return hashlib.sha256(lines.encode()).hexdigest()
    except OSError:
        return None
