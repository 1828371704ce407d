"""Files to pixels: read one still photo, upright, in sRGB, within limits, or say why not."""

import io
import os
import threading
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
from PIL import (
    AvifImagePlugin,
    BmpImagePlugin,
    Image,
    ImageFile,
    JpegImagePlugin,
    PngImagePlugin,
    TiffImagePlugin,
    WebPImagePlugin,
)

from faceveil.errors import PhotoError, PhotoTooLarge, UnreadablePhoto
from faceveil.photos.colour import split_alpha, to_srgb
from faceveil.photos.files import open_regular
from faceveil.photos.formats import sniff
from faceveil.photos.heif import read_heif
from faceveil.photos.heif_read import HEIF, check_still, left_out, pillow_heif
from faceveil.photos.metadata import ALPHA, check_keep, collect_kept
from faceveil.photos.nclx import profile_of
from faceveil.photos.photo import FORMATS, Encoding, JpegTables, Photo
from faceveil.photos.tiff import still_page
from faceveil.photos.transparency import WHITE, laid_on
from faceveil.photos.walk import BrokenContainer, jpeg_segments, png_chunks, webp_chunks

MAX_PIXELS = 200_000_000  # the largest phone sensors make 200-megapixel photos
_BYTES_BESIDES_PIXELS = 64 << 20
_BYTES_PER_PIXEL = 8  # 16 bits, four channels, stored raw

# Called by name: Image.open would try other formats, and make several frames of a JPEG with previews.
_OPENERS: dict[str, Callable[[io.BytesIO], ImageFile.ImageFile]] = {
    "JPEG": JpegImagePlugin.JpegImageFile,
    "PNG": PngImagePlugin.PngImageFile,
    "WEBP": WebPImagePlugin.WebPImageFile,
    "TIFF": TiffImagePlugin.TiffImageFile,
    "BMP": BmpImagePlugin.BmpImageFile,
    "AVIF": AvifImagePlugin.AvifImageFile,
    "HEIC": lambda file: pillow_heif().HeifImageFile(file),
}
_UPRIGHT = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
_ORIENTATION = 0x0112
_SIDEWAYS = 5  # from here on, width and height change places
_ON_WHITE = f"it is transparent in places and was laid on white; --keep-metadata {ALPHA} keeps transparency"
_LOSSLESS_TIFF = ("raw", "tiff_lzw", "packbits", "tiff_deflate", "tiff_adobe_deflate")


# Keep a few of Pillow's memory blocks (16 MiB each) for the next photo: fresh pages cost more than decoding.
if "PILLOW_BLOCKS_MAX" not in os.environ:
    Image.core.set_blocks_max(4)  # type: ignore[attr-defined]


def read_photo(path: Path | str, *, max_pixels: int = MAX_PIXELS, keep_metadata: Iterable[str] = ()) -> Photo:
    """Read a still photo; `keep_metadata` names what may stay in what is written from it (see KEEPABLE)."""
    path = Path(path)
    names = check_keep(keep_metadata)
    data = read_bytes(path, max_pixels=max_pixels)
    return decode_photo(data, path=path, max_pixels=max_pixels, keep_metadata=names)


def decode_photo(
    data: bytes, *, path: Path | None = None, max_pixels: int = MAX_PIXELS, keep_metadata: Iterable[str] = ()
) -> Photo:
    """Decode the bytes of a still photo; errors name `path`."""
    names = check_keep(keep_metadata)
    name = str(path) if path else "this photo"
    try:
        # Decoders warn about odd metadata, which is dropped anyway.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _decode(data, path, max_pixels, names)
    except PhotoError as error:
        raise type(error)(f"{name}: {error}") from error.__cause__
    except (Image.DecompressionBombError, MemoryError) as error:
        raise PhotoTooLarge(f"{name}: it does not fit in memory ({error}). Scale it down first.") from error
    except Exception as error:  # decoders raise all kinds of errors on hostile bytes
        raise UnreadablePhoto(f"{name}: it is damaged and cannot be decoded ({error}).") from error


