"""Which HEIC and AVIF files are read: one still picture, within limits; and what of a file is left out."""

from collections import Counter
from collections.abc import Callable
from types import ModuleType

from faceveil.errors import PhotoTooLarge, UnreadablePhoto
from faceveil.photos.heif import CODED, DERIVED, Heif
from faceveil.photos.heif_leaks import what_it_is

HEIF = ("HEIC", "AVIF")  # formats that are such containers
INSTALL = "Install it with: pip install 'faceveil[heic]'"
_COPIES = {"thumbnail", "auxiliary picture"}
_PLURALS = {"thumbnail": "thumbnails", "depth map": "depth maps", "auxiliary picture": "auxiliary pictures"}


def pillow_heif() -> ModuleType:
    """What decodes and encodes HEIC. It is an option, because its wheels hold an encoder under the GPL."""
    try:
        import pillow_heif as module
    except ImportError as error:
        raise UnreadablePhoto(f"HEIC needs an optional part. {INSTALL}") from error
    return module


def check_still(file: Heif, max_pixels: int, check_size: Callable[[tuple[int, int], int], None]) -> None:
    """Refuse sequences, pictures of other kinds, and what would not fit: before anything is decoded."""
    if any(box.kind in ("moov", "moof") for box in file.top):
        raise UnreadablePhoto(
            "it holds an image sequence; faceveil protects still photos. Save its pictures one by one."
        )
    if (kind := file.items[file.primary].kind) not in (*CODED, *DERIVED):
        raise UnreadablePhoto(
            f"its main picture is of the kind {kind!r}, which is not read. Convert it to JPEG."
        )
    tiles = 0
    for number in file.picture:
        size = file.size_wh(number)
        if size is None:
            raise UnreadablePhoto("it is damaged: a part of its main picture says no size.")
        check_size(size, max_pixels)
        tiles += size[0] * size[1] if file.items[number].kind in CODED else 0
    if tiles > 2 * max_pixels:  # twice, for the alpha
        raise PhotoTooLarge(
            f"the parts of its main picture have {tiles:,} pixels; the limit is {max_pixels:,}."
        )


def left_out(file: Heif) -> str | None:
    """A word on what a file holds besides its main picture, none of which is protected or released.

    None where that is made from the picture itself, such as the thumbnail and the gain map of every phone's photo.
    """
    others = [item.id for item in file.items.values() if item.is_picture and item.id not in file.picture]
    counts = Counter(what_it_is(file, number) for number in others)
    del counts["part"]
    if not counts.keys() - _COPIES:
        return None
    said = [
        f"{count} {_PLURALS.get(what, 'pictures') if count > 1 else what}"
        for what, count in sorted(counts.items())
    ]
    return f"besides its main picture it holds {', '.join(said)}: left out, and not protected"
