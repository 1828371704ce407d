"""Which format a file has, told by its first bytes, and which format a file name asks for."""

from pathlib import Path

# Formats that are recognised so that the refusal can name them.
OTHER_FORMATS = ("GIF", "JPEG XL", "JPEG 2000", "PSD", "SVG", "ICO", "OpenEXR", "raw camera")

_SUFFIXES = {
    ".jpg": "JPEG",
    ".jpeg": "JPEG",
    ".jpe": "JPEG",
    ".jfif": "JPEG",
    ".mpo": "JPEG",
    ".png": "PNG",
    ".webp": "WEBP",
    ".tif": "TIFF",
    ".tiff": "TIFF",
    ".bmp": "BMP",
    ".dib": "BMP",
    ".heic": "HEIC",
    ".heif": "HEIC",
    ".hif": "HEIC",
    ".avif": "AVIF",
}
_OTHER_SUFFIXES = {
    *(".gif", ".heics", ".heifs", ".avifs", ".jxl", ".jp2", ".j2k", ".psd", ".svg", ".ico", ".exr", ".apng"),
    *(".dng", ".cr2", ".cr3", ".nef", ".arw", ".orf", ".rw2", ".raf"),
}
_MAGIC = (
    (b"\xff\xd8\xff", "JPEG"),
    (b"\x89PNG\r\n\x1a\n", "PNG"),
    (b"II*\0", "TIFF"),
    (b"MM\0*", "TIFF"),
    (b"II+\0", "TIFF"),
    (b"MM\0+", "TIFF"),
    (b"GIF87a", "GIF"),
    (b"GIF89a", "GIF"),
    (b"8BPS", "PSD"),
    (b"\0\0\1\0", "ICO"),
    (b"\xff\x0a", "JPEG XL"),
    (b"\0\0\0\x0cJXL ", "JPEG XL"),
    (b"\0\0\0\x0cjP  ", "JPEG 2000"),
    (b"\xff\x4f\xff\x51", "JPEG 2000"),
    (b"v/1\1", "OpenEXR"),
    (b"IIRO", "raw camera"),
    (b"IIU\0", "raw camera"),
    (b"FUJIFILMCCD-RAW", "raw camera"),
)
_AVIF_BRANDS = {b"avif", b"avis"}
_HEIC_BRANDS = {b"heic", b"heix", b"hevc", b"hevx", b"heim", b"heis", b"hevm", b"hevs", b"mif1", b"msf1"}


def sniff(head: bytes) -> str | None:
    """The format that the first bytes (64 are enough) announce, or None where they announce no picture."""
    for magic, name in _MAGIC:
        if head.startswith(magic):
            return name
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "WEBP"
    # "BM" alone is too weak: the size of the header that follows must be one that exists.
    if head[:2] == b"BM" and int.from_bytes(head[14:18], "little") in (12, 16, 40, 52, 56, 64, 108, 124):
        return "BMP"
    if head[4:8] == b"ftyp":
        return _heif(head)
    if b"<svg" in head[:64].lower():
        return "SVG"
    return None


def _heif(head: bytes) -> str | None:
    """By the brands: the first is the main one, and may say no more than that it is a picture of this family."""
    size = min(int.from_bytes(head[:4]), len(head))
    brands = [head[8:12], *(head[start : start + 4] for start in range(16, size - 3, 4))]
    if brands[0] == b"crx ":
        return "raw camera"
    if brands[0] in _AVIF_BRANDS or (brands[0] in (b"mif1", b"msf1") and _AVIF_BRANDS & {*brands}):
        return "AVIF"
    return "HEIC" if brands[0] in _HEIC_BRANDS else None


def format_of_name(path: Path) -> str | None:
    """The format that faceveil writes for this file name, or None where the suffix says nothing."""
    return _SUFFIXES.get(path.suffix.lower())


def names_a_picture(path: Path) -> bool:
    """Whether the suffix is a picture's, readable here or not."""
    return path.suffix.lower() in _SUFFIXES or path.suffix.lower() in _OTHER_SUFFIXES
