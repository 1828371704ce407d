"""The allow-list: which metadata may stay in a written photo, by name, when the caller asks for it.

Everything else is dropped. Values are copied one by one as numbers or text, never as blocks of bytes, so that
nothing travels inside them that was not asked for.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from PIL import Image
from PIL.TiffImagePlugin import IFDRational

from faceveil.errors import UsageError

_ROOT, _EXIF, _GPS = 0, 0x8769, 0x8825
_DPI = "dpi"
ALPHA = "alpha"  # no metadata, but kept by name like it
_GPS_INFO = "GPSInfo"

# name → (directory, tag number)
_TAGS: Mapping[str, tuple[int, int]] = {
    "ImageDescription": (_ROOT, 0x010E),
    "Make": (_ROOT, 0x010F),
    "Model": (_ROOT, 0x0110),
    "Software": (_ROOT, 0x0131),
    "DateTime": (_ROOT, 0x0132),
    "Artist": (_ROOT, 0x013B),
    "Copyright": (_ROOT, 0x8298),
    "ExposureTime": (_EXIF, 0x829A),
    "FNumber": (_EXIF, 0x829D),
    "ExposureProgram": (_EXIF, 0x8822),
    "ISOSpeedRatings": (_EXIF, 0x8827),
    "DateTimeOriginal": (_EXIF, 0x9003),
    "DateTimeDigitized": (_EXIF, 0x9004),
    "OffsetTime": (_EXIF, 0x9010),
    "OffsetTimeOriginal": (_EXIF, 0x9011),
    "ExposureBiasValue": (_EXIF, 0x9204),
    "MeteringMode": (_EXIF, 0x9207),
    "Flash": (_EXIF, 0x9209),
    "FocalLength": (_EXIF, 0x920A),
    "WhiteBalance": (_EXIF, 0xA403),
    "FocalLengthIn35mmFilm": (_EXIF, 0xA405),
    "LensMake": (_EXIF, 0xA433),
    "LensModel": (_EXIF, 0xA434),
}
# Latitude, longitude, altitude with their references, time and date; the free-form GPS fields stay out.
_GPS_TAGS = (1, 2, 3, 4, 5, 6, 7, 29)

KEEPABLE: tuple[str, ...] = (*_TAGS, _DPI, _GPS_INFO, ALPHA)

_NEVER = {
    "orientation": "it is applied to the pixels",
    "thumbnail": "it shows the original face",
    "makernote": "it is a block that only its maker can read",
    "usercomment": "it is a block of free form",
    "xmp": "it can hold previews and the names of people",
    "iptc": "it can hold the names of people",
    "icc_profile": "the colours are converted to sRGB",
}


def check_keep(names: Iterable[str]) -> tuple[str, ...]:
    """The names, once each; an unknown or unsafe one is a UsageError that lists what may be kept."""
    names = tuple(dict.fromkeys(names))
    for name in names:
        if name not in KEEPABLE:
            why = _NEVER.get(name.lower())
            reason = f"{name!r} is never kept: {why}." if why else f"no metadata is called {name!r}."
            raise UsageError(f"{reason} What may be kept: {', '.join(KEEPABLE)}.")
    return names


def collect_kept(image: Image.Image, names: tuple[str, ...]) -> dict[str, Any]:
    """The allow-listed values that this picture has."""
    kept: dict[str, Any] = {}
    if not names:
        return kept
    exif = image.getexif()
    for name in names:
        if name == _DPI:
            # (1, 1) is how the TIFF decoder says that there is none.
            if (dpi := image.info.get("dpi")) is not None and min(dpi) > 1:
                kept[name] = (float(dpi[0]), float(dpi[1]))
        elif name == ALPHA:
            continue  # the reader keeps it beside the pixels
        elif name == _GPS_INFO:
            position = {tag: _plain(value) for tag, value in exif.get_ifd(_GPS).items() if tag in _GPS_TAGS}
            if position := {tag: value for tag, value in position.items() if value is not None}:
                kept[name] = position
        else:
            directory, tag = _TAGS[name]
            value = exif.get(tag) if directory == _ROOT else exif.get_ifd(directory).get(tag)
            if (plain := _plain(value)) is not None:
                kept[name] = plain
    return kept


def build_exif(kept: Mapping[str, Any], *, with_dpi: bool = False) -> bytes | None:
    """The EXIF block that holds exactly the kept values, or None where there are none."""
    exif = Image.Exif()
    for name, value in kept.items():
        if name == _GPS_INFO:
            exif.get_ifd(_GPS).update({tag: _rational(part) for tag, part in value.items()})
        elif name != _DPI:
            directory, tag = _TAGS[name]
            (exif if directory == _ROOT else exif.get_ifd(directory))[tag] = _rational(value)
    if with_dpi and _DPI in kept:
        exif[0x011A], exif[0x011B] = (IFDRational(round(value * 100), 100) for value in kept[_DPI])
        exif[0x0128] = 2
    return exif.tobytes() if len(exif) or exif.get_ifd(_EXIF) or exif.get_ifd(_GPS) else None


def has_subdirectory(kept: Mapping[str, Any]) -> bool:
    """Whether the kept values need a directory of their own inside the EXIF block."""
    return any(name == _GPS_INFO or (name in _TAGS and _TAGS[name][0] != _ROOT) for name in kept)


def _plain(value: Any) -> Any:
    """Text, whole numbers, fractions as (numerator, denominator), lists of these; anything else is None."""
    if isinstance(value, str):
        return value.strip("\0 ") or None
    if isinstance(value, int):
        return value
    if isinstance(value, IFDRational):
        return (int(value.numerator), int(value.denominator)) if value.denominator else None
    if isinstance(value, bytes) and len(value) == 1:
        return value[0]
    if isinstance(value, tuple) and value and len(value) <= 4:
        parts = [_plain(part) for part in value]
        return None if None in parts else parts
    return None


def _rational(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_rational(part) for part in value)
    return IFDRational(*value) if isinstance(value, tuple) else value
