"""Verify: does a released folder match its run.json, and does what is in it keep the claim?

Nothing else is read: no original. Of every release: each file has the hash that
run.json names, and carries no metadata that was not kept. Of one with a k also what privacy/examine.py finds in each
photo and privacy/claim.py in all together, by the code that the run itself asked before it published them. Faces that
were joined with their photos are drawn again, by what run.json tells and the released photo: what comes out alike
holds nothing else of whom it stands for.

What this does not show: run.json is signed by nothing, so whoever can change files can change their hashes too; and
that a group shares one face does not show that the face is nobody's. `faceveil certify` compares with the originals.
"""

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from faceveil.errors import PhotoError, UsageError
from faceveil.photos import MAX_PIXELS, decode_photo, find_photos
from faceveil.photos.metadata import ALPHA
from faceveil.photos.read import read_bytes
from faceveil.privacy.claim import Judgement, judge_crops, judge_photos
from faceveil.privacy.examine import Examined, Finding, Terms, carried, examine
from faceveil.privacy.record import ReleaseRecord, ReplacedFace, name_key
from faceveil.privacy.same_face import Cut
from faceveil.show import Displayed, Table

# What joined faces are drawn again with: the generator, the face parser, and the encoder's recogniser.
DRAWING = ("mobilestylegan.ffhq-1024", "bisenet.celebamask", "mobilefacenet.facesdk")
STATE = ".faceveil"  # while a run is under way


@dataclass(frozen=True, repr=False)
class Verdict(Displayed):
    """What was found. The release is as run.json says if there are no findings; `k` is None where none is claimed.

    It is true where everything holds.
    """

    k: int | None
    kind: str  # photos, crops, or files where faces were not looked at
    files: int  # whose bytes were compared with run.json
    groups: int
    faces: int
    smallest: int  # people in the smallest group
    # Within a group, or from what is drawn again; None where no faces were compared.
    largest_difference: float | None
    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()
    covered: int = 0  # faces in no group, black
    joined: bool = False  # faces were joined with their photos, and drawn again
    recounted: bool = False  # people were counted again; else `smallest` is the run's own count

    @property
    def holds(self) -> bool:
        """Whether everything that was checked was found to be so."""
        return not self.findings

    def __bool__(self) -> bool:
        return self.holds

    @property
    def sentence(self) -> str:
        """What was checked and found, in words."""
        if not self.holds:
            count = len(self.findings)
            return f"The release does not hold: {count} {'finding' if count == 1 else 'findings'}."
        files = f"{self.files} files have the hashes that run.json names, and carry no metadata that was not kept."
        if self.k is None:
            return f"{files} It claims no k, so faces were not looked for."
        counted = "counted again" if self.recounted else "as the run counted them"
        black = f"; {self.covered} faces in no group are black" if self.covered else ""
        return (
            f"{files} The claim holds: k={self.k}, {self.faces} faces in {self.groups} groups of at least "
            f"{self.smallest} people, {counted}; {self._how}{black}. That a face is shared does not show that it is "
            "no original's; faceveil certify compares with the originals."
        )

    @property
    def _how(self) -> str:
        """How it was found that faces of a group are the same."""
        if self.largest_difference is None:
            return "the crops of a group are the same bytes"
        if not self.joined:
            return f"faces of a group differ by at most {self.largest_difference:.1f} of 255"
        return (
            "each face, drawn again from its group's face, what run.json tells of the member and the photo beside "
            f"it, differs by at most {self.largest_difference:.1f} of 255"
        )

    def table(self) -> Table:
        """One row for each finding."""
        rows = [(finding.kind, finding.where, finding.reason) for finding in self.findings]
        return Table(self.sentence, ("finding", "where", "why"), rows, self.notes)


class Engine(Protocol):
    """Apply a function to every item, here or in several processes."""

    def __call__(self, work: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]: ...


