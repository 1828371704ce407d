"""What a HEIC or AVIF file carries besides its picture: every item, box and byte that the picture does not need."""

from collections.abc import Collection, Iterator

from faceveil.photos.exif import exif_leaks
from faceveil.photos.heif import ALPHA_TYPES, DEPTH_TYPES, Box, Heif, Item, boxes, read_heif
from faceveil.photos.leak import Leak

_PADDING = ("free", "skip")
_TOP = ("ftyp", "meta", "mdat")
_META = ("hdlr", "pitm", "iloc", "iinf", "iprp", "iref", "idat", "dinf")
# What decoders need to show pixels. Names that writers give to items of their own say nothing.
_PROPERTIES = ("ispe", "pixi", "hvcC", "av1C", "pasp", "clap", "a1op", "a1lx", "lsel", "rloc")
_NAMES = ("", "Color", "Alpha", "Exif")
_BOXES = {
    "moov": ("animation", "a sequence of pictures"),
    "mpvd": ("animation", "a film beside the picture"),
    "moof": ("animation", "a part of a film"),
    "jumb": ("provenance", "content credentials; may hold names and a thumbnail"),
    "udta": ("text", "free text"),
    "grpl": ("application", "which pictures of the file belong together"),
    "xml ": ("xmp", "may hold names, places, edits and previews"),
    "bxml": ("xmp", "may hold names, places, edits and previews"),
}
_UUIDS = {
    "d8fec3d61b0e483c92975828877ec481": ("provenance", "content credentials; may hold names and a thumbnail"),
    "be7acfcb97a942e89c71999491e3afac": ("xmp", "may hold names, places, edits and previews"),
}
_PROPERTY_LEAKS = {
    "irot": ("exif", "how the camera was held"),
    "imir": ("exif", "that the picture was mirrored"),
    "crtt": ("time", "when the picture was taken"),
    "mdft": ("time", "when the picture was changed"),
    "udes": ("text", "a name, a description and keywords"),
    "altt": ("text", "a description of the picture"),
    "clli": ("icc", "how bright the picture is"),
    "mdcv": ("icc", "the screen it was made on"),
    "cclv": ("icc", "how bright the picture is"),
    "amve": ("icc", "the light it was made for"),
    "cmin": ("exif", "the camera's optics"),
    "cmex": ("exif", "where the camera stood"),
}


def heif_leaks(data: bytes, allow: Collection[str]) -> Iterator[Leak]:
    """Raises BrokenContainer where the file cannot be followed."""
    file = read_heif(data)
    for box in file.top:
        if box.kind not in _TOP:
            yield from _box_leak(data, box)
    for box in file.meta:
        if box.kind not in _META:
            yield from _box_leak(data, box)
    yield from _handler(file)
    for item in file.items.values():
        if item.name not in _NAMES:
            yield Leak("text", f"name of item {item.id}", len(item.name), "free text")
        if item.id not in file.picture:
            yield from _item_leaks(file, item, allow)
    yield from _property_leaks(file)
    yield from _stray(file)
    if rest := len(data) - file.top[-1].end:
        yield Leak("trailing", "bytes after the end", rest, "bytes that belong to no part of the picture")


def _box_leak(data: bytes, box: Box) -> Iterator[Leak]:
    size = box.end - box.start
    if box.kind in _PADDING:
        if data[box.start : box.end].strip(b"\0"):
            yield Leak("trailing", f"{box.kind} box", size, "bytes that belong to no part of the picture")
        return
    known = _UUIDS.get(data[box.start : box.start + 16].hex()) if box.kind == "uuid" else _BOXES.get(box.kind)
    kind, words = known or ("application", "a block of some program or device")
    yield Leak(kind, f"{box.kind.strip()} box", size, words)


def _handler(file: Heif) -> Iterator[Leak]:
    """Programs may write their name beside the word that this is a picture."""
    for box in file.meta:
        if box.kind == "hdlr" and (
            name := file.data[box.start + 8 : box.end].replace(b"pict", b"").strip(b"\0")
        ):
            yield Leak("text", "handler", len(name), "the name of a program")


