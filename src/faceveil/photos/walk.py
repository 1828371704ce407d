"""Walk the blocks of a JPEG, PNG or WebP file without decoding it.

Each walker yields blocks in file order and raises `BrokenContainer` where the structure ends early; what it
has yielded until then stays valid. Cost: one pass, no copies.
"""

import re
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

_END_OF_SCAN = re.compile(rb"\xff[^\x00\xd0-\xd7\xff]")
_PNG_SIGNATURE = 8
JUNK = "junk"


class BrokenContainer(Exception):
    """The structure cannot be followed any further."""

    def __init__(self, offset: int, reason: str) -> None:
        super().__init__(f"{reason} (at byte {offset})")
        self.offset = offset


@dataclass(frozen=True)
class Block:
    """One block: its name, its payload data[start:end], and where the next block begins."""

    name: str
    start: int
    end: int
    next: int
    intact: bool = True  # its checksum holds (formats without checksums: always true)


def jpeg_segments(data: bytes, offset: int = 0) -> Iterator[Block]:
    """Marker segments from SOI to EOI; bytes between segments come as JUNK, scan data belongs to its SOS."""
    if data[offset : offset + 2] != b"\xff\xd8":
        raise BrokenContainer(offset, "no start-of-image marker")
    position = offset + 2
    while True:
        marker_at = data.find(b"\xff", position)
        code_at = marker_at + 1
        while marker_at >= 0 and code_at < len(data) and data[code_at] == 0xFF:
            code_at += 1
        if marker_at < 0 or code_at >= len(data):
            raise BrokenContainer(position, "no end-of-image marker")
        if marker_at > position:
            yield Block(JUNK, position, marker_at, marker_at)
        code, position = data[code_at], code_at + 1
        if code == 0xD9:
            yield Block("EOI", position, position, position)
            return
        if code in (0x00, 0x01, 0xD8) or 0xD0 <= code <= 0xD7:
            yield Block(JUNK, marker_at, position, position)
            continue
        start, end = position + 2, position + int.from_bytes(data[position : position + 2], "big")
        if end < start or end > len(data):
            raise BrokenContainer(marker_at, "a segment runs past the end of the file")
        position = end
        if code == 0xDA:
            scan_end = _END_OF_SCAN.search(data, end)
            if scan_end is None:
                raise BrokenContainer(end, "the picture data has no end")
            position = scan_end.start()
        yield Block(_jpeg_name(code), start, end, position)


def _jpeg_name(code: int) -> str:
    if 0xE0 <= code <= 0xEF:
        return f"APP{code - 0xE0}"
    names = {0xDA: "SOS", 0xDB: "DQT", 0xC4: "DHT", 0xDD: "DRI", 0xFE: "COM", 0xCC: "DAC", 0xDC: "DNL"}
    if code in names:
        return names[code]
    return f"SOF{code - 0xC0}" if 0xC0 <= code <= 0xCF else f"0x{code:02X}"


def png_chunks(data: bytes) -> Iterator[Block]:
    """Chunks from IHDR to IEND."""
    position = _PNG_SIGNATURE
    while True:
        if position + 12 > len(data):
            raise BrokenContainer(position, "no IEND chunk")
        length, kind = struct.unpack_from(">I4s", data, position)
        start = position + 8
        end = start + length
        if end + 4 > len(data):
            raise BrokenContainer(position, "a chunk runs past the end of the file")
        intact = zlib.crc32(memoryview(data)[position + 4 : end]) == int.from_bytes(
            data[end : end + 4], "big"
        )
        name = kind.decode("latin-1")
        position = end + 4
        yield Block(name, start, end, position, intact)
        if name == "IEND":
            return


def webp_chunks(data: bytes) -> Iterator[Block]:
    """Chunks of the RIFF container."""
    riff_end = 8 + int.from_bytes(data[4:8], "little")
    if riff_end > len(data):
        raise BrokenContainer(len(data), "the file is shorter than its header says")
    position = 12
    while position + 8 <= riff_end:
        kind, length = struct.unpack_from("<4sI", data, position)
        start = position + 8
        end = start + length
        if end > riff_end:
            raise BrokenContainer(position, "a chunk runs past the end of the file")
        position = min(end + (length & 1), riff_end)
        yield Block(kind.decode("latin-1"), start, end, position)
    if position < riff_end:
        yield Block(JUNK, position, riff_end, riff_end)
