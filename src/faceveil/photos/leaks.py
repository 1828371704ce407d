"""What a file still carries besides its pixels.

This is the check on the writer, so it follows the file's own structure byte by byte and asks no image library
what a block means; only transparency needs the pixels decoded.
"""

import struct
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

import numpy as np

from faceveil.errors import PhotoError, UnreadablePhoto
from faceveil.photos.exif import exif_leaks, tiff_leaks
from faceveil.photos.formats import sniff
from faceveil.photos.heif import read_heif
from faceveil.photos.heif_leaks import heif_leaks
from faceveil.photos.leak import Leak
from faceveil.photos.metadata import ALPHA
from faceveil.photos.photo import FORMATS
from faceveil.photos.read import decode_photo, read_bytes
from faceveil.photos.walk import JUNK, Block, BrokenContainer, jpeg_segments, png_chunks, webp_chunks

_JFIF_SIZE, _ADOBE_SIZE = 14, 12  # without a thumbnail; what decoding needs
_JPEG_PICTURE = ("SOS", "DQT", "DHT", "DRI", "DAC", "DNL", "EOI", *(f"SOF{n}" for n in range(16)))
# (segment, how its payload begins) → (kind, name, what it is)
_JPEG_BLOCKS = (
    ("APP0", b"JFXX\0", ("thumbnail", "JFIF thumbnail", "a small copy of the picture as it was")),
    ("APP1", b"http://ns.adobe.com/xap/", ("xmp", "XMP", "may hold names, places, edits and previews")),
    (
        "APP1",
        b"http://ns.adobe.com/xmp/",
        ("xmp", "XMP extension", "may hold names, depth maps and previews"),
    ),
    ("APP2", b"ICC_PROFILE\0", ("icc", "ICC profile", "a colour profile; can name the device")),
    ("APP2", b"MPF\0", ("preview", "MPF", "an index of further pictures in the file")),
    ("APP2", b"FPXR\0", ("application", "FlashPix", "may hold previews and text")),
    ("APP11", b"JP", ("provenance", "JUMBF", "content credentials; may hold names and a thumbnail")),
    ("APP13", b"Photoshop", ("iptc", "Photoshop and IPTC", "may hold names, captions and a thumbnail")),
    ("COM", b"", ("text", "JPEG comment", "free text")),
)
_PNG_PICTURE = ("IHDR", "PLTE", "IDAT", "IEND", "tRNS")
_PNG_BLOCKS = {
    "tEXt": ("text", "free text"),
    "zTXt": ("text", "free text, compressed"),
    "iTXt": ("text", "free text, often XMP"),
    "tIME": ("time", "when the file was changed"),
    "pHYs": ("resolution", "dots per metre"),
    "iCCP": ("icc", "a colour profile; can name the device"),
    "gAMA": ("icc", "a colour description"),
    "cHRM": ("icc", "a colour description"),
    "sRGB": ("icc", "a colour description"),
    "cICP": ("icc", "a colour description"),
    "sBIT": ("icc", "a colour description"),
    "acTL": ("animation", "further frames"),
    "fcTL": ("animation", "a further frame"),
    "fdAT": ("animation", "the pixels of a further frame"),
    "caBX": ("provenance", "content credentials; may hold names and a thumbnail"),
}
_WEBP_PICTURE = ("VP8 ", "VP8L", "VP8X", "ALPH")
_WEBP_BLOCKS = {
    "XMP ": ("xmp", "may hold names, places, edits and previews"),
    "ICCP": ("icc", "a colour profile; can name the device"),
    "ANIM": ("animation", "further frames"),
    "ANMF": ("animation", "a further frame"),
    "C2PA": ("provenance", "content credentials; may hold names and a thumbnail"),
}
# Lossy WebP stores hidden blocks of 8×8 nearly flat, never exactly; more contrast than this is a picture.
_FLAT = 32


