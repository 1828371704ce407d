"""HEIF containers, as HEIC and AVIF files are: which items a file holds, which of them make up the picture, and where
their bytes lie. Read box by box (ISO/IEC 14496-12 and 23008-12), without decoding anything.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

from faceveil.photos.walk import BrokenContainer

ALPHA_TYPES = ("urn:mpeg:mpegB:cicp:systems:auxiliary:alpha", "urn:mpeg:hevc:2015:auxid:1")
DEPTH_TYPES = ("urn:mpeg:mpegB:cicp:systems:auxiliary:depth", "urn:mpeg:hevc:2015:auxid:2")
CODED, DERIVED = (
    ("hvc1", "av01"),
    ("grid", "iden", "iovl"),
)  # items that are pictures: coded, or made of others
MOST_ITEMS = 4096  # tiles, thumbnails and metadata; the largest sensors need some hundreds
MOST_EXTENTS = MOST_BOXES = 65_536


@dataclass(frozen=True)
class Box:
    """One box: its kind, where it and its payload begin, where both end."""

    kind: str
    begin: int
    start: int
    end: int


@dataclass(frozen=True)
class Item:
    """One item: a picture, a tile, or metadata."""

    id: int
    kind: str
    name: str = ""
    content_type: str = ""
    extents: tuple[tuple[int, int], ...] = ()  # in the file
    properties: tuple[Box, ...] = ()

    @property
    def is_picture(self) -> bool:
        """Whether its kind is that of pixels, readable here or not."""
        return self.kind in CODED or self.kind in DERIVED or self.kind in ("jpeg", "avc1", "unci", "tmap")


@dataclass(frozen=True)
class Reference:
    """One item says what another is to it: thmb, auxl, dimg, cdsc, prem."""

    kind: str
    source: int
    targets: tuple[int, ...]


@dataclass(frozen=True)
class Heif:
    """A file's boxes and items."""

    data: bytes = field(repr=False)
    top: tuple[Box, ...]
    meta: tuple[Box, ...]
    items: dict[int, Item]
    references: tuple[Reference, ...]
    primary: int

    @cached_property
    def picture(self) -> frozenset[int]:
        """The items that are shown: the primary one, what it is made of, and their alpha."""
        shown, waiting = set[int](), [self.primary]
        while waiting:
            number = waiting.pop()
            if number not in shown and number in self.items:
                shown.add(number)
                waiting += self._sources(number)
                waiting += [one.source for one in self.references if self._is_alpha(one, number)]
        return frozenset(shown)

    def _sources(self, number: int) -> Iterator[int]:
        for one in self.references:
            if one.kind == "dimg" and one.source == number:
                yield from one.targets

    def _is_alpha(self, reference: Reference, number: int) -> bool:
        return (
            reference.kind == "auxl"
            and number in reference.targets
            and self.auxiliary_type(reference.source) in ALPHA_TYPES
        )

    @property
    def has_alpha(self) -> bool:
        """Whether the picture has an alpha channel."""
        return any(self.auxiliary_type(number) in ALPHA_TYPES for number in self.picture)

    def size_wh(self, number: int) -> tuple[int, int] | None:
        """The size that an item's header says."""
        box = self.property(number, "ispe")
        if box is None or box.end - box.start < 12:
            return None
        return self._number(box.start + 4, 4), self._number(box.start + 8, 4)

    def auxiliary_type(self, number: int) -> str:
        """What an auxiliary picture is for, as a name."""
        box = self.property(number, "auxC")
        return self.data[box.start + 4 : box.end].split(b"\0")[0].decode("latin-1") if box else ""

    def property(self, number: int, kind: str) -> Box | None:
        """An item's property of this kind."""
        item = self.items.get(number)
        return next((box for box in item.properties if box.kind == kind), None) if item else None

    def nclx(self) -> tuple[int, int] | None:
        """The picture's colour primaries and transfer characteristics by their numbers (ITU-T H.273)."""
        for number in (self.primary, *self._sources(self.primary)):
            box = self.property(number, "colr")
            if box and self.data[box.start : box.start + 4] == b"nclx" and box.end - box.start >= 8:
                return self._number(box.start + 4, 2), self._number(box.start + 6, 2)
        return None

    def _number(self, position: int, size: int) -> int:
        return int.from_bytes(self.data[position : position + size])


