"""What the tags of an EXIF block or a TIFF file tell about the people in and behind the picture."""

from collections.abc import Collection, Iterator

from PIL.ExifTags import GPSTAGS, TAGS

from faceveil.photos.leak import Leak
from faceveil.photos.tiff import Directory, Tag, TiffData, is_preview
from faceveil.photos.walk import BrokenContainer

_EXIF_IFD, _GPS_IFD, _INTEROP_IFD, _SUB_IFDS = 0x8769, 0x8825, 0xA005, 0x014A
_POINTERS = {_EXIF_IFD: "exif", _GPS_IFD: "gps", _INTEROP_IFD: "exif", _SUB_IFDS: "further"}
_STRIPS = ((273, 279), (324, 325), (513, 514), (288, 289))  # offsets and byte counts
_THUMBNAIL_BYTES = 0x0202

# What a TIFF needs to show its pixels; 274 (orientation) is judged by its value.
_STRUCTURE = {
    *(
        254,
        255,
        256,
        257,
        258,
        259,
        262,
        263,
        266,
        273,
        274,
        277,
        278,
        279,
        284,
        290,
        291,
        292,
        293,
        317,
        318,
        319,
    ),
    *(320, 322, 323, 324, 325, 332, 334, 338, 339, 340, 341, 347, *range(512, 522), 529, 530, 531, 532),
}
_ORIENTATION = 274
# tag → (kind, what it is)
_TELLING = {
    0x010E: ("text", "a description of the picture"),
    0x013B: ("person", "the name of who made the picture"),
    0x013C: ("person", "the name of a computer"),
    0x8298: ("person", "the copyright holder"),
    0x9C9B: ("text", "a title"),
    0x9C9C: ("text", "a comment"),
    0x9C9D: ("person", "the name of an author"),
    0x9C9E: ("text", "keywords"),
    0x9C9F: ("text", "a subject"),
    0x9286: ("text", "a user's comment"),
    0xA430: ("person", "the name of the camera's owner"),
    0xA437: ("person", "the name of the photographer"),
    0xA438: ("person", "the name of the editor"),
    0xA431: ("serial-number", "the camera's serial number"),
    0xA435: ("serial-number", "the lens's serial number"),
    0xC62F: ("serial-number", "the camera's serial number"),
    0xA420: ("serial-number", "a number that is this picture's alone"),
    0x0132: ("time", "when the file was changed"),
    0x9003: ("time", "when the picture was taken"),
    0x9004: ("time", "when the picture was digitised"),
    0x927C: (
        "maker-note",
        "a block that only the camera's maker can read; may hold previews and serial numbers",
    ),
    0x02BC: ("xmp", "XMP; may hold names, places, edits and previews"),
    0x83BB: ("iptc", "IPTC; may hold names and captions"),
    0x8649: ("iptc", "Photoshop resources; may hold a thumbnail"),
    0x935C: ("text", "Photoshop layers; may hold the picture as it was"),
    0x8773: ("icc", "a colour profile"),
    0x011A: ("resolution", "dots per inch"),
    0x011B: ("resolution", "dots per inch"),
    0x0128: ("resolution", "the unit of the resolution"),
}


_RESOLUTION = (0x011A, 0x011B, 0x0128)
_POSITION = (1, 2, 3, 4, 5, 6, 7, 29)  # latitude, longitude, altitude, time and date; no free-form field


def exif_leaks(data: bytes, name: str = "EXIF", allow: Collection[str] = ()) -> Iterator[Leak]:
    """What an EXIF block holds; one that is empty, or cannot be followed, is itself reported.

    A block of nothing but values that are allowed by name is no leak.
    """
    inside = list(_inside_exif(data, name, allow))
    if inside or not allow or not _has_values(data):
        yield Leak("exif", name, len(data), "a block of tags")
    yield from inside


def _has_values(data: bytes) -> bool:
    tiff = TiffData(data)
    return any(tag.number not in _POINTERS for _, directory in _directories(tiff) for tag in directory.tags)


def _inside_exif(data: bytes, name: str, allow: Collection[str]) -> Iterator[Leak]:
    try:
        tiff = TiffData(data)
        known = [(0, 16 if tiff.big else 8)]
        for role, directory in _directories(tiff):
            known += _extents(tiff, directory)
            if role == "further":
                sizes = tiff.whole_numbers(directory.find(_THUMBNAIL_BYTES))
                yield Leak(
                    "thumbnail", f"{name} thumbnail", sum(sizes), "a small copy of the picture as it was"
                )
            yield from _tag_leaks(tiff, directory, role, name, set(), allow)
        if stray := _stray_bytes(data, known):
            yield Leak("trailing", f"{name} gaps", stray, "bytes that belong to no tag")
    except BrokenContainer as error:
        yield Leak("unchecked", name, len(data), f"cannot be followed to its end: {error}")


