"""The scan names all that a file carries, survives every file, and calls none clean that it cannot follow."""

import struct
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from faceveil.errors import UnreadablePhoto
from faceveil.photos import KEEPABLE, decode_photo, encode_photo, scan_leaks
from faceveil.photos.walk import jpeg_segments

EXPECTED = {
    "JPEG": {
        *("thumbnail", "exif", "gps", "person", "time", "serial-number", "maker-note", "text", "xmp", "icc"),
        *("preview", "provenance", "iptc", "application"),
    },
    "PNG": {
        *(
            "text",
            "exif",
            "gps",
            "thumbnail",
            "person",
            "time",
            "icc",
            "resolution",
            "application",
            "provenance",
        ),
        *("trailing", "alpha", "hidden-pixels", "serial-number", "maker-note"),
    },
    "WEBP": {
        *(
            "exif",
            "gps",
            "thumbnail",
            "person",
            "time",
            "icc",
            "xmp",
            "application",
            "trailing",
            "alpha",
            "hidden-pixels",
        ),
        *("serial-number", "maker-note", "text"),
    },
    "TIFF": {
        *(
            "text",
            "time",
            "person",
            "xmp",
            "iptc",
            "exif",
            "gps",
            "icc",
            "resolution",
            "trailing",
            "alpha",
            "hidden-pixels",
        ),
    },
    "BMP": {"trailing", "resolution"},
    "HEIC": {"exif", "gps", "time", "person", "xmp", "thumbnail", "picture", "icc", "trailing"},
    "AVIF": {"exif", "gps", "time", "person", "xmp", "icc", "text"},
}


def kinds(data: bytes) -> set[str]:
    return {leak.kind for leak in scan_leaks(data)}


def test_everything_planted_is_found(files, dirty):
    assert kinds(files.DIRTY[dirty]()) == EXPECTED[dirty]


def test_sizes_and_words_are_filled_in(files, dirty):
    for leak in scan_leaks(files.DIRTY[dirty]()):
        assert leak.size > 0 and leak.description and leak.name


def test_bare_files_are_clean(files, case):
    found = kinds(files.CASES[case][1]())
    # Pillow writes a density into each BMP, and alpha and keys hide colours on purpose.
    assert found <= {"resolution", "alpha", "hidden-pixels"}
    assert ("resolution" in found) == case.startswith("bmp")


def test_names_are_shown_and_coordinates_are_not(files):
    leaks = scan_leaks(files.dirty_jpeg())
    assert any("Ada Example" in leak.description for leak in leaks if leak.kind == "person")
    (gps,) = (leak for leak in leaks if leak.kind == "gps")
    assert "GPSLatitude" in gps.description


def test_a_second_picture_behind_the_first_is_found(files):
    plain = files.encode(files.scene(), "JPEG")
    (leak,) = scan_leaks(plain + plain)
    assert (leak.kind, leak.size) == ("preview", len(plain))


def test_one_byte_after_the_end_is_found(files, case):
    data = files.CASES[case][1]()
    before, after = scan_leaks(data), scan_leaks(data + b"!")
    assert len(after) == len(before) + 1


def test_bytes_between_jpeg_segments_are_found(files):
    plain = files.encode(files.scene(), "JPEG")
    (leak,) = scan_leaks(plain[:20] + b"hidden" + plain[20:])
    assert (leak.kind, leak.size) == ("trailing", 6)


def test_a_secret_in_an_empty_looking_jfif_thumbnail_is_found(files):
    plain = files.encode(files.scene(), "JPEG")
    longer = files.segment(0xE0, plain[6:20] + b"secret!")
    assert [leak.kind for leak in scan_leaks(plain[:2] + longer + plain[20:])] == ["thumbnail"]


def test_an_adobe_marker_with_more_than_its_flags_is_found(files):
    plain = files.encode(files.scene(), "JPEG")
    adobe = b"Adobe\0\x64\0\0\0\0\1"
    assert scan_leaks(plain[:2] + files.segment(0xEE, adobe) + plain[2:]) == []
    assert kinds(plain[:2] + files.segment(0xEE, adobe + b"more") + plain[2:]) == {"application"}


def test_further_tiff_pages_and_previews_are_found(files):
    full, small = Image.fromarray(files.scene()), Image.fromarray(files.scene()[::4, ::4])
    small.encoderinfo, full.encoderinfo = {"tiffinfo": {254: 1}}, {"tiffinfo": {254: 0}}
    previews = files.encode(full, "TIFF", save_all=True, append_images=[small])
    assert "preview" in kinds(previews)
    assert "picture" in kinds(files.encode(full, "TIFF", save_all=True, append_images=[full.rotate(180)]))


def test_a_constant_colour_under_transparency_hides_nothing(files):
    pixels = np.asarray(files.with_alpha()).copy()
    pixels[pixels[..., 3] == 0, :3] = (9, 9, 9)
    assert scan_leaks(files.encode(Image.fromarray(pixels), "PNG"), allow=["alpha"]) == []
    pixels[0, 0, :3] = (9, 9, 10)
    found = scan_leaks(files.encode(Image.fromarray(pixels), "PNG"), allow=["alpha"])
    assert {leak.kind for leak in found} == {"hidden-pixels"}


@pytest.mark.parametrize(
    "kind", ["png-alpha", "png-grey-alpha", "webp-alpha", "tiff-alpha", "png-colour-key"]
)
def test_an_alpha_channel_of_several_values_is_found(files, kind):
    data = files.CASES[kind][1]()
    assert "alpha" in kinds(data)
    assert "alpha" not in {leak.kind for leak in scan_leaks(data, allow=["alpha"])}