def _here(work: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
    return map(work, items)


@dataclass(frozen=True)
class _Manifest:
    """What run.json says, as far as it is checked."""

    terms: Terms
    files: Mapping[str, str]
    record: ReleaseRecord | None
    subjects: str

    @classmethod
    def read(cls, path: Path) -> "_Manifest":
        """UsageError where it cannot be made out."""
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            record = ReleaseRecord.from_json(content["released"]) if "released" in content else None
            files = {str(name): str(digest) for name, digest in content["files"].items()}
            return cls(Terms.of(content), files, record, str(content.get("subjects", "auto")))
        except KeyError as error:
            raise UsageError(f"it names no {error.args[0]}.") from error
        except (ValueError, AttributeError, TypeError, ArithmeticError, RecursionError) as error:
            raise UsageError(f"it is damaged ({error}).") from error


@dataclass(frozen=True)
class _Item:
    """A file to look at, with what run.json says of it; no faces where none are to be compared."""

    name: str
    sha256: str
    faces: tuple[ReplacedFace, ...] | None


@dataclass(frozen=True, eq=False)
class _Seen:
    """What was seen of one file; no cuts where it could not be read."""

    name: str
    sha256: str
    findings: list[Finding]
    cuts: list[Cut] | None = None
    largest: float = 0.0  # difference of a joined face from what is drawn again


def verify(path: Path | str, *, engine: Engine | None = None, max_pixels: int = MAX_PIXELS) -> Verdict:
    """Check a released folder, or one released photo with its .run.json beside it."""
    folder, file, names = located(Path(path))
    if not file.is_file():
        raise UsageError(f"{file} does not exist. Give a folder that faceveil wrote, with its run.json.")
    try:
        manifest = _Manifest.read(file)
    except UsageError as error:
        finding = Finding("record", file.name, f"it cannot be checked: {error}")
        return Verdict(None, "files", 0, 0, 0, 0, None, (finding,))
    record = manifest.record if manifest.record is not None and manifest.record.k is not None else None
    findings, items = _known(names, manifest, record)
    photos = record is not None and record.kind == "photos"
    work = partial(_look, folder, manifest.terms, max_pixels)
    seen = sorted((engine if engine and photos else _here)(work, items), key=lambda one: one.name)
    for one in seen:
        findings += one.findings
    judged = _judged(record, manifest.subjects, seen)
    notes = judged.notes
    if missing := len(manifest.files) - len(items):
        notes = [*notes, f"{missing} files that run.json names are not there."]
    sizes = list(record.groups.values()) if record else []
    return Verdict(
        record.k if record else None,
        record.kind if record else "files",
        len(items),
        len(sizes),
        sum(size.faces for size in sizes),
        min((size.people for size in sizes), default=0) if judged.smallest is None else judged.smallest,
        round(max([judged.largest, *(one.largest for one in seen)]), 2) if photos else None,
        (*findings, *judged.findings),
        tuple(notes),
        judged.covered,
        record is not None and record.joined,
        judged.smallest is not None,
    )


def needed(path: Path) -> tuple[str, ...]:
    """The weights that checking a release takes."""
    try:
        record = _Manifest.read(located(path)[1]).record
    except (OSError, UsageError):
        record = None
    joined = record is not None and record.joined
    return ("yunet.2023mar", "blazeface.back", "facemesh.468", *(DRAWING if joined else ()))


def strangers(path: Path, known: Collection[str]) -> list[str]:
    """The files in a released folder that are not of the release, but for what a run keeps there while it works."""
    names = located(path)[2] if path.is_dir() else []
    return [name for name in names if name not in known and not name.startswith(STATE)]


def located(path: Path) -> tuple[Path, Path, list[str]]:
    """The released folder, its manifest, and the names of all files in it besides that."""
    if path.is_dir():
        folder, manifest = path, path / "run.json"
        found = find_photos([path])
        files = [photo.path for photo in found.photos] + [file.path for file in found.skipped]
        names = [file.relative_to(path).as_posix() for file in files if file != manifest]
    else:
        folder, manifest, names = path.parent, path.with_suffix(".run.json"), [path.name]
    return folder, manifest, sorted(names)


def _known(
    names: Iterable[str], manifest: _Manifest, record: ReleaseRecord | None
) -> tuple[list[Finding], list[_Item]]:
    """The files that run.json names, and what is wrong with the others."""
    findings, items = [], []
    photos = record.photos if record is not None and record.kind == "photos" else None
    for name in names:
        digest = manifest.files.get(name_key(name))
        faces = None if photos is None else photos.get(name_key(name))
        if digest is None or (photos is not None and faces is None):
            unfinished = name.startswith(STATE)
            reason = "the run is not complete." if unfinished else "run.json does not name this file."
            findings.append(Finding("stranger", name, reason))
        else:
            items.append(_Item(name, digest, faces))
    return findings, items


def _look(folder: Path, terms: Terms, max_pixels: int, item: _Item) -> _Seen:
    """One file: its hash, what it carries, and its faces if they are recorded."""
    try:
        data = read_bytes(folder / item.name, max_pixels=max_pixels)
    except PhotoError as error:
        return _Seen(item.name, "", [Finding("unreadable", item.name, str(error))])
    digest = hashlib.sha256(data).hexdigest()
    findings = carried(item.name, data, terms)
    if digest != item.sha256:
        findings.append(Finding("changed", item.name, "its bytes have another hash than run.json names."))
    if item.faces is None or any(finding.kind == "unreadable" for finding in findings):
        return _Seen(item.name, digest, findings)
    try:
        photo = decode_photo(data, path=folder / item.name, max_pixels=max_pixels, keep_metadata=(ALPHA,))
    except PhotoError as error:
        return _Seen(item.name, digest, [*findings, Finding("unreadable", item.name, str(error))])
    looked: Examined = examine(item.name, photo, item.faces, terms)
    return _Seen(item.name, digest, findings + looked.findings, looked.cuts, looked.largest)


def _judged(record: ReleaseRecord | None, subjects: str, seen: Iterable[_Seen]) -> Judgement:
    """What is to be said of all files together."""
    if record is None:
        return Judgement()
    if record.kind == "crops":
        return judge_crops(record, subjects, {one.name: one.sha256 for one in seen})
    cuts = {one.name: one.cuts for one in seen if one.cuts is not None}
    return judge_photos(record, subjects, cuts, cuts.__getitem__)