def scan_leaks(source: Path | str | bytes, *, allow: Collection[str] = ()) -> list[Leak]:
    """Everything that a file (or its bytes) carries besides its pixels; an empty list is a clean file.

    `allow` names metadata that may be there (see KEEPABLE). A file of another kind raises UnreadablePhoto; one
    that is damaged is reported as far as it can be followed, with an `unchecked` entry.
    """
    data = source if isinstance(source, bytes) else read_bytes(Path(source))
    name = "these bytes" if isinstance(source, bytes) else str(source)
    format = sniff(data[:64])
    if format not in FORMATS:
        kind = f"{format} pictures are not scanned" if format else "not a picture that faceveil knows"
        raise UnreadablePhoto(f"{name}: {kind if data else 'it is empty'}. It scans {', '.join(FORMATS)}.")
    found: list[Leak] = []
    try:
        found.extend(_SCANNERS[format](data, allow))
    except BrokenContainer as error:
        rest = max(len(data) - error.offset, 0)
        found.append(Leak("unchecked", f"{format} file", rest, f"cannot be followed to its end: {error}"))
    if _can_be_transparent(data, format):
        found.extend(_transparency(data, allow))
    return found


def _jpeg_leaks(data: bytes, allow: Collection[str]) -> Iterator[Leak]:
    end = 0
    for segment in jpeg_segments(data):
        end = segment.next
        payload = data[segment.start : segment.end]
        if segment.name == "APP1" and payload[:6] == b"Exif\0\0":
            yield from exif_leaks(payload[6:], allow=allow)
        elif segment.name == "APP0" and payload[:5] == b"JFIF\0":
            yield from _jfif_leaks(payload, allow)
        elif not (segment.name in _JPEG_PICTURE or _is_plain_adobe(segment, payload)):
            yield _jpeg_block(segment, payload)
    yield from _trailing(data, end)


def _jfif_leaks(payload: bytes, allow: Collection[str]) -> Iterator[Leak]:
    if len(payload) > _JFIF_SIZE:
        size = len(payload) - _JFIF_SIZE
        yield Leak("thumbnail", "JFIF thumbnail", size, "a small copy of the picture as it was")
    if len(payload) >= _JFIF_SIZE and payload[7] != 0 and "dpi" not in allow:
        yield Leak("resolution", "JFIF density", 5, "dots per inch or centimetre")


def _is_plain_adobe(segment: Block, payload: bytes) -> bool:
    """Adobe's marker tells the decoder which colours the components are."""
    return segment.name == "APP14" and payload[:5] == b"Adobe" and len(payload) == _ADOBE_SIZE


def _jpeg_block(segment: Block, payload: bytes) -> Leak:
    if segment.name == JUNK:
        return Leak(
            "trailing", "stray bytes", segment.end - segment.start, "bytes between the parts of the file"
        )
    for name, beginning, (kind, title, words) in _JPEG_BLOCKS:
        if segment.name == name and payload[: len(beginning)] == beginning:
            return Leak(kind, title, len(payload), words)
    return Leak("application", segment.name, len(payload), "a block of some program or device")


def _png_leaks(data: bytes, allow: Collection[str]) -> Iterator[Leak]:
    end = 0
    for chunk in png_chunks(data):
        end = chunk.next
        size = chunk.end - chunk.start
        if not chunk.intact:
            yield Leak(
                "unchecked",
                f"PNG {chunk.name}",
                size,
                "its checksum is wrong: its content is not what it was",
            )
        if chunk.name == "eXIf":
            yield from exif_leaks(data[chunk.start : chunk.end], allow=allow)
        elif chunk.name == "pHYs" and "dpi" in allow:
            continue
        elif chunk.name not in _PNG_PICTURE or (chunk.name == "IEND" and size):
            kind, words = _PNG_BLOCKS.get(chunk.name, ("application", "a block of some program or device"))
            yield Leak(kind, f"PNG {chunk.name}", size, words)
    yield from _trailing(data, end)


def _webp_leaks(data: bytes, allow: Collection[str]) -> Iterator[Leak]:
    end = 12
    for chunk in webp_chunks(data):
        end = chunk.next
        size = chunk.end - chunk.start
        if chunk.name == "EXIF":
            block = data[chunk.start : chunk.end]
            yield from exif_leaks(block[6:] if block[:6] == b"Exif\0\0" else block, allow=allow)
        elif chunk.name not in _WEBP_PICTURE:
            kind, words = _WEBP_BLOCKS.get(chunk.name, ("application", "a block of some program or device"))
            yield Leak(kind, f"WebP {chunk.name.strip()}", size, words)
    yield from _trailing(data, end)


