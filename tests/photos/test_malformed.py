"""Damaged, hostile and foreign files: each is refused by name with the reason, and quickly."""

import contextlib
import os
import struct
import time
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from faceveil.errors import PhotoError, PhotoTooLarge, UnreadablePhoto
from faceveil.photos import decode_photo, encode_photo, read_photo, scan_leaks

FORMAT_CASES = (
    "jpeg",
    "jpeg-progressive",
    "png",
    "webp",
    "webp-lossless-alpha",
    "tiff",
    "tiff-lzw",
    "tiff-jpeg",
    "bmp",
    "heic",
    "heic-alpha",
    "avif",
)


@pytest.mark.parametrize("name", FORMAT_CASES)
def test_a_file_cut_anywhere_is_refused(files, name):
    data = files.CASES[name][1]()
    cuts = sorted({*range(40), *np.linspace(40, len(data) - 1, 60).astype(int).tolist(), len(data) - 1})
    for cut in cuts:
        # Some formats end with bytes that decoding does not need; a cut there may be read, but then fully.
        try:
            photo = decode_photo(data[:cut])
        except UnreadablePhoto:
            continue
        assert np.array_equal(photo.pixels, decode_photo(data).pixels), f"cut at {cut} of {len(data)}"


@pytest.mark.parametrize("name", ["jpeg", "jpeg-progressive", "png", "webp", "bmp", "heic", "avif"])
@pytest.mark.parametrize("share", [0.5, 0.9, 0.99])
def test_a_photo_cut_inside_its_pixels_is_refused(files, name, share):
    data = files.CASES[name][1]()
    with pytest.raises(UnreadablePhoto):
        decode_photo(data[: int(len(data) * share)])


def test_a_jpeg_without_its_end_marker_is_refused(files):
    data = files.CASES["jpeg"][1]()
    with pytest.raises(UnreadablePhoto, match="cut short"):
        decode_photo(data[:-2])


def test_a_png_without_its_end_chunk_is_refused(files):
    data = files.CASES["png"][1]()
    with pytest.raises(UnreadablePhoto, match="IEND"):
        decode_photo(data[:-12])


