"""Judge a release: do the files that are there keep what its record claims? Asked by a run before it publishes its
record, and by `verify`.

Faces in photos are compared within their group, unless they were joined with their photos: each of those was compared
with what is drawn again (privacy/examine.py). Every group must have k people. How many people are behind a group's
faces is counted again where files can tell (privacy/recount.py); else it is the run's own count, and a note says so.

Tolerance, measured on 61 faces of 14 to 420 px in 43 JPEG files of quality 30 to 95, k = 3 and 12 (mean difference
of the inner face's worst cell, 0 to 255). Genuine faces: at most 5.4 in 1,078 pairs. Another group's face: at least
17.1; the original face left: at least 17.3; the original eyes alone put back: at least 10.5. Very small faces in
coarse JPEG can differ by more than is allowed; a run then withholds their photo, or gives it another face.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from faceveil.privacy.examine import TOLERANCE, Finding
from faceveil.privacy.record import COVERED, GroupSize, ReleaseRecord, name_key
from faceveil.privacy.recount import Recount, recount
from faceveil.privacy.same_face import Cut, difference

OF_A_GROUP = ("record", "group-size")  # kinds of findings that are about a group and no file
REFERENCES = 3  # faces of a group that are tried as the one to compare with
CutsOf = Callable[[str], Sequence[Cut]]  # of each recorded face in the photo of that name


@dataclass
class Judgement:
    """What the checks of a whole release came to."""

    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    largest: float = 0.0  # difference within a group
    covered: int = 0  # faces in no group
    smallest: int | None = None  # people in the smallest group, counted again

    def add(self, kind: str, where: str, reason: str) -> None:
        self.findings.append(Finding(kind, where, reason))


def judge_photos(record: ReleaseRecord, subjects: str, names: Iterable[str], cuts_of: CutsOf) -> Judgement:
    """The faces in these photos, all of which the record knows."""
    found = Judgement()
    places: dict[int, list[tuple[str, int]]] = defaultdict(list)
    for name in sorted(names):
        for number, face in enumerate(record.photos[name_key(name)]):
            places[face.group].append((name, number))
    found.covered = len(places.pop(COVERED, []))
    for group in sorted(places):
        joined = {record.photos[name_key(name)][number].joined is not None for name, number in places[group]}
        if len(joined) > 1:
            found.add(
                "record", f"group {group}", "some of its faces are recorded as joined, and some are not."
            )
        elif joined == {False}:
            _compare(group, [(name, cuts_of(name)[number]) for name, number in places[group]], found)
    recorded = Counter(face.group for faces in record.photos.values() for face in faces)
    del recorded[COVERED]
    _judge_sizes(
        record,
        subjects,
        {group: [name for name, _ in pairs] for group, pairs in places.items()},
        recorded,
        found,
    )
    return found


def judge_crops(record: ReleaseRecord, subjects: str, pictures: Mapping[str, str]) -> Judgement:
    """Crops by name, each with what stands for its bytes."""
    found = Judgement()
    there: dict[int, list[str]] = defaultdict(list)
    first: dict[int, str] = {}
    for name in sorted(pictures):
        group = group_of_crop(name)
        if group is None or group not in record.groups:
            found.add("stranger", name, "it is no crop of a group that run.json names.")
            continue
        there[group].append(name)
        if pictures[name] != first.setdefault(group, pictures[name]):
            found.add("different-face", name, "it differs from the other crops of its group.")
    for group, size in record.groups.items():
        if len(there[group]) > size.faces:
            found.add(
                "stranger", f"group {group}", f"{len(there[group])} crops; run.json names {size.faces}."
            )
    recorded = Counter({group: size.faces for group, size in record.groups.items()})
    _judge_sizes(record, subjects, there, recorded, found)
    return found


def group_of_crop(name: str) -> int | None:
    """The group that a crop's name says: group-0003/0001.png."""
    place, _, file = name.partition("/")
    number = place.removeprefix("group-")
    is_crop = number != place and number.isdecimal() and file.endswith(".png") and "/" not in file
    return int(number) if is_crop else None


def _compare(group: int, cuts: list[tuple[str, Cut]], found: Judgement) -> None:
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


def _judge_sizes(
    record: ReleaseRecord,
    subjects: str,
    places: Mapping[int, Sequence[str]],
    recorded: Counter[int],
    found: Judgement,
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
        size = record.groups.get(group, GroupSize(0, 0))
        _judge_size(record.k, group, size, recorded[group], len(places.get(group, ())), counted, found)


def _judge_size(
    k: int, group: int, size: GroupSize, recorded: int, there: int, counted: Recount, found: Judgement
) -> None:
    people, missing = counted.people.get(group, 0), max(0, size.faces - there)
    if wrong := _wrong_count(size, recorded, None if missing else people, counted.exact):
        found.add("record", f"group {group}", wrong)
        return
    left = people if counted.exact else size.people - missing
    if left < k:
        why = f", of which {missing} faces are missing" if missing else ""
        found.add("group-size", f"group {group}", f"it has {size.people} people{why}; k={k} was claimed.")
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