def test_an_alpha_channel_of_one_value_shows_nothing(files):
    for value in (255, 77):
        even = np.dstack([files.scene(), np.full((64, 96), value, np.uint8)])
        assert scan_leaks(files.encode(even, "PNG")) == []


@settings(deadline=None)
@given(
    code=st.sampled_from([*range(0xE0, 0xF0), 0xFE, 0xF1]),
    payload=st.binary(min_size=1, max_size=80),
    data=st.data(),
)
def test_no_segment_can_be_added_to_a_jpeg_unseen(files, code, payload, data):
    plain = files.CASES["jpeg"][1]()
    boundaries = [
        2,
        20,
        *(block.next for block in jpeg_segments(plain) if block.name in ("DQT", "SOF0", "DHT")),
    ]
    at = data.draw(st.sampled_from(boundaries))
    assert scan_leaks(plain[:at] + files.segment(code, payload) + plain[at:])


@settings(deadline=None)
@given(kind=st.text("abcdefghijklmnopqrstuvwxyz", min_size=4, max_size=4), payload=st.binary(max_size=80))
def test_no_chunk_can_be_added_to_a_png_unseen(files, kind, payload):
    plain = files.CASES["png"][1]()
    for at in (33, len(plain) - 12):
        assert scan_leaks(plain[:at] + files.png_chunk(kind.encode(), payload) + plain[at:])


@pytest.mark.parametrize("body", [b"", b"II*\0\0\0\0\0", b"II*\0\0\0\0\0secret", b"secret"])
def test_an_exif_block_without_tags_is_found(files, body):
    plain = files.CASES["jpeg"][1]()
    found = scan_leaks(plain[:2] + files.segment(0xE1, b"Exif\0\0" + body) + plain[2:])
    assert "exif" in {leak.kind for leak in found}
    assert any(leak.kind in ("trailing", "unchecked") for leak in found) or b"secret" not in body


def test_exif_that_loops_ends(files):
    block = bytearray(files.exif_block())
    first = struct.unpack_from("<I", block, 4)[0]
    count = struct.unpack_from("<H", block, first)[0]
    struct.pack_into("<I", block, first + 2 + 12 * count, first)
    plain = files.encode(files.scene(), "JPEG")
    assert "gps" in kinds(plain[:2] + files.segment(0xE1, b"Exif\0\0" + bytes(block)) + plain[2:])


def test_directories_that_multiply_are_given_up_in_bounded_time():
    # Every entry points to another offset that is again read as a directory of many entries.
    entry = struct.pack("<HHI", 0x014A, 4, 60_000) + struct.pack("<I", 10)
    data = b"II*\0\x0a\0\0\0\0\0" + struct.pack("<H", 0xFFFF) + entry * 0xFFFF
    started = time.process_time()
    assert "unchecked" in kinds(data)
    assert time.process_time() - started < 10


@pytest.mark.parametrize("data", [b"", b"hello", b"GIF89a" + bytes(40)])
def test_what_is_no_photo_is_refused(data):
    with pytest.raises(UnreadablePhoto):
        scan_leaks(data)


@pytest.mark.parametrize("name", ["jpeg", "png", "webp", "tiff", "bmp"])
def test_a_damaged_file_never_counts_as_clean(files, name):
    data = files.CASES[name][1]()
    for cut in np.linspace(70, len(data) - 3, 25).astype(int):
        assert "unchecked" in kinds(data[:cut]), cut


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_altered_files_are_scanned_without_a_crash(files, data):
    changed = bytearray(files.DIRTY[data.draw(st.sampled_from(sorted(files.DIRTY)))]())
    for _ in range(data.draw(st.integers(1, 10))):
        end = data.draw(st.sampled_from([min(400, len(changed)), len(changed)]))
        changed[data.draw(st.integers(0, end - 1))] = data.draw(st.integers(0, 255))
    try:
        scan_leaks(bytes(changed))
    except UnreadablePhoto:
        return  # the magic number was hit


MAGIC = [b"\xff\xd8\xff\xe1", b"\x89PNG\r\n\x1a\n", b"II*\0\x08\0\0\0", b"MM\0+", b"RIFF\xff\0\0\0WEBP", b""]


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(MAGIC), st.binary(max_size=800))
def test_noise_is_scanned_without_a_crash(magic, noise):
    try:
        scan_leaks(magic + noise)
    except UnreadablePhoto:
        assert magic == b""


ALLOWED = ("Copyright", "DateTimeOriginal", "ExposureTime", "GPSInfo", "Make", "dpi")


@pytest.mark.parametrize("target", ["JPEG", "PNG", "WEBP", "TIFF", "BMP"])
def test_metadata_that_is_allowed_by_name_is_no_leak_and_any_other_is(files, target):
    source = files.encode(files.scene(), "PNG", exif=files.exif_block(), dpi=(300, 300))
    written = encode_photo(decode_photo(source, keep_metadata=ALLOWED), target)
    assert scan_leaks(written, allow=ALLOWED) == []
    for name in ALLOWED if target != "BMP" else ():  # BMP keeps nothing
        assert scan_leaks(written, allow=[other for other in ALLOWED if other != name]), name


def test_allowing_every_name_lets_nothing_else_pass(files, dirty):
    data = files.DIRTY[dirty]()
    plain, allowed = scan_leaks(data), scan_leaks(data, allow=KEEPABLE)
    may_stay = {"gps", "person", "time", "resolution", "text", "exif", "alpha"}
    assert {leak.kind for leak in plain} - may_stay <= {leak.kind for leak in allowed}
    assert allowed
