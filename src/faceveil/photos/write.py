"""Pixels to files: encode like the source, without its metadata, and put the file in place in one step."""

import errno
import io
import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import numpy as np
from PIL import Image

from faceveil.errors import OutputError, PhotoError, UsageError
from faceveil.photos.formats import format_of_name
from faceveil.photos.heif_read import pillow_heif
from faceveil.photos.metadata import build_exif, has_subdirectory
from faceveil.photos.photo import FORMATS, Photo, Pixels
from faceveil.photos.transparency import WHITE, laid_on, without_hidden

JPEG_QUALITY = 95  # for photos that were no JPEG; with 4:4:4 chroma
HEIC_QUALITY, AVIF_QUALITY = (
    90,
    95,
)  # likewise; about as near to the pixels, with 4:2:0 chroma, which every phone reads
WEBP_QUALITY = 90  # for lossy WebP; the file does not say with which quality it was made
# Measured on photos: level 1 is six times as fast as 6 and its files are 8 % larger.
_PNG_LEVEL = 1
PARTIAL_PREFIX, PARTIAL_SUFFIX = ".faceveil-", ".part"

_REASONS = {
    errno.ENOSPC: "the disk is full. Free some space",
    errno.EDQUOT: "the disk quota is used up. Free some space",
    errno.EFBIG: "the file system allows no file of this size",
    errno.EROFS: "the file system is read-only. Choose another folder",
    errno.EACCES: "the folder does not let you write. Choose another folder",
    errno.EPERM: "the folder does not let you write. Choose another folder",
    errno.ENOENT: "the folder does not exist. Make it first",
    errno.ENOTDIR: "a part of the path is a file. Choose another folder",
}


def encode_photo(photo: Photo, format: str | None = None) -> bytes:
    """The bytes of the photo in this format (its own by default).

    JPEG: the source's own tables and subsampling, or quality 95 with 4:4:4. WebP: lossless if the source was,
    else quality 90. TIFF: the source's lossless compression, else deflate. HEIC: quality 90, AVIF: 95. Grey stays
    grey while the pixels are grey. JPEG has no alpha: the photo is laid on white. RGB under fully transparent pixels
    becomes 0.
    """
    format = format or photo.format
    if format not in FORMATS:
        raise UsageError(f"no photo format {format!r}; faceveil writes {', '.join(FORMATS)}.")
    if format == "BMP":
        return _encode_bmp(photo)
    image = _on_white(photo) if format == "JPEG" else _with_alpha(photo)
    options = _OPTIONS[format](photo)
    try:
        return _saved_heic(image, options) if format == "HEIC" else _saved(image, format, options)
    except (OSError, ValueError, RuntimeError) as error:  # such as a side longer than the format can say
        raise PhotoError(f"{photo.path or 'this photo'} cannot be written as {format}: {error}.") from error


def _saved(image: Image.Image, format: str, options: dict[str, Any]) -> bytes:
    """The file's bytes, by way of a descriptor where there is one: only then Pillow lets other threads run."""
    if format == "JPEG" and hasattr(os, "memfd_create"):
        with suppress(OSError):  # such as a limit to the size of files, which memory does not have
            return _by_way_of(os.fdopen(os.memfd_create("faceveil"), "w+b"), image, format, options)
    return _by_way_of(io.BytesIO(), image, format, options)


def _by_way_of(file: IO[bytes], image: Image.Image, format: str, options: dict[str, Any]) -> bytes:
    with file:
        image.save(file, format, **options)
        file.seek(0)
        return file.read()


def format_for(path: Path, photo: Photo) -> str:
    """The format to write: the suffix's, or the photo's own where the suffix says nothing."""
    return format_of_name(path) or photo.format


def write_photo(
    photo: Photo, path: Path | str, *, overwrite: bool = False, staging: Path | None = None
) -> None:
    """Write the photo in the format of the file name; see `write_bytes`."""
    path = Path(path)
    write_bytes(encode_photo(photo, format_for(path, photo)), path, overwrite=overwrite, staging=staging)


def write_bytes(data: bytes, path: Path, *, overwrite: bool = False, staging: Path | None = None) -> None:
    """Put a whole file in place or nothing at all, whatever happens meanwhile.

    The bytes go to a hidden file in `staging` (the same folder by default; always on the same file system),
    reach the disk, and then take their name in one step. An existing file is refused unless `overwrite`.
    """
    partial = (staging or path.parent) / f"{PARTIAL_PREFIX}{secrets.token_hex(8)}{PARTIAL_SUFFIX}"
    try:
        if not overwrite and os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, "exists")
        try:
            with partial.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            _take_name(partial, path, overwrite)
        finally:
            partial.unlink(missing_ok=True)
        _sync_folder(path.parent)
    except FileExistsError as error:
        raise OutputError(
            f"{path} exists and is not overwritten. Choose another place, or allow it."
        ) from error
    except OSError as error:
        raise cannot_write(path, error) from error


def cannot_write(path: Path, error: OSError) -> OutputError:
    """What the system's refusal means, and what to do."""
    reason = _REASONS.get(error.errno or 0, error.strerror or str(error))
    return OutputError(f"{path} cannot be written: {reason}.")


def remove_leftovers(folder: Path) -> int:
    """Delete what killed processes left unfinished in this folder, and count it.

    Only for a folder in which no other process is writing.
    """
    leftovers = list(folder.glob(f"{PARTIAL_PREFIX}*{PARTIAL_SUFFIX}"))
    for path in leftovers:
        path.unlink(missing_ok=True)
    return len(leftovers)