def read_bytes(path: Path, *, max_pixels: int = MAX_PIXELS) -> bytes:
    """The bytes of a regular file, if they can be those of a photo under the limit."""
    limit = max_pixels * _BYTES_PER_PIXEL + _BYTES_BESIDES_PIXELS
    try:
        with open_regular(path) as file:
            size = os.fstat(file.fileno()).st_size
            if size > limit:
                raise PhotoTooLarge(f"{path}: {size:,} bytes are more than any photo under the limit needs.")
            return file.read(size)  # and no further, should it grow meanwhile
    except OSError as error:
        raise UnreadablePhoto(f"{path}: it cannot be read ({error.strerror or error}).") from error


def _decode(data: bytes, path: Path | None, max_pixels: int, keep: tuple[str, ...]) -> Photo:
    format = _readable_format(data)
    page = _check_container(data, format, max_pixels)
    heif = read_heif(data) if format in HEIF else None
    with _our_limit:
        image = _OPENERS[format](io.BytesIO(data))
    if page:
        image.seek(page)
    _check_size(image.size, max_pixels)
    if format not in ("TIFF", "HEIC") and getattr(image, "n_frames", 1) > 1:
        raise _frames(getattr(image, "n_frames", 1), "frames")
    compression = str(image.info.get("compression"))
    with _our_limit:
        image.load()
    _check_size(image.size, max_pixels)  # what is decoded may have another size than its header says

    if heif is not None:
        image.info.pop(
            "xmp", None
        )  # of such files boxes alone say how to turn them, and the decoders have obeyed
    # After load, because the TIFF decoder has then turned the picture itself and taken the tag away.
    orientation = image.getexif().get(_ORIENTATION, 1)
    kept = collect_kept(image, keep)
    colour, alpha = split_alpha(image)
    grey = colour.mode == "L"
    profile, odd_colours = image.info.get("icc_profile"), None
    if profile is None and heif is not None and (numbers := heif.nclx()):
        profile, odd_colours = profile_of(*numbers)
        colour = colour.convert("RGB") if profile else colour
    colour, odd_profile = to_srgb(colour, profile)
    if orientation in _UPRIGHT:
        colour = colour.transpose(_UPRIGHT[orientation])
        alpha = alpha and alpha.transpose(_UPRIGHT[orientation])
    encoding = Encoding(
        grey=grey,
        jpeg=_jpeg_tables(image, orientation) if isinstance(image, JpegImagePlugin.JpegImageFile) else None,
        lossless=format in ("PNG", "TIFF", "BMP") or (format == "WEBP" and _is_lossless_webp(data)),
        tiff_compression=compression if compression in _LOSSLESS_TIFF else "tiff_adobe_deflate",
        kept=kept,
    )
    pixels = np.asarray(colour if colour.mode == "RGB" else colour.convert("RGB"))
    see_through = None if alpha is None or alpha.getextrema() == (255, 255) else np.asarray(alpha)
    flat = see_through is not None and ALPHA not in keep
    notes = (left_out(heif) if heif else None, odd_colours, odd_profile, _ON_WHITE if flat else None)
    return Photo(
        pixels=laid_on(pixels, see_through, WHITE) if see_through is not None and flat else pixels,
        path=path,
        format=format,
        alpha=None if flat else see_through,
        encoding=encoding,
        notes=tuple(note for note in notes if note),
    )


class _OurLimit:
    """While it is open Pillow asks for no limit of its own: two of its decoders do, and ours was checked before."""

    def __init__(self) -> None:
        self._lock, self._open = threading.Lock(), 0
        self._theirs: int | None = None

    def __enter__(self) -> None:
        with self._lock:
            if self._open == 0:
                self._theirs, Image.MAX_IMAGE_PIXELS = Image.MAX_IMAGE_PIXELS, None
            self._open += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._open -= 1
            if self._open == 0:
                Image.MAX_IMAGE_PIXELS = self._theirs


_our_limit = _OurLimit()


def _readable_format(data: bytes) -> str:
    if not data:
        raise UnreadablePhoto("it is empty.")
    format = sniff(data[:64])
    if format is None:
        raise UnreadablePhoto(f"it is not a picture that faceveil knows. It reads {', '.join(FORMATS)}.")
    if format not in FORMATS:
        raise UnreadablePhoto(f"{format} pictures are not read. Convert it to one of {', '.join(FORMATS)}.")
    return format


