"""Files to read: every mode and format, files full of metadata, and the bytes they are built from."""

import functools
import io
import os
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageCms, PngImagePlugin

SECRET = b"SECRET-of-Ada-Example"


def scene(width: int = 96, height: int = 64) -> np.ndarray:
    """A colourful picture with edges and texture, the same on every call."""
    rng = np.random.default_rng(7)
    y, x = np.mgrid[0:height, 0:width]
    picture = np.stack(
        [x * 255 / width, y * 255 / height, 128 + 100 * np.sin(x / 9) * np.cos(y / 7)], axis=-1
    )
    picture[height // 4 : height // 2, width // 4 : width // 2] = (200, 40, 90)
    picture += rng.normal(0, 6, picture.shape)
    return np.clip(picture, 0, 255).astype(np.uint8)


def encode(pixels: np.ndarray | Image.Image, format: str, **options: object) -> bytes:
    """The bytes that Pillow writes."""
    image = pixels if isinstance(pixels, Image.Image) else Image.fromarray(pixels)
    buffer = io.BytesIO()
    image.save(buffer, format, **options)
    return buffer.getvalue()


def with_alpha() -> Image.Image:
    alpha = np.zeros((64, 96), np.uint8)
    alpha[:, 20:] = np.linspace(0, 255, 76).astype(np.uint8)
    return Image.fromarray(np.dstack([scene(), alpha]))


def colour_image(mode: str) -> Image.Image:
    return Image.fromarray(scene()).convert(mode)


def grey_16() -> np.ndarray:
    return np.asarray(colour_image("L")).astype(np.uint16) * 257


def png_chunk(kind: bytes, payload: bytes) -> bytes:
    return struct.pack(">I", len(payload)) + kind + payload + struct.pack(">I", zlib.crc32(kind + payload))


def png(ihdr: tuple[int, int, int, int], rows: bytes, *extra: bytes) -> bytes:
    """A PNG from its header (width, height, depth, colour type) and filtered rows."""
    header = struct.pack(">IIBBBBB", *ihdr, 0, 0, 0)
    body = png_chunk(b"IHDR", header) + b"".join(extra) + png_chunk(b"IDAT", zlib.compress(rows))
    return b"\x89PNG\r\n\x1a\n" + body + png_chunk(b"IEND", b"")


def png_16_bit_rgb() -> bytes:
    samples = (scene().astype(">u2") * 257).reshape(64, -1)
    return png((96, 64, 16, 2), b"".join(b"\0" + row.tobytes() for row in samples))


def tiff(tags: list[tuple[int, int, int, bytes]], data: bytes = b"", order: str = "<") -> bytes:
    """A one-directory TIFF; tags are (number, type, count, value); `data` stands at byte 8."""
    out = bytearray((b"II*\0" if order == "<" else b"MM\0*") + bytes(4) + data)
    entries = b""
    for number, kind, count, value in sorted(tags):
        if len(value) > 4:
            value, place = struct.pack(order + "I", len(out)), value
            out += place
        entries += struct.pack(order + "HHI", number, kind, count) + value.ljust(4, b"\0")
    struct.pack_into(order + "I", out, 4, len(out))
    return bytes(out) + struct.pack(order + "H", len(tags)) + entries + bytes(4)


def exif_block(orientation: int = 1) -> bytes:
    """EXIF with names, serial number, maker note, GPS and a thumbnail that shows the original."""
    out = bytearray(b"II*\0\0\0\0\0")

    def directory(tags: dict[int, tuple[int, int, bytes]], following: int = 0) -> int:
        entries = b""
        for number, (kind, count, value) in sorted(tags.items()):
            if len(value) > 4:
                value, place = struct.pack("<I", len(out)), value
                out.extend(place)
            entries += struct.pack("<HHI", number, kind, count) + value.ljust(4, b"\0")
        offset = len(out)
        out.extend(struct.pack("<H", len(tags)) + entries + struct.pack("<I", following))
        return offset

    def text(value: bytes) -> tuple[int, int, bytes]:
        return 2, len(value) + 1, value + b"\0"

    def whole(value: int) -> tuple[int, int, bytes]:
        return 4, 1, struct.pack("<I", value)

    thumbnail = encode(scene()[::4, ::4], "JPEG", comment=SECRET)
    thumbnail_at = len(out)
    out.extend(thumbnail)
    gps = directory(
        {1: text(b"N"), 2: (5, 3, struct.pack("<6I", 48, 1, 8, 1, 15, 1)), 0x1D: text(b"2024:05:06")}
    )
    exif = directory(
        {
            0x829A: (5, 1, struct.pack("<2I", 1, 250)),
            0x9003: text(b"2024:05:06 07:08:09"),
            0x927C: (7, len(SECRET), SECRET),
            0x9286: (7, len(SECRET) + 8, b"ASCII\0\0\0" + SECRET),
            0xA430: text(SECRET),
            0xA431: text(b"SN" + SECRET),
        }
    )
    second = directory({0x0103: (3, 1, b"\6\0"), 0x0201: whole(thumbnail_at), 0x0202: whole(len(thumbnail))})
    first = directory(
        {
            0x010F: text(b"Example Cameras"),
            0x0112: (3, 1, struct.pack("<H", orientation)),
            0x013B: text(b"Ada Example"),
            0x8298: text(b"(c) Ada Example"),
            0x8769: whole(exif),
            0x8825: whole(gps),
        },
        second,
    )
    struct.pack_into("<I", out, 4, first)
    return bytes(out)


def xmp(orientation: int | None = None) -> bytes:
    turn = f' tiff:Orientation="{orientation}"' if orientation else ""
    return f'<x:xmpmeta xmlns:x="adobe:ns:meta/"{turn}>'.encode() + SECRET + b"</x:xmpmeta>"


def srgb_profile() -> bytes:
    made = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    return made[:24] + bytes(12) + made[36:]  # without the time at which it was made


def segment(code: int, payload: bytes) -> bytes:
    return bytes((0xFF, code)) + struct.pack(">H", len(payload) + 2) + payload


def dirty_jpeg(orientation: int = 1) -> bytes:
    plain = encode(scene(), "JPEG", quality=90)
    blocks = (
        segment(0xE0, b"JFXX\0\x10" + SECRET),
        segment(0xE1, b"Exif\0\0" + exif_block(orientation)),
        segment(0xE1, b"http://ns.adobe.com/xap/1.0/\0" + xmp()),
        segment(0xE1, b"http://ns.adobe.com/xmp/extension/\0" + SECRET),
        segment(0xE2, b"ICC_PROFILE\0\1\1" + srgb_profile()),
        segment(0xE2, b"MPF\0" + SECRET),
        segment(0xEB, b"JP\0\1" + SECRET),
        segment(0xED, b"Photoshop 3.0\x008BIM" + SECRET),
        segment(0xE5, SECRET),
        segment(0xFE, SECRET),
    )
    return plain[:2] + b"".join(blocks) + plain[2:] + encode(scene(), "JPEG", comment=SECRET) + SECRET


def dirty_png() -> bytes:
    texts = PngImagePlugin.PngInfo()
    texts.add_text("Comment", SECRET.decode())
    texts.add_text("Author", SECRET.decode() * 20, zip=True)
    texts.add_itxt("XML:com.adobe.xmp", xmp().decode())
    data = encode(
        with_alpha(), "PNG", pnginfo=texts, exif=exif_block(), icc_profile=srgb_profile(), dpi=(300, 300)
    )
    more = (
        png_chunk(b"tIME", b"\x07\xe8\5\6\7\x08\x09")
        + png_chunk(b"prVt", SECRET)
        + png_chunk(b"caBX", SECRET)
    )
    return data[:33] + more + data[33:] + SECRET


def dirty_webp(lossless: bool = True) -> bytes:
    data = encode(
        with_alpha(),
        "WEBP",
        lossless=lossless,
        exact=True,
        exif=exif_block(),
        xmp=xmp(),
        icc_profile=srgb_profile(),
    )
    odd = b"PRIV" + struct.pack("<I", len(SECRET)) + SECRET + bytes(len(SECRET) % 2)
    return data[:4] + struct.pack("<I", len(data) - 8 + len(odd)) + data[8:] + odd + SECRET


def dirty_tiff() -> bytes:
    tags = {
        270: SECRET.decode(),
        305: SECRET.decode(),
        306: "2024:05:06 07:08:09",
        315: "Ada Example",
        33432: "(c) Ada Example",
        700: xmp(),
        33723: SECRET,
        34377: b"8BIM" + SECRET,
        65000: SECRET.decode(),
    }
    exif = Image.Exif()
    for tag, value in tags.items():
        exif[tag] = value
    exif.get_ifd(0x8769).update({0x9003: "2024:05:06 07:08:09", 0xA430: SECRET.decode()})
    exif.get_ifd(0x8825).update({1: "N", 2: (48.0, 8.0, 15.0)})
    return (
        encode(with_alpha(), "TIFF", exif=exif.tobytes(), icc_profile=srgb_profile(), dpi=(300, 300)) + SECRET
    )


def dirty_bmp() -> bytes:
    data = encode(scene(), "BMP", dpi=(300, 300))
    offset = struct.unpack_from("<I", data, 10)[0]
    gap = data[:10] + struct.pack("<I", offset + len(SECRET)) + data[14:offset] + SECRET + data[offset:]
    return gap + SECRET


def heic(pixels: np.ndarray | Image.Image, **options: object) -> bytes:
    """The bytes that libheif writes."""
    import pillow_heif

    buffer = io.BytesIO()
    image = pixels if isinstance(pixels, Image.Image) else Image.fromarray(pixels)
    pillow_heif.from_pillow(image).save(buffer, **options)
    return buffer.getvalue()


def heic_10_bit() -> bytes:
    import pillow_heif

    buffer = io.BytesIO()
    samples = scene().astype(np.uint16) * 257
    pillow_heif.from_bytes("RGB;16", (96, 64), samples.tobytes()).save(buffer, quality=95)
    return buffer.getvalue()


def heif_exif() -> bytes:
    exif = Image.Exif()
    exif[0x010F], exif[0x8298] = SECRET.decode(), "(c) Ada Example"
    exif.get_ifd(0x8769).update({0x9003: "2024:05:06 07:08:09", 0xA430: SECRET.decode()})
    exif.get_ifd(0x8825).update({1: "N", 2: (48.0, 8.0, 15.0)})
    return exif.tobytes()


def dirty_heic() -> bytes:
    """As a phone writes it, and more: tags, XMP, a thumbnail, a profile, a second picture, bytes behind the end."""
    import pillow_heif

    picture = Image.fromarray(scene())
    picture.info |= {"icc_profile": srgb_profile(), "icc_profile_type": "prof"}
    file, buffer = pillow_heif.from_pillow(picture), io.BytesIO()
    file.add_from_pillow(Image.fromarray(scene()[::-1]))
    file.save(buffer, exif=heif_exif(), xmp=xmp(), thumbnails=[32], primary_index=0)
    return buffer.getvalue() + struct.pack(">I4s", 8 + len(SECRET), b"free") + SECRET


def dirty_avif() -> bytes:
    data = encode(scene(), "AVIF", exif=heif_exif(), xmp=xmp(), icc_profile=srgb_profile())
    return data + struct.pack(">I4s", 8 + len(SECRET), b"udta") + SECRET


def bitmap_with_key(**options: object) -> bytes:
    return encode(colour_image("RGB"), "PNG", transparency=tuple(scene()[9, 9].tolist()), **options)


# name → (format, how to make the file); every colour mode that the formats know
CASES: dict[str, tuple[str, Callable[[], bytes]]] = {
    "jpeg": ("JPEG", lambda: encode(scene(), "JPEG", quality=85)),
    "jpeg-444": ("JPEG", lambda: encode(scene(), "JPEG", quality=93, subsampling=0)),
    "jpeg-422": ("JPEG", lambda: encode(scene(), "JPEG", quality=80, subsampling=1)),
    "jpeg-progressive": ("JPEG", lambda: encode(scene(), "JPEG", progressive=True)),
    "jpeg-grey": ("JPEG", lambda: encode(colour_image("L"), "JPEG")),
    "jpeg-cmyk": ("JPEG", lambda: encode(colour_image("CMYK"), "JPEG")),
    "jpeg-rgb": ("JPEG", lambda: encode(scene(), "JPEG", keep_rgb=True)),
    "png": ("PNG", lambda: encode(scene(), "PNG")),
    "png-grey": ("PNG", lambda: encode(colour_image("L"), "PNG")),
    "png-1-bit": ("PNG", lambda: encode(colour_image("1"), "PNG")),
    "png-palette": ("PNG", lambda: encode(colour_image("RGB").quantize(32), "PNG")),
    "png-palette-transparent": (
        "PNG",
        lambda: encode(colour_image("RGB").quantize(32), "PNG", transparency=3),
    ),
    "png-colour-key": ("PNG", bitmap_with_key),
    "png-grey-key": ("PNG", lambda: encode(colour_image("L"), "PNG", transparency=99)),
    "png-alpha": ("PNG", lambda: encode(with_alpha(), "PNG")),
    "png-grey-alpha": ("PNG", lambda: encode(with_alpha().convert("LA"), "PNG")),
    "png-16-bit-grey": ("PNG", lambda: encode(Image.fromarray(grey_16()), "PNG")),
    "png-16-bit-colour": ("PNG", png_16_bit_rgb),
    "webp": ("WEBP", lambda: encode(scene(), "WEBP", quality=80)),
    "webp-alpha": ("WEBP", lambda: encode(with_alpha(), "WEBP", quality=80)),
    "webp-lossless": ("WEBP", lambda: encode(scene(), "WEBP", lossless=True)),
    "webp-lossless-alpha": ("WEBP", lambda: encode(with_alpha(), "WEBP", lossless=True, exact=True)),
    "tiff": ("TIFF", lambda: encode(scene(), "TIFF")),
    "tiff-lzw": ("TIFF", lambda: encode(scene(), "TIFF", compression="tiff_lzw")),
    "tiff-deflate": ("TIFF", lambda: encode(scene(), "TIFF", compression="tiff_adobe_deflate")),
    "tiff-packbits": ("TIFF", lambda: encode(scene(), "TIFF", compression="packbits")),
    "tiff-jpeg": ("TIFF", lambda: encode(scene(), "TIFF", compression="jpeg")),
    "tiff-big": ("TIFF", lambda: encode(scene(), "TIFF", big_tiff=True)),
    "tiff-grey": ("TIFF", lambda: encode(colour_image("L"), "TIFF")),
    "tiff-fax": ("TIFF", lambda: encode(colour_image("1"), "TIFF", compression="group4")),
    "tiff-palette": ("TIFF", lambda: encode(colour_image("RGB").quantize(32), "TIFF")),
    "tiff-alpha": ("TIFF", lambda: encode(with_alpha(), "TIFF")),
    "tiff-grey-alpha": ("TIFF", lambda: encode(with_alpha().convert("LA"), "TIFF")),
    "tiff-cmyk": ("TIFF", lambda: encode(colour_image("CMYK"), "TIFF")),
    "tiff-16-bit-grey": ("TIFF", lambda: encode(Image.fromarray(grey_16()), "TIFF")),
    "tiff-float": ("TIFF", lambda: encode(Image.fromarray(grey_16() / np.float32(65535)), "TIFF")),
    "heic": ("HEIC", lambda: heic(scene(), quality=95)),
    "heic-444": ("HEIC", lambda: heic(scene(), quality=95, chroma=444)),
    "heic-grey": ("HEIC", lambda: heic(colour_image("L"), quality=95)),
    "heic-alpha": ("HEIC", lambda: heic(with_alpha(), quality=95)),
    "heic-10-bit": ("HEIC", heic_10_bit),
    "heic-tiles": ("HEIC", lambda: heic(scene(), quality=95, tile_size=64)),
    "avif": ("AVIF", lambda: encode(scene(), "AVIF", quality=95)),
    "avif-444": ("AVIF", lambda: encode(scene(), "AVIF", quality=95, subsampling="4:4:4")),
    "avif-grey": ("AVIF", lambda: encode(colour_image("L"), "AVIF", quality=95)),
    "avif-alpha": ("AVIF", lambda: encode(with_alpha(), "AVIF", quality=95)),
    "bmp": ("BMP", lambda: encode(scene(), "BMP")),
    "bmp-grey": ("BMP", lambda: encode(colour_image("L"), "BMP")),
    "bmp-1-bit": ("BMP", lambda: encode(colour_image("1"), "BMP")),
    "bmp-palette": ("BMP", lambda: encode(colour_image("RGB").quantize(32), "BMP")),
}
DIRTY: dict[str, Callable[[], bytes]] = {
    "JPEG": dirty_jpeg,
    "PNG": dirty_png,
    "WEBP": dirty_webp,
    "TIFF": dirty_tiff,
    "BMP": dirty_bmp,
    "HEIC": dirty_heic,
    "AVIF": dirty_avif,
}


CASES = {name: (format, functools.cache(make)) for name, (format, make) in CASES.items()}
DIRTY = {name: functools.cache(make) for name, make in DIRTY.items()}


class Files:
    """What the tests build files from."""

    CASES, DIRTY, SECRET = CASES, DIRTY, SECRET
    bitmap_with_key = staticmethod(bitmap_with_key)
    colour_image = staticmethod(colour_image)
    dirty_jpeg = staticmethod(dirty_jpeg)
    dirty_webp = staticmethod(dirty_webp)
    encode = staticmethod(encode)
    exif_block = staticmethod(exif_block)
    heic = staticmethod(heic)
    heif_exif = staticmethod(heif_exif)
    grey_16 = staticmethod(grey_16)
    png = staticmethod(png)
    png_chunk = staticmethod(png_chunk)
    scene = staticmethod(scene)
    segment = staticmethod(segment)
    tiff = staticmethod(tiff)
    with_alpha = staticmethod(with_alpha)
    xmp = staticmethod(xmp)


@pytest.fixture(scope="session")
def files() -> type[Files]:
    return Files


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """`case` runs over every kind of readable file, `dirty` over every format."""
    if "case" in metafunc.fixturenames:
        metafunc.parametrize("case", CASES)
    if "dirty" in metafunc.fixturenames:
        metafunc.parametrize("dirty", DIRTY)


@pytest.fixture(scope="session")
def real_photos() -> list[Path]:
    root = Path(__file__).parents[2]
    data = Path(os.environ.get("FACEVEIL_DATA", root.parent / "shared" / "data"))
    photos = sorted((data / "portraits-cc0").glob("*.jpg"))[:20] + sorted((data / "ffhq").glob("*.jpg"))[:20]
    if not photos:
        pytest.skip(f"no photos in {data}; set FACEVEIL_DATA")
    return photos