def read_heif(data: bytes) -> Heif:
    """The container; BrokenContainer where it cannot be followed to its end."""
    top = _top(data)
    metas = [box for box in top if box.kind == "meta"]
    if len(metas) != 1:
        raise BrokenContainer(0, f"{len(metas)} boxes of items, where one is needed")
    meta = tuple(boxes(data, metas[0].start + 4, metas[0].end))
    kinds = {box.kind: box for box in meta}
    if len(kinds) < len(meta):
        raise BrokenContainer(metas[0].start, "two boxes of one kind among those of items")
    for kind in ("pitm", "iinf", "iloc", "iprp"):
        if kind not in kinds:
            raise BrokenContainer(metas[0].start, f"no {kind} box")
    items = _items(data, kinds["iinf"])
    places = _places(data, kinds["iloc"], kinds.get("idat"))
    properties = _properties(data, kinds["iprp"])
    items = {
        number: replace(item, extents=places.get(number, ()), properties=properties.get(number, ()))
        for number, item in items.items()
    }
    pitm = _Reader(data, kinds["pitm"])
    version = pitm.version()
    primary = pitm.take(2 if version == 0 else 4)
    if primary not in items:
        raise BrokenContainer(kinds["pitm"].start, "the primary picture is not among the items")
    references = _references(data, kinds["iref"]) if "iref" in kinds else ()
    return Heif(data, top, meta, items, references, primary)


def _top(data: bytes) -> tuple[Box, ...]:
    """The boxes of the file, up to what is none: bytes behind the end, or a box that was cut short, whose items are
    then missed."""
    found: list[Box] = []
    try:
        found.extend(boxes(data, 0, len(data)))
    except BrokenContainer:
        if not any(box.kind == "meta" for box in found):
            raise
    return tuple(found)


def boxes(data: bytes, start: int, end: int) -> Iterator[Box]:
    """The boxes that fill this part of the file."""
    position, count = start, 0
    while position < end:
        count += 1
        if count > MOST_BOXES:
            raise BrokenContainer(position, "more boxes than any picture has")
        header, size = 8, int.from_bytes(data[position : position + 4])
        if size == 1:
            header, size = 16, int.from_bytes(data[position + 8 : position + 16])
        elif size == 0:
            size = end - position
        if size < header or position + size > end:
            raise BrokenContainer(position, "a box runs past the end of the file or of its own box")
        kind = data[position + 4 : position + 8].decode("latin-1")
        yield Box(kind, position, position + header, position + size)
        position += size


class _Reader:
    """Numbers and texts one after the other, never past the end of a box."""

    def __init__(self, data: bytes, box: Box) -> None:
        self.data, self.position, self.end = data, box.start, box.end
        self.flags = 0

    def take(self, size: int) -> int:
        if self.position + size > self.end:
            raise BrokenContainer(self.position, "a box is shorter than what it should hold")
        self.position += size
        return int.from_bytes(self.data[self.position - size : self.position])

    def version(self) -> int:
        """Of a full box; its flags are remembered."""
        version, self.flags = self.take(1), self.take(3)
        return version

    def text(self) -> str:
        """Up to the next zero, or to the end of the box."""
        stop = self.data.find(b"\0", self.position, self.end)
        found = self.data[self.position : self.end if stop < 0 else stop]
        self.position = self.end if stop < 0 else stop + 1
        return found.decode("latin-1")


