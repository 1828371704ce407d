"""Verify: re-derive the claim of a released folder from what is in it, and from nothing else.

Crops are grouped by their bytes. Faces in photos are cut back out through the recorded alignment and compared
within their group. Every file must be one the run wrote, every face one of a group or black, every group of k
people. How many people are behind a group's faces is counted again where files can tell (privacy/recount.py); else
it is the run's own count, and the verdict says so.

Tolerance, measured on 61 faces of 14 to 420 px in 43 JPEG files of quality 30 to 95, k = 3 and 12 (mean difference
of the inner face's worst cell, 0 to 255). Genuine faces: at most 5.4 in 1,078 pairs. Another group's face: at least
17.1; the original face left: at least 17.3; the original eyes alone put back: at least 10.5.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from faceveil.errors import FaceveilError, PhotoError, UsageError
from faceveil.faces.looks import find_in_photo
from faceveil.faces.replace import is_checkable, is_replaced, visible_inner
from faceveil.photos import find_photos, read_photo, scan_leaks
from faceveil.photos.metadata import ALPHA
from faceveil.photos.transparency import shown
from faceveil.privacy.record import COVERED, GroupSize, ReleaseRecord, ReplacedFace, name_key
from faceveil.privacy.recount import recount
from faceveil.privacy.same_face import SIDE, Cut, cut_out, difference

TOLERANCE = 8.0
DETECTORS = ("yunet", "blazeface")
STATE = ".faceveil"  # while a run is under way
REFERENCES = 3  # faces of a group that are tried as the one to compare with


@dataclass(frozen=True)
class Finding:
    """One reason why the claim does not hold."""

    kind: str
    where: str
    reason: str


@dataclass(frozen=True)
class Verdict:
    """What was re-derived. The claim holds if there are no findings."""

    k: int | None
    kind: str
    groups: int
    faces: int
    smallest: int  # people in the smallest group
    largest_difference: float | None  # within a group; None where crops were compared by their bytes
    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()
    covered: int = 0  # faces in no group, black
    recounted: bool = False  # people were counted again; else `smallest` is the run's own count

    @property
    def holds(self) -> bool:
        """Whether everything that was claimed was found to be so."""
        return not self.findings


class Engine(Protocol):
    """Apply a function to every item, here or in several processes."""

    def __call__(self, work: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]: ...


def _here(work: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
    return map(work, items)


@dataclass
class _Found:
    """What the checks have come to so far."""

    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    largest: float = 0.0
    covered: int = 0
    smallest: int | None = None  # people in the smallest group, counted again

    def add(self, kind: str, where: str, reason: str) -> None:
        self.findings.append(Finding(kind, where, reason))


def verify(path: Path | str, *, engine: Engine | None = None) -> Verdict:
    """Check a released folder, or one released photo with its .run.json beside it."""
    folder, manifest, names = _locate(Path(path))
    found = _Found()
    try:
        content = json.loads(manifest.read_text(encoding="utf-8"))
        record = ReleaseRecord.from_json(content["released"]) if "released" in content else None
        allow, thorough = tuple(content.get("kept_metadata", ())), bool(content.get("thorough"))
        subjects = str(content.get("subjects", "auto"))
    except (ValueError, AttributeError, TypeError, UsageError) as error:
        found.add("record", manifest.name, f"it cannot be read: {error}")
        return Verdict(None, "unknown", 0, 0, 0, None, tuple(found.findings))
    if record is None or record.k is None:
        found.add("claim", manifest.name, "the run claims no k-anonymity, so there is nothing to re-derive.")
        record = record or ReleaseRecord("photos", None, {})
    elif record.kind == "crops":
        _check_crops(folder, names, record, subjects, allow, found)
    else:
        look = partial(_look, folder, allow, thorough)
        _check_photos(names, record, subjects, look, engine or _here, found)
    people = [size.people for size in record.groups.values()]
    return Verdict(
        record.k,
        record.kind,
        len(record.groups),
        sum(size.faces for size in record.groups.values()),
        min(people, default=0) if found.smallest is None else found.smallest,
        round(found.largest, 2) if record.kind == "photos" else None,
        tuple(found.findings),
        tuple(found.notes),
        found.covered,
        found.smallest is not None,
    )


def _locate(path: Path) -> tuple[Path, Path, list[str]]:
    """The released folder, its manifest, and the names of all files in it besides that."""
    if path.is_dir():
        folder, manifest = path, path / "run.json"
        found = find_photos([path])
        files = [photo.path for photo in found.photos] + [file.path for file in found.skipped]
        names = [file.relative_to(path).as_posix() for file in files if file != manifest]
    else:
        folder, manifest, names = path.parent, path.with_suffix(".run.json"), [path.name]
    if not manifest.is_file():
        raise UsageError(f"{manifest} does not exist. Give a folder that faceveil wrote, with its run.json.")
    return folder, manifest, sorted(names)


def _check_sizes(
    record: ReleaseRecord,
    subjects: str,
    places: Mapping[int, Sequence[str]],
    recorded: Counter[int],
    found: _Found,
) -> None:
    """Each group has k people: counted again, or also if every missing face were the only one of its person."""
    assert record.k is not None
    counted = recount(subjects, record.kind, places)
    if counted.exact:
        found.smallest = min(counted.people.values(), default=0)
    elif record.groups:
        found.notes.append(
            f"how many people are behind each group is the run's own count (subjects: {subjects}); faces that are "
            "the same cannot show it."
        )
    for group in sorted(set(recorded) | set(record.groups)):
        size, people = record.groups.get(group, GroupSize(0, 0)), counted.people.get(group, 0)
        missing = max(0, size.faces - len(places.get(group, ())))
        if wrong := _wrong_count(size, recorded[group], None if missing else people, counted.exact):
            found.add("record", f"group {group}", wrong)
            continue
        left = people if counted.exact else size.people - missing
        if left < record.k:
            why = f", of which {missing} faces are missing" if missing else ""
            found.add(
                "group-size", f"group {group}", f"it has {size.people} people{why}; k={record.k} was claimed."
            )
        elif missing:
            found.notes.append(
                f"group {group}: {missing} of {size.faces} faces are missing; at least {left} people remain."
            )


def _wrong_count(size: GroupSize, recorded: int, people: int | None, exact: bool) -> str:
    """What is wrong with a group's recorded size; `people` are those counted again, where no file is missing."""
    if recorded != size.faces or not 0 < size.people <= size.faces:
        return f"{size.people} people in {size.faces} faces are recorded, and {recorded} places."
    if people is not None and (size.people > people or (exact and size.people != people)):
        return (
            f"{size.people} people are recorded; the files show {people if exact else f'at most {people}'}."
        )
    return ""