def _check_container(data: bytes, format: str, max_pixels: int) -> int:
    """Refuse what is cut short or holds several pictures; the number of the page to read (0 but for TIFF)."""
    try:
        if format == "JPEG":
            for _ in jpeg_segments(data):
                pass
        elif format == "PNG":
            for chunk in png_chunks(data):
                if not chunk.intact and chunk.name[0].isupper():
                    raise UnreadablePhoto(f"it is damaged: the checksum of its {chunk.name} data is wrong.")
                if (
                    chunk.name == "acTL"
                    and (frames := int.from_bytes(data[chunk.start : chunk.start + 4])) > 1
                ):
                    raise _frames(frames, "frames")
        elif format == "WEBP":
            frames = sum(chunk.name == "ANMF" for chunk in webp_chunks(data))
            if frames > 1:
                raise _frames(frames, "frames")
            _check_size(_webp_size(data), max_pixels)
        elif format == "TIFF":
            page, pages = still_page(data)
            if pages > 1:
                raise _frames(pages, "pages")
            return page
        elif format in HEIF:
            check_still(read_heif(data), max_pixels, _check_size)
    except BrokenContainer as error:
        raise UnreadablePhoto(f"it is damaged or cut short: {error}.") from error
    return 0


def _frames(count: int, kind: str) -> UnreadablePhoto:
    return UnreadablePhoto(
        f"it holds {count} {kind}; faceveil protects still photos. Save the {kind} one by one."
    )


def _check_size(size_wh: tuple[int, int], max_pixels: int) -> None:
    width, height = size_wh
    if width < 1 or height < 1:
        raise UnreadablePhoto(f"its header says {width}×{height} pixels; a photo has at least one.")
    if width * height > max_pixels:
        raise PhotoTooLarge(
            f"its header says {width}×{height} pixels; the limit is {max_pixels:,}. "
            "Scale it down, or raise the limit if you trust the file."
        )


def _webp_size(data: bytes) -> tuple[int, int]:
    """The canvas size, read here because the decoder takes memory for it before it can be asked."""
    chunk = next(webp_chunks(data), None)
    body = data[chunk.start : chunk.start + 10] if chunk else b""
    if len(body) < (5 if chunk and chunk.name == "VP8L" else 10):
        raise BrokenContainer(12, "no picture chunk")
    if chunk and chunk.name == "VP8X":
        return 1 + int.from_bytes(body[4:7], "little"), 1 + int.from_bytes(body[7:10], "little")
    if chunk and chunk.name == "VP8L":
        bits = int.from_bytes(body[1:5], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    return int.from_bytes(body[6:8], "little") & 0x3FFF, int.from_bytes(body[8:10], "little") & 0x3FFF


def _is_lossless_webp(data: bytes) -> bool:
    return any(chunk.name == "VP8L" for chunk in webp_chunks(data))


def _jpeg_tables(image: JpegImagePlugin.JpegImageFile, orientation: int) -> JpegTables | None:
    """The tables for writing upright; None where the components were not grey, or luma and chroma."""
    if image.mode not in ("L", "RGB") or (image.mode == "RGB" and image.info.get("adobe_transform") == 0):
        return None
    sideways = orientation >= _SIDEWAYS and orientation in _UPRIGHT
    tables = [tuple(image.quantization[layer[3]]) for layer in image.layer]
    if sideways:
        tables = [tuple(np.reshape(table, (8, 8)).T.ravel().tolist()) for table in tables]
    while len(tables) > 1 and tables[-1] == tables[-2]:
        tables.pop()  # the encoder gives the last table to the components that remain
    subsampling = JpegImagePlugin.get_sampling(image)
    # Chroma is never made coarser than it was, so a scheme that cannot be written becomes 4:4:4.
    if subsampling < 0 or (sideways and subsampling == 1):
        subsampling = 0
    return JpegTables(tuple(tables), subsampling, bool(image.info.get("progressive")))