def _items(data: bytes, iinf: Box) -> dict[int, Item]:
    reader = _Reader(data, iinf)
    reader.take(2 if reader.version() == 0 else 4)  # how many: the boxes themselves are counted
    items: dict[int, Item] = {}
    for box in boxes(data, reader.position, iinf.end):
        if box.kind != "infe":
            raise BrokenContainer(box.begin, f"a box {box.kind!r} among the items")
        if len(items) == MOST_ITEMS:
            raise BrokenContainer(box.begin, f"more than {MOST_ITEMS} items")
        entry = _Reader(data, box)
        version = entry.version()
        if version < 2:
            raise BrokenContainer(box.begin, "an item of an old kind, which no picture is")
        number = entry.take(2 if version == 2 else 4)
        if entry.take(2):
            raise BrokenContainer(box.begin, "an encrypted item")
        kind = entry.take(4).to_bytes(4).decode("latin-1")
        name = entry.text()
        content_type = entry.text() if kind in ("mime", "uri ") else ""
        if number in items:
            raise BrokenContainer(box.begin, f"two items have the number {number}")
        items[number] = Item(number, kind, name, content_type)
    return items


def _places(data: bytes, iloc: Box, idat: Box | None) -> dict[int, tuple[tuple[int, int], ...]]:
    """Where the bytes of each item lie."""
    reader = _Reader(data, iloc)
    version = reader.version()
    sizes = reader.take(2)
    of_offset, of_length, of_base, of_index = (sizes >> shift & 15 for shift in (12, 8, 4, 0))
    count, total = reader.take(2 if version < 2 else 4), 0
    places: dict[int, tuple[tuple[int, int], ...]] = {}
    for _ in range(count):
        number = reader.take(2 if version < 2 else 4)
        method = reader.take(2) & 15 if version else 0
        if reader.take(2) or method > 1:
            raise BrokenContainer(iloc.begin, f"item {number} lies in another file or in another item")
        if method == 1 and idat is None:
            raise BrokenContainer(iloc.begin, f"item {number} lies in a box that is not there")
        base, found = reader.take(of_base), []
        begin, end = (idat.start, idat.end) if method == 1 and idat else (0, len(data))
        extents = reader.take(2)
        total += extents
        if total > MOST_EXTENTS:
            raise BrokenContainer(iloc.begin, "more parts than any picture has")
        for _ in range(extents):
            if version and of_index:
                reader.take(of_index)
            start = begin + base + reader.take(of_offset)
            length = reader.take(of_length) or end - start
            if start + length > end or length < 0:
                raise BrokenContainer(len(data), f"item {number} runs past the end of the file")
            found.append((start, start + length))
        places[number] = tuple(found)
    return places


def _properties(data: bytes, iprp: Box) -> dict[int, tuple[Box, ...]]:
    """The properties of each item, in their order."""
    inside = list(boxes(data, iprp.start, iprp.end))
    every = [one for box in inside if box.kind == "ipco" for one in boxes(data, box.start, box.end)]
    found: dict[int, tuple[Box, ...]] = {}
    for box in inside:
        if box.kind != "ipma":
            continue
        reader = _Reader(data, box)
        version = reader.version()
        wide = reader.flags & 1
        for _ in range(reader.take(4)):
            number = reader.take(2 if version == 0 else 4)
            indices = [
                reader.take(2) & 0x7FFF if wide else reader.take(1) & 0x7F for _ in range(reader.take(1))
            ]
            if any(index > len(every) for index in indices):
                raise BrokenContainer(box.begin, f"item {number} has a property that is not there")
            found[number] = (*found.get(number, ()), *(every[index - 1] for index in indices if index))
    return found


def _references(data: bytes, iref: Box) -> tuple[Reference, ...]:
    reader = _Reader(data, iref)
    size = 2 if reader.version() == 0 else 4
    found = []
    for box in boxes(data, reader.position, iref.end):
        entry = _Reader(data, box)
        source = entry.take(size)
        found.append(Reference(box.kind, source, tuple(entry.take(size) for _ in range(entry.take(2)))))
    return tuple(found)