def _item_leaks(file: Heif, item: Item, allow: Collection[str]) -> Iterator[Leak]:
    content = b"".join(file.data[start:end] for start, end in item.extents)
    if item.kind == "Exif":
        # Four bytes say where the block begins; "Exif" may stand before it.
        start = 4 + int.from_bytes(content[:4])
        yield from exif_leaks(content[start:], allow=allow)
        if content[4:start].replace(b"Exif", b"").strip(b"\0"):
            yield Leak("trailing", "EXIF gap", start - 4, "bytes before the block of tags")
        return
    kind, words = _kind_of(file, item)
    yield Leak(kind, f"HEIF {item.content_type or item.kind} item", len(content), words)


def _kind_of(file: Heif, item: Item) -> tuple[str, str]:
    if item.kind in ("mime", "uri "):
        if "xml" in item.content_type:
            return "xmp", "may hold names, places, edits and previews"
        return "application", "a block of some program or device"
    how = what_it_is(file, item.id)
    words = {
        "thumbnail": ("thumbnail", "a small copy of the picture as it was"),
        "depth map": ("picture", "how far everything is: shows the shape of faces"),
        "auxiliary picture": ("picture", "a mask, gain map or the like made from the picture"),
        "part": ("picture", "a part of another picture"),
        "picture": ("picture", "another picture in the same file"),
    }
    return words[how] if item.is_picture else ("application", "a block of some program or device")


def what_it_is(file: Heif, number: int) -> str:
    """A further picture: thumbnail, depth map, auxiliary picture, part of one, or picture."""
    for one in file.references:
        if one.source == number and one.kind == "thmb":
            return "thumbnail"
        if one.kind == "dimg" and number in one.targets and one.source not in file.picture:
            return "part"
    auxiliary = file.auxiliary_type(number)
    if auxiliary in DEPTH_TYPES or "depth" in auxiliary:
        return "depth map"
    return "auxiliary picture" if auxiliary else "picture"


def _property_leaks(file: Heif) -> Iterator[Leak]:
    """Of all properties, whoever has them: those that decoding needs are none."""
    for outer in (box for box in file.meta if box.kind == "iprp"):
        for inner in boxes(file.data, outer.start, outer.end):
            for box in boxes(file.data, inner.start, inner.end) if inner.kind == "ipco" else ():
                yield from _property_leak(file, box)


def _property_leak(file: Heif, box: Box) -> Iterator[Leak]:
    size = box.end - box.start
    if box.kind in _PROPERTIES:
        return
    if box.kind == "colr":
        if file.data[box.start : box.start + 4] != b"nclx":
            yield Leak("icc", "ICC profile", size, "a colour profile; can name the device")
        elif size > 11:
            yield Leak("trailing", "colr box", size - 11, "bytes that belong to no part of the picture")
    elif box.kind == "auxC":
        name, _, rest = file.data[box.start + 4 : box.end].partition(b"\0")
        if rest.strip(b"\0") or (name.decode("latin-1") not in ALPHA_TYPES and b"aux" not in name):
            yield Leak("application", "auxC", size, "data of an auxiliary picture")
    else:
        kind, words = _PROPERTY_LEAKS.get(box.kind, ("application", "a block of some program or device"))
        yield Leak(kind, f"HEIF {box.kind.strip()}", size, words)


def _stray(file: Heif) -> Iterator[Leak]:
    """Bytes of the data boxes that no item refers to; gaps of zeros are padding."""
    known = sorted(extent for item in file.items.values() for extent in item.extents)
    stray = 0
    for box in (*file.top, *file.meta):
        if box.kind not in ("mdat", "idat"):
            continue
        position = box.start
        for start, end in [*known, (box.end, box.end)]:
            if start >= position and file.data[position : min(start, box.end)].strip(b"\0"):
                stray += min(start, box.end) - position
            position = max(position, min(end, box.end))
    if stray:
        yield Leak("trailing", "unreferenced bytes", stray, "bytes that belong to no part of the picture")