def tiff_leaks(data: bytes, allow: Collection[str] = ()) -> Iterator[Leak]:
    """What a TIFF file holds besides one picture; raises BrokenContainer where it cannot be followed."""
    tiff = TiffData(data)
    known = [(0, 16 if tiff.big else 8)]
    for role, directory in _directories(tiff):
        known += _extents(tiff, directory)
        if role == "further":
            size = sum(end - start for start, end in _extents(tiff, directory))
            small = is_preview(tiff, directory)
            words = "a smaller copy or mask of the picture" if small else "another picture in the same file"
            yield Leak("preview" if small else "picture", "TIFF directory", size, words)
        turned = tiff.whole_numbers(directory.find(_ORIENTATION))
        if role == "picture" and turned not in ([], [1]):
            yield Leak("exif", "Orientation", 2, "how the camera was held")
        yield from _tag_leaks(tiff, directory, role, "TIFF", _STRUCTURE, allow)
    if stray := _stray_bytes(data, known):
        yield Leak("trailing", "unreferenced bytes", stray, "bytes that belong to no part of the picture")


def _directories(tiff: TiffData) -> Iterator[tuple[str, Directory]]:
    """Every directory once, with its role: picture, further, exif or gps."""
    seen: set[int] = set()
    pending = [("picture", tiff.first)]
    while pending:
        role, offset = pending.pop()
        if not offset or offset in seen:
            continue
        seen.add(offset)
        directory = tiff.directory(offset)
        yield role, directory
        pending.append(("further" if role == "picture" else role, directory.next))
        for tag in directory.tags:
            if tag.number in _POINTERS:
                pending += [(_POINTERS[tag.number], target) for target in tiff.whole_numbers(tag)]


def _tag_leaks(
    tiff: TiffData, directory: Directory, role: str, block: str, structure: set[int], allow: Collection[str]
) -> Iterator[Leak]:
    plain: list[Tag] = []
    for tag in directory.tags:
        if tag.number in _POINTERS or tag.number in structure or _allowed(tag, role, allow):
            continue
        if role != "gps" and tag.number in _TELLING:
            kind, words = _TELLING[tag.number]
            value = f": {tiff.text(tag)}" if tag.type == 2 else ""
            yield Leak(kind, _name(tag, role), tag.size, words + value)
        elif role != "further":  # a preview's own tags are part of the preview
            plain.append(tag)
    if plain:
        names = ", ".join(_name(tag, role) for tag in plain[:6]) + (", …" if len(plain) > 6 else "")
        kind, what = (
            ("gps", "where the picture was taken")
            if role == "gps"
            else ("exif", "camera, settings and the like")
        )
        size = sum(tag.size for tag in plain)
        yield Leak(kind, "GPS" if role == "gps" else block, size, f"{what}, {len(plain)} values: {names}")


def _allowed(tag: Tag, role: str, allow: Collection[str]) -> bool:
    """Whether the tag is one of the names that may stay; in a preview nothing is."""
    if role == "further":
        return False
    if role == "gps":
        return "GPSInfo" in allow and tag.number in _POSITION
    return TAGS.get(tag.number) in allow or ("dpi" in allow and tag.number in _RESOLUTION)


def _name(tag: Tag, role: str) -> str:
    names = GPSTAGS if role == "gps" else TAGS
    return names.get(tag.number, f"tag {tag.number}")


def _extents(tiff: TiffData, directory: Directory) -> list[tuple[int, int]]:
    """The parts of the file that this directory accounts for."""
    parts = [(directory.offset, directory.end)]
    parts += [(tag.start, tag.start + tag.size) for tag in directory.tags]
    for offsets, sizes in _STRIPS:
        starts = tiff.whole_numbers(directory.find(offsets))
        lengths = tiff.whole_numbers(directory.find(sizes))
        parts += [(start, start + length) for start, length in zip(starts, lengths, strict=False)]
    return parts


def _stray_bytes(data: bytes, known: list[tuple[int, int]]) -> int:
    """How many bytes lie in gaps that nothing refers to; gaps of zeros are padding."""
    stray, position = 0, 0
    for start, end in [*sorted(known), (len(data), len(data))]:
        gap = data[position:start]
        if gap.strip(b"\0"):
            stray += len(gap)
        position = max(position, end)
    return stray