def test_a_png_whose_pixels_were_altered_is_refused(files):
    data = bytearray(files.CASES["png"][1]())
    data[len(data) // 2] ^= 0x10
    with pytest.raises(UnreadablePhoto, match="checksum"):
        decode_photo(bytes(data))


FOREIGN = {
    "empty": (b"", "empty"),
    "text": (b"name,age\nAda,36\n", "not a picture"),
    "zeros": (bytes(5000), "not a picture"),
    "gif": (b"GIF89a" + bytes(50), "GIF"),
    "only-magic-heic": (b"\0\0\0\x18ftypheic" + bytes(16), "cut short"),
    "only-magic-avif": (b"\0\0\0\x18ftypavif" + bytes(16), "cut short"),
    "psd": (b"8BPS\0\1" + bytes(50), "PSD"),
    "svg": (b'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>', "SVG"),
    "jpeg-xl": (b"\xff\x0a" + bytes(50), "JPEG XL"),
    "jpeg-2000": (b"\0\0\0\x0cjP  \r\n\x87\n" + bytes(50), "JPEG 2000"),
    "pdf": (b"%PDF-1.7\n" + bytes(50), "not a picture"),
    "only-magic-jpeg": (b"\xff\xd8\xff", "cut short"),
    "only-magic-png": (b"\x89PNG\r\n\x1a\n", "cut short"),
    "only-magic-webp": (b"RIFF\x04\0\0\0WEBP", "cut short"),
    "only-magic-tiff": (b"II*\0", "TIFF header"),
    "only-magic-bmp": (b"BM" + bytes(12) + struct.pack("<I", 40), "damaged"),
    "word-bm": (b"BMW and other cars, a list", "not a picture"),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_foreign_files_are_refused_by_name(tmp_path, name):
    data, reason = FOREIGN[name]
    path = tmp_path / f"{name}.jpg"
    path.write_bytes(data)
    with pytest.raises(UnreadablePhoto, match=reason) as error:
        read_photo(path)
    assert str(path) in str(error.value)


def bomb_png(files, width, height):
    return files.png((width, height, 8, 2), b"")


def bomb_jpeg(files, width, height):
    data = bytearray(files.CASES["jpeg"][1]())
    at = data.index(b"\xff\xc0")
    struct.pack_into(">HH", data, at + 5, height, width)
    return bytes(data)


def bomb_bmp(files, width, height):
    data = bytearray(files.CASES["bmp"][1]())
    struct.pack_into("<ii", data, 18, width, height)
    return bytes(data)


def bomb_tiff(files, width, height):
    values = {256: width, 257: height, 258: 8, 259: 1, 262: 1, 273: 8, 277: 1, 278: height, 279: 4}
    return files.tiff([(tag, 4, 1, struct.pack("<I", value)) for tag, value in values.items()], b"data")


def bomb_webp(files, width, height):
    data = files.CASES["webp-lossless-alpha"][1]()
    flags = struct.pack("<I", 0x10) + struct.pack("<I", width - 1)[:3] + struct.pack("<I", height - 1)[:3]
    body = b"WEBPVP8X" + struct.pack("<I", 10) + flags + data[12:]
    return b"RIFF" + struct.pack("<I", len(body)) + body


def bomb_heif(files, name, width, height):
    data = bytearray(files.CASES[name][1]())
    struct.pack_into(">II", data, data.index(b"ispe") + 8, width, height)
    return bytes(data)


def bomb_heic(files, width, height):
    return bomb_heif(files, "heic", width, height)


def bomb_avif(files, width, height):
    return bomb_heif(files, "avif", width, height)


BOMBS = {
    "PNG": bomb_png, "JPEG": bomb_jpeg, "BMP": bomb_bmp, "TIFF": bomb_tiff, "WEBP": bomb_webp,
    "HEIC": bomb_heic, "AVIF": bomb_avif,
}  # fmt: skip


@pytest.mark.parametrize("format", BOMBS)
def test_a_small_file_with_a_giant_header_is_refused_at_once(files, format):
    data = BOMBS[format](files, 60_000, 60_000)
    assert len(data) < 30_000
    started = time.process_time()
    with pytest.raises(PhotoTooLarge, match=r"60000×60000 pixels; the limit is 200,000,000.*Scale"):
        decode_photo(data)
    assert time.process_time() - started < 3


@pytest.mark.parametrize("format", ["PNG", "JPEG", "BMP", "TIFF", "HEIC", "AVIF"])
@pytest.mark.parametrize("size", [(0, 5), (5, 0), (0, 0)])
def test_zero_dimensions_are_refused(files, format, size):
    with pytest.raises(UnreadablePhoto):
        decode_photo(BOMBS[format](files, *size))


def test_the_pixel_limit_is_exact(files):
    data = files.CASES["png"][1]()
    decode_photo(data, max_pixels=96 * 64)
    with pytest.raises(PhotoTooLarge):
        decode_photo(data, max_pixels=96 * 64 - 1)


def test_a_text_chunk_that_inflates_is_refused(files):
    inflating = files.png_chunk(b"zTXt", b"Comment\0\0" + zlib.compress(bytes(80 << 20)))
    started = time.process_time()
    with pytest.raises(PhotoError):
        decode_photo(files.png((1, 1, 8, 0), b"\0\0", inflating))
    assert time.process_time() - started < 10


def test_a_profile_that_inflates_is_refused(files):
    inflating = files.png_chunk(b"iCCP", b"x\0\0" + zlib.compress(bytes(80 << 20)))
    with pytest.raises(PhotoError):
        decode_photo(files.png((1, 1, 8, 0), b"\0\0", inflating))


def frames(files, format):
    pictures = [Image.fromarray(np.roll(files.scene(), shift, axis=1)) for shift in (0, 9, 18)]
    return files.encode(pictures[0], format, save_all=True, append_images=pictures[1:])


@pytest.mark.parametrize(("format", "word"), [("PNG", "frames"), ("WEBP", "frames"), ("TIFF", "pages")])
def test_several_pictures_in_one_file_are_refused(files, format, word):
    with pytest.raises(UnreadablePhoto, match=f"it holds 3 {word}; faceveil protects still photos"):
        decode_photo(frames(files, format))


def test_a_tiff_whose_directories_form_a_loop_ends(files):
    data = bytearray(files.CASES["tiff"][1]())
    first = struct.unpack_from("<I", data, 4)[0]
    count = struct.unpack_from("<H", data, first)[0]
    struct.pack_into("<I", data, first + 2 + 12 * count, first)
    assert np.array_equal(decode_photo(bytes(data)).pixels, files.scene())


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(UnreadablePhoto, match="a folder"):
        read_photo(tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_refused_without_waiting(tmp_path):
    os.mkfifo(tmp_path / "photo.jpg")
    with pytest.raises(UnreadablePhoto, match="a pipe"):
        read_photo(tmp_path / "photo.jpg")


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(UnreadablePhoto, match="No such file"):
        read_photo(tmp_path / "photo.jpg")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read every file")
def test_a_file_without_permission_is_refused(files, tmp_path):
    path = tmp_path / "photo.png"
    path.write_bytes(files.CASES["png"][1]())
    path.chmod(0)
    with pytest.raises(UnreadablePhoto, match="Permission"):
        read_photo(path)


def test_a_file_of_more_bytes_than_the_limit_allows_is_refused(tmp_path):
    path = tmp_path / "photo.tiff"
    with path.open("wb") as file:
        file.write(b"II*\0")
        file.truncate(100 << 20)  # sparse
    with pytest.raises(PhotoTooLarge, match="bytes"):
        read_photo(path, max_pixels=1_000_000)


@settings(max_examples=250, deadline=None)
@given(data=st.data())
def test_altered_files_are_read_or_refused_and_never_crash(files, data):
    name = data.draw(
        st.sampled_from([*FORMAT_CASES, "png-palette-transparent", "tiff-alpha", "tiff-big", *files.DIRTY])
    )
    original = files.DIRTY[name]() if name in files.DIRTY else files.CASES[name][1]()
    changed = bytearray(original)
    for _ in range(data.draw(st.integers(1, 8))):
        # The first bytes hold the structure, so half of the changes go there.
        end = data.draw(st.sampled_from([min(400, len(changed)), len(changed)]))
        changed[data.draw(st.integers(0, end - 1))] = data.draw(st.integers(0, 255))
    try:
        photo = decode_photo(bytes(changed), max_pixels=1_000_000)
    except PhotoError:
        return
    assert scan_leaks(encode_photo(photo)) == []
    # In a compressed format: an altered offset can make pixels of the words, and they are then rightly shown.
    assert files.SECRET not in encode_photo(photo, "JPEG")


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(
        [
            b"\xff\xd8\xff",
            b"\x89PNG\r\n\x1a\n",
            b"II*\0\x08\0\0\0",
            b"MM\0*",
            b"RIFF\xff\0\0\0WEBP",
            b"BM",
            b"\0\0\0\x10ftypheic\0\0\0\0",
            b"\0\0\0\x10ftypavif\0\0\0\0",
        ]
    ),
    st.binary(max_size=600),
)
def test_noise_behind_a_magic_number_never_crashes(magic, noise):
    with contextlib.suppress(PhotoError):
        decode_photo(magic + noise, max_pixels=1_000_000)


@pytest.mark.parametrize(
    "name", ["tiff", "webp", "webp-lossless-alpha", "png", "jpeg", "bmp", "heic", "avif"]
)
def test_only_our_own_limit_counts(files, monkeypatch, name):
    """Pillow has one of its own, under ours, which some of its decoders ask for."""
    data = files.CASES[name][1]()
    before = decode_photo(data).pixels
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1000)
    assert np.array_equal(decode_photo(data).pixels, before)
    assert Image.MAX_IMAGE_PIXELS == 1000
    with pytest.raises(PhotoTooLarge, match="the limit is 3,000"):
        decode_photo(data, max_pixels=3000)