def _check_crops(
    folder: Path,
    names: list[str],
    record: ReleaseRecord,
    subjects: str,
    allow: tuple[str, ...],
    found: _Found,
) -> None:
    there: dict[int, list[str]] = defaultdict(list)
    pictures: dict[int, bytes] = {}
    for name in names:
        place, _, file = name.partition("/")
        number = place.removeprefix("group-")
        if not (
            number.isdigit() and int(number) in record.groups and file.endswith(".png") and "/" not in file
        ):
            found.add("stranger", name, "the run did not write this file.")
            continue
        group, data = int(number), (folder / name).read_bytes()
        there[group].append(name)
        if data != pictures.setdefault(group, data):
            found.add("different-face", name, "it differs from the other crops of its group.")
        _check_leaks(name, data, allow, found)
    for group, size in record.groups.items():
        if len(there[group]) > size.faces:
            found.add("stranger", f"group {group}", f"{len(there[group])} crops; the run wrote {size.faces}.")
    recorded = Counter({group: size.faces for group, size in record.groups.items()})
    _check_sizes(record, subjects, there, recorded, found)


def _check_leaks(name: str, data: bytes, allow: tuple[str, ...], found: _Found) -> None:
    try:
        for leak in scan_leaks(data, allow=allow):
            found.add("metadata", name, f"it carries {leak.name} ({leak.kind}).")
    except PhotoError as error:
        found.add("unreadable", name, str(error))


