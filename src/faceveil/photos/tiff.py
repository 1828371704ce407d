"""The directories of a TIFF file, or of an EXIF block, which is a TIFF file without a picture."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from faceveil.photos.walk import BrokenContainer

_TYPE_SIZES = {
    1: 1,
    2: 1,
    3: 2,
    4: 4,
    5: 8,
    6: 1,
    7: 1,
    8: 2,
    9: 4,
    10: 8,
    11: 4,
    12: 8,
    13: 4,
    16: 8,
    17: 8,
    18: 8,
}
_WHOLE = {1: "B", 3: "H", 4: "I", 13: "I", 16: "Q", 18: "Q"}
_MAX_VALUES = 4 << 20  # more tags and numbers than any real file has: directories may overlap and repeat

NEW_SUBFILE_TYPE = 254
SUBFILE_TYPE = 255


@dataclass(frozen=True)
class Tag:
    """One entry: its number, type, and the bytes of its value in the file."""

    number: int
    type: int
    count: int
    start: int
    size: int


@dataclass(frozen=True)
class Directory:
    """One image file directory."""

    offset: int
    end: int
    tags: tuple[Tag, ...]
    next: int

    def find(self, number: int) -> Tag | None:
        """The tag of this number."""
        return next((tag for tag in self.tags if tag.number == number), None)


class TiffData:
    """Random access to the directories of one TIFF block; offsets count from its first byte."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self._values_left = _MAX_VALUES
        head = data[:16]
        if head[:4] not in (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"):
            raise BrokenContainer(0, "no TIFF header")
        self.order = "<" if head[:2] == b"II" else ">"
        self.big = head[2:4] in (b"+\0", b"\0+")
        if len(head) < (16 if self.big else 8):
            raise BrokenContainer(0, "no TIFF header")
        self.first: int = struct.unpack_from(
            self.order + ("Q" if self.big else "I"), head, 8 if self.big else 4
        )[0]

    def chain(self, offset: int | None = None) -> Iterator[Directory]:
        """The directories from this offset (the first one's, by default) on; a loop ends the chain."""
        position = self.first if offset is None else offset
        seen: set[int] = set()
        while position and position not in seen:
            seen.add(position)
            directory = self.directory(position)
            yield directory
            position = directory.next

    def directory(self, offset: int) -> Directory:
        """The directory at this offset."""
        count_format, entry_size, link = ("Q", 20, "Q") if self.big else ("H", 12, "I")
        head, tail = struct.calcsize("=" + count_format), struct.calcsize("=" + link)
        if offset + head > len(self.data):
            raise BrokenContainer(offset, "a directory lies outside the file")
        (count,) = struct.unpack_from(self.order + count_format, self.data, offset)
        entries = offset + head
        end = entries + count * entry_size
        if end > len(self.data):
            raise BrokenContainer(offset, "a directory runs past the end of the file")
        self._spend(10 * (count + 1), offset)  # reading a tag costs about as much as ten numbers
        tags = tuple(self._tag(entries + index * entry_size) for index in range(count))
        following = 0
        if end + tail <= len(self.data):
            (following,) = struct.unpack_from(self.order + link, self.data, end)
        return Directory(offset, min(end + tail, len(self.data)), tags, following)

    def _tag(self, position: int) -> Tag:
        value_format, inline = ("Q", 8) if self.big else ("I", 4)
        number, kind, count = struct.unpack_from(self.order + "HH" + value_format, self.data, position)
        value_at = position + 4 + inline
        size = _TYPE_SIZES.get(kind, 1) * count
        if size > inline:
            (value_at,) = struct.unpack_from(self.order + value_format, self.data, value_at)
        return Tag(number, kind, count, value_at, size)

    def whole_numbers(self, tag: Tag | None) -> list[int]:
        """The values of a tag that holds whole numbers; [] where it holds anything else or lies outside."""
        if tag is None or tag.type not in _WHOLE or tag.start + tag.size > len(self.data):
            return []
        self._spend(tag.count, tag.start)
        return list(struct.unpack_from(f"{self.order}{tag.count}{_WHOLE[tag.type]}", self.data, tag.start))

    def _spend(self, values: int, offset: int) -> None:
        self._values_left -= values
        if self._values_left < 0:
            raise BrokenContainer(offset, "too many values")

    def text(self, tag: Tag, limit: int = 60) -> str:
        """The printable beginning of a text value."""
        raw = self.data[tag.start : tag.start + min(tag.size, limit)]
        return "".join(c if c.isprintable() else " " for c in raw.decode("utf-8", "replace")).strip()


def is_preview(data: TiffData, directory: Directory) -> bool:
    """Whether the directory holds a smaller copy or a mask of another picture in the file."""
    new, old = (data.whole_numbers(directory.find(tag)) for tag in (NEW_SUBFILE_TYPE, SUBFILE_TYPE))
    return bool(new and new[0] & 0b101) or old == [2]


def still_page(data: bytes) -> tuple[int, int]:
    """Which directory holds the picture, and how many directories hold pictures of their own."""
    tiff = TiffData(data)
    pages = [index for index, directory in enumerate(tiff.chain()) if not is_preview(tiff, directory)]
    return (pages[0], len(pages)) if pages else (0, 1)