def _bmp_leaks(data: bytes, allow: Collection[str]) -> Iterator[Leak]:
    if len(data) < 30:
        raise BrokenContainer(len(data), "the header is cut short")
    offset, header = struct.unpack_from("<II", data, 10)
    if header == 12:
        width, height, _, bits = struct.unpack_from("<HHHH", data, 18)
        compression = stored = used = density = 0
        entry = 3
    else:
        if len(data) < 14 + 40:
            raise BrokenContainer(len(data), "the header is cut short")
        width, height, _, bits, compression, stored = struct.unpack_from("<iiHHII", data, 18)
        density = max(struct.unpack_from("<ii", data, 38))
        (used,) = struct.unpack_from("<I", data, 46)
        entry = 4
    colours = min(used or 1 << bits, 1 << bits) if bits <= 8 else 0
    masks = {3: 12, 6: 16}.get(compression, 0) if header == 40 else 0
    pixels_end = offset + (
        (width * bits + 31) // 32 * 4 * abs(height) if compression in (0, 3, 6) else stored
    )
    if density > 0:
        yield Leak("resolution", "BMP density", 8, "dots per metre")
    if header == 124 and struct.unpack_from("<I", data.ljust(138), 130)[0]:
        yield Leak(
            "icc", "BMP profile", struct.unpack_from("<I", data.ljust(138), 130)[0], "a colour profile"
        )
    gap = offset - (14 + header + masks + colours * entry)
    if gap > 0:
        yield Leak("trailing", "gap before the pixels", gap, "bytes that belong to no part of the picture")
    if not 0 <= pixels_end <= len(data) or width < 1:
        raise BrokenContainer(len(data), "the pixels run past the end of the file")
    yield from _trailing(data, pixels_end)


def _trailing(data: bytes, end: int) -> Iterator[Leak]:
    rest = len(data) - end
    if rest <= 0:
        return
    if data[end : end + 2] == b"\xff\xd8":
        yield Leak("preview", "second picture", rest, "a whole JPEG after the end of the first")
    else:
        yield Leak("trailing", "bytes after the end", rest, "bytes that belong to no part of the picture")


def _can_be_transparent(data: bytes, format: str) -> bool:
    if format == "PNG":
        return data[25:26] in (b"\4", b"\6") or b"tRNS" in data
    if format in ("HEIC", "AVIF"):
        try:
            return read_heif(data).has_alpha
        except BrokenContainer:
            return False  # which was said already
    return format != "JPEG" and data[12:16] != b"VP8 "


def _transparency(data: bytes, allow: Collection[str]) -> Iterator[Leak]:
    """An alpha channel of several values is a picture of its own, and so are the colours under full transparency."""
    try:
        photo = decode_photo(data, keep_metadata=(ALPHA,))
    except PhotoError as error:
        yield Leak("unchecked", "pixels", len(data), f"cannot be decoded: {error}")
        return
    if photo.alpha is None:
        return
    if ALPHA not in allow and (photo.alpha != photo.alpha[0, 0]).any():
        yield Leak(
            "alpha", "alpha channel", photo.alpha.size, "transparency; it can show a picture of its own"
        )
    hidden = photo.alpha == 0
    if photo.format in ("WEBP", "HEIC", "AVIF") and not photo.encoding.lossless:
        count = _textured_blocks(photo.pixels, hidden) * 64
    else:
        colours = photo.pixels[hidden]
        count = len(colours) if len(colours) and (colours != colours[0]).any() else 0
    if count:
        yield Leak("hidden-pixels", "alpha", 3 * count, f"{count} invisible pixels still hold colours")


def _textured_blocks(pixels: np.ndarray, hidden: np.ndarray) -> int:
    """How many wholly hidden 8×8 blocks are not flat."""
    rows, columns = hidden.shape[0] // 8, hidden.shape[1] // 8
    whole = hidden[: rows * 8, : columns * 8].reshape(rows, 8, columns, 8).all(axis=(1, 3))
    blocks = pixels[: rows * 8, : columns * 8].reshape(rows, 8, columns, 8, 3)
    contrast = (blocks.max(axis=(1, 3)).astype(int) - blocks.min(axis=(1, 3))).max(axis=-1)
    return int((whole & (contrast > _FLAT)).sum())


_SCANNERS: dict[str, Callable[[bytes, Collection[str]], Iterator[Leak]]] = {
    "JPEG": _jpeg_leaks,
    "PNG": _png_leaks,
    "WEBP": _webp_leaks,
    "TIFF": tiff_leaks,
    "BMP": _bmp_leaks,
    "HEIC": heif_leaks,
    "AVIF": heif_leaks,
}