@dataclass(frozen=True, eq=False)
class _Seen:
    """What was seen in one photo."""

    name: str
    cuts: list[tuple[int, Cut]]
    findings: list[Finding]


def _check_photos(
    names: list[str],
    record: ReleaseRecord,
    subjects: str,
    look: Callable[[tuple[str, tuple[ReplacedFace, ...]]], _Seen],
    engine: Engine,
    found: _Found,
) -> None:
    known = {name: record.photos.get(name_key(name)) for name in names}
    for name in (name for name, faces in known.items() if faces is None):
        unfinished = name.startswith(STATE)
        found.add(
            "stranger", name, "the run is not complete." if unfinished else "the run did not write this file."
        )
    items = [(name, faces) for name, faces in known.items() if faces is not None]
    cuts: dict[int, list[tuple[str, Cut]]] = {}
    for seen in engine(look, items):
        found.findings += seen.findings
        for group, cut in seen.cuts:
            cuts.setdefault(group, []).append((seen.name, cut))
    covered = cuts.pop(COVERED, [])
    found.covered = len(covered)
    for name, cut in covered:
        _check_black(name, cut, found)
    for group in sorted(cuts):
        _compare(group, sorted(cuts[group], key=lambda pair: pair[0]), found)
    recorded = Counter(face.group for faces in record.photos.values() for face in faces)
    del recorded[COVERED]
    places = {group: [name for name, _ in pairs] for group, pairs in cuts.items()}
    _check_sizes(record, subjects, places, recorded, found)
    if missing := len(record.photos) - len(items):
        found.notes.append(f"{missing} photos that the run wrote are not there.")


def _look(
    folder: Path, allow: tuple[str, ...], thorough: bool, item: tuple[str, tuple[ReplacedFace, ...]]
) -> _Seen:
    """Cut the recorded faces of one photo out, and look for faces that nobody recorded."""
    name, faces = item
    found = _Found()
    try:
        photo = read_photo(folder / name, keep=(ALPHA,))  # a leak unless allowed, and searched in any case
    except FaceveilError as error:
        return _Seen(name, [], [Finding("unreadable", name, str(error))])
    _check_leaks(name, (folder / name).read_bytes(), allow, found)
    places = [face.place for face in faces]
    for detector in DETECTORS:
        for seen in find_in_photo(photo, detector, thorough=thorough):
            if not is_replaced(seen, places):
                x, y = (round(float(value)) for value in seen.centre)
                found.add(
                    "unexplained-face", name, f"{detector} sees a face at {x}, {y} that is in no group."
                )
    cuts, image = [], shown(photo)
    for face, visible in zip(faces, visible_inner(places, photo.size_wh, SIDE), strict=True):
        if face.group != COVERED and not is_checkable(visible):
            found.add(
                "hidden-face", name, f"a face of group {face.group} cannot be seen well enough to compare."
            )
        cuts.append((face.group, cut_out(image, face.place, visible)))
    return _Seen(name, cuts, found.findings)


def _check_black(name: str, cut: Cut, found: _Found) -> None:
    """A face in no group must be black wherever it can be seen."""
    off = difference(cut, Cut(np.zeros_like(cut.pixels), cut.visible, cut.side))
    if off > TOLERANCE and cut.visible.any():
        found.add("uncovered-face", name, "a face that is recorded as covered is not black.")


def _compare(group: int, cuts: list[tuple[str, Cut]], found: _Found) -> None:
    """All faces of a group against one of them: the one of the finest three that most others agree with."""
    finest = sorted(cuts, key=lambda pair: (-float(pair[1].visible.sum()), -pair[1].side))[:REFERENCES]
    tried = [[difference(cut, reference) for _, cut in cuts] for _, reference in finest]
    differences = min(tried, key=lambda values: (sum(value > TOLERANCE for value in values), max(values)))
    for (name, _), value in zip(cuts, differences, strict=True):
        if value > TOLERANCE:
            found.add(
                "different-face",
                name,
                f"a face differs from the others of group {group} by {value:.1f}; {TOLERANCE:.0f} is allowed.",
            )
        else:
            found.largest = max(found.largest, value)