def _take_name(partial: Path, path: Path, overwrite: bool) -> None:
    if not overwrite:
        try:
            path.hardlink_to(partial)  # unlike a rename, fails if the name was taken a moment ago
            return
        except FileExistsError:
            raise
        except OSError:  # a file system without hard links
            if os.path.lexists(path):
                raise FileExistsError(errno.EEXIST, "exists") from None
    partial.replace(path)


def _sync_folder(folder: Path) -> None:
    """Make the new name itself last, where the system can."""
    if hasattr(os, "O_DIRECTORY"):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOTSUP):
                raise
        finally:
            os.close(descriptor)


def _is_grey(photo: Photo) -> bool:
    pixels = photo.pixels
    return (
        photo.encoding.grey
        and np.array_equal(pixels[..., 0], pixels[..., 1])
        and np.array_equal(pixels[..., 0], pixels[..., 2])
    )


def _visible(photo: Photo) -> tuple[Pixels, Pixels | None]:
    """Pixels (H×W if grey, else H×W×3) and alpha, with nothing left under fully transparent pixels."""
    pixels = photo.pixels[..., 0] if _is_grey(photo) else photo.pixels
    if photo.alpha is None:
        return pixels, None
    return without_hidden(pixels, photo.alpha), photo.alpha


def _with_alpha(photo: Photo) -> Image.Image:
    pixels, alpha = _visible(photo)
    return Image.fromarray(np.ascontiguousarray(pixels) if alpha is None else np.dstack([pixels, alpha]))


def _on_white(photo: Photo) -> Image.Image:
    pixels, alpha = _visible(photo)
    return Image.fromarray(np.ascontiguousarray(pixels if alpha is None else laid_on(pixels, alpha, WHITE)))


def _jpeg_options(photo: Photo) -> dict[str, Any]:
    options: dict[str, Any] = {"quality": JPEG_QUALITY, "subsampling": 0}
    if tables := photo.encoding.jpeg:
        # A grey JPEG has no chroma table: its one table serves all components, should colour have come in.
        options = {
            "qtables": [list(table) for table in tables.quantisation],
            "subsampling": tables.subsampling,
            "progressive": tables.progressive,
        }
    return options | _kept(photo)


def _png_options(photo: Photo) -> dict[str, Any]:
    return {"compress_level": _PNG_LEVEL} | _kept(photo)


def _webp_options(photo: Photo) -> dict[str, Any]:
    # Lossless effort 0 is twenty times as fast as the default and its files are 10 % larger.
    how = {"lossless": True, "quality": 0, "method": 0}
    if not photo.encoding.lossless:
        how = {"lossless": False, "quality": WEBP_QUALITY, "method": 2}
    exif = build_exif(photo.encoding.kept, with_dpi=True)
    return how | ({"exif": exif} if exif else {})


def _tiff_options(photo: Photo) -> dict[str, Any]:
    # The compressing encoder cannot write directories inside the first one.
    plain = has_subdirectory(photo.encoding.kept)
    return {"compression": "raw" if plain else photo.encoding.tiff_compression} | _kept(photo)


def _avif_options(photo: Photo) -> dict[str, Any]:
    # With several threads or tiles of its own choice the encoder would give other bytes on another machine. Speed 9
    # takes an eighth of the time of the default, 6, for 0.1 dB.
    how = {"quality": AVIF_QUALITY, "max_threads": 1, "autotiling": False, "speed": 9}
    exif = build_exif(photo.encoding.kept, with_dpi=True)
    return how | ({"exif": exif} if exif else {})


def _heic_options(photo: Photo) -> dict[str, Any]:
    # "ultrafast" takes a third of the time of the usual presets, for the same size and distance.
    fast = {"preset": "ultrafast"}
    exif = build_exif(photo.encoding.kept, with_dpi=True)
    return {"quality": HEIC_QUALITY, "enc_params": fast, "exif": exif}


def _saved_heic(image: Image.Image, options: dict[str, Any]) -> bytes:
    file = io.BytesIO()
    pillow_heif().from_pillow(image).save(file, **options)
    return file.getvalue()


def _kept(photo: Photo) -> dict[str, Any]:
    exif, dpi = build_exif(photo.encoding.kept), photo.encoding.kept.get("dpi")
    return ({"exif": exif} if exif else {}) | ({"dpi": dpi} if dpi else {})


def _encode_bmp(photo: Photo) -> bytes:
    """BMP by OpenCV: unlike Pillow's, its 32-bit files say that the fourth channel is alpha."""
    import cv2

    pixels, alpha = _visible(photo)
    if pixels.ndim == 3:
        channels = [pixels[..., ::-1]] if alpha is None else [pixels[..., ::-1], alpha]
        pixels = np.dstack(channels)
    elif alpha is not None:
        pixels = np.dstack([pixels] * 3 + [alpha])
    done, data = cv2.imencode(".bmp", np.ascontiguousarray(pixels))
    if not done:
        raise PhotoError(f"{photo.path or 'this photo'} cannot be written as BMP.")
    return data.tobytes()


_OPTIONS: dict[str, Callable[[Photo], dict[str, Any]]] = {
    "JPEG": _jpeg_options,
    "PNG": _png_options,
    "WEBP": _webp_options,
    "TIFF": _tiff_options,
    "HEIC": _heic_options,
    "AVIF": _avif_options,
}
