"""HEIC and AVIF, made by the libraries that write them: the main picture and nothing else, upright, in sRGB."""

import io
import random
import struct
import sys
import time

import numpy as np
import pytest
from PIL import Image

from faceveil.errors import PhotoError, PhotoTooLarge, UnreadablePhoto
from faceveil.photos import decode_photo, encode_photo, find_photos, read_photo, scan_leaks, write_photo
from faceveil.photos.formats import sniff
from faceveil.photos.heif import read_heif
from faceveil.photos.nclx import profile_of

pillow_heif = pytest.importorskip("pillow_heif")
BOTH = pytest.mark.parametrize("format", ["HEIC", "AVIF"])


def made(files, format: str, pixels: np.ndarray, **options: object) -> bytes:
    if format == "HEIC":
        return files.heic(pixels, quality=95, **options)
    return files.encode(pixels, "AVIF", quality=95, **options)


def psnr(one: np.ndarray, other: np.ndarray) -> float:
    return float(10 * np.log10(255**2 / max(np.mean((one.astype(float) - other.astype(float)) ** 2), 1e-9)))


@BOTH
@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_photo_held_any_way_is_read_upright(files, format, orientation):
    upright = Image.fromarray(files.scene())
    turn = {
        2: 0,
        3: 3,
        4: 1,
        5: 5,
        6: 2,
        7: 6,
        8: 4,
    }  # Pillow's transpositions that undo what a viewer will do
    stored = upright if orientation == 1 else upright.transpose(Image.Transpose(turn[orientation]))
    exif = Image.Exif()
    exif[0x0112] = orientation
    photo = decode_photo(made(files, format, stored, exif=exif.tobytes()))
    assert photo.size_wh == (96, 64) and psnr(photo.pixels, files.scene()) > 25


def test_what_xmp_says_of_orientation_counts_for_nothing(files):
    """No viewer of such files asks it."""
    words = b"<x:xmpmeta xmlns:x='adobe:ns:meta/'><rdf tiff:Orientation=\"6\"/></x:xmpmeta>"
    assert decode_photo(made(files, "AVIF", files.scene(), xmp=words)).size_wh == (96, 64)


def test_only_the_main_picture_is_read_and_the_others_are_named(files):
    file = pillow_heif.from_pillow(Image.fromarray(files.scene()))
    file.add_from_pillow(Image.fromarray(files.scene()[::-1]))
    file.add_from_pillow(Image.fromarray(files.scene()[:, ::-1]))
    buffer = io.BytesIO()
    file.save(buffer, quality=95, primary_index=1, thumbnails=[32])
    photo = decode_photo(buffer.getvalue())
    assert psnr(photo.pixels, files.scene()[::-1]) > 25
    (note,) = photo.notes
    assert "2 pictures" in note and "thumbnail" in note and "left out" in note
    kinds = [leak.kind for leak in scan_leaks(buffer.getvalue())]
    assert kinds.count("picture") == 2 and "thumbnail" in kinds
    assert scan_leaks(encode_photo(photo)) == []
    assert len(read_heif(encode_photo(photo)).items) == 1


def test_a_depth_map_is_left_out_and_said(files):
    depth = files.CASES["heic-alpha"][1]().replace(b"hevc:2015:auxid:1", b"hevc:2015:auxid:2")
    photo = decode_photo(depth, keep_metadata=("alpha",))
    assert photo.alpha is None and "1 depth map" in photo.notes[0]
    assert [leak.kind for leak in scan_leaks(depth)] == ["picture"]


def test_an_image_sequence_is_refused(files):
    frames = [Image.fromarray(np.roll(files.scene(), shift, axis=1)) for shift in (0, 9, 18)]
    data = files.encode(frames[0], "AVIF", save_all=True, append_images=frames[1:])
    with pytest.raises(UnreadablePhoto, match="image sequence"):
        decode_photo(data)
    assert "animation" in {leak.kind for leak in scan_leaks(data)}


@pytest.mark.parametrize("case_with_alpha", ["heic-alpha", "avif-alpha"])
def test_transparency_is_kept_only_where_asked(files, case_with_alpha):
    data = files.CASES[case_with_alpha][1]()
    kept, plain = decode_photo(data, keep_metadata=("alpha",)), decode_photo(data)
    assert np.abs(kept.alpha.astype(int) - np.asarray(files.with_alpha())[..., 3]).max() < 24
    assert plain.alpha is None and plain.pixels[:, :16].min() > 240 and "laid on white" in plain.notes[0]
    assert [leak.kind for leak in scan_leaks(data)][:1] == ["alpha"]
    assert scan_leaks(encode_photo(kept), allow=("alpha",)) == []


def test_display_p3_becomes_srgb(files):
    """The numbers of P3 from those of sRGB, by the matrix of CSS Color 4."""
    to_p3 = np.array([[0.822462, 0.177538, 0], [0.033194, 0.966806, 0], [0.017083, 0.072397, 0.910520]])
    scene = files.scene() / 255
    linear = np.where(scene <= 0.04045, scene / 12.92, ((scene + 0.055) / 1.055) ** 2.4) @ to_p3.T
    coded = np.where(linear <= 0.0031308, linear * 12.92, 1.055 * linear ** (1 / 2.4) - 0.055)
    wide = np.rint(coded * 255).astype(np.uint8)
    options = {"chroma": 444, "color_primaries": 12, "transfer_characteristics": 13}
    photo = decode_photo(files.heic(wide, quality=100, **options))
    assert photo.notes == () and psnr(photo.pixels, files.scene()) > 35 > psnr(wide, files.scene())


def test_hdr_keeps_the_brightness_of_paper_and_says_what_it_cut(files):
    """By BT.2408 white is 58 % of PQ's signal and a card of 18 % grey is 38 %, of which sRGB makes 101."""
    levels = np.repeat(np.array([0, 97, 149, 200, 255], np.uint8), 32)
    ramp = np.repeat(np.tile(levels, (64, 1))[..., None], 3, axis=2)
    options = {"chroma": 444, "color_primaries": 9, "transfer_characteristics": 16}
    photo = decode_photo(files.heic(ramp, quality=100, **options))
    seen = photo.pixels[32, 16::32].astype(int)
    assert np.ptp(seen, axis=1).max() <= 3
    assert seen[0].max() < 4 and 95 < seen[1].mean() < 107 and seen[2:].min() > 250
    assert "HDR" in photo.notes[0]


def test_numbers_that_mean_srgb_change_nothing():
    assert profile_of(1, 13) == profile_of(1, 1) == profile_of(2, 2) == (None, None)
    profile, note = profile_of(250, 13)
    assert profile is None and "taken as sRGB" in note


@BOTH
def test_the_suffix_asks_for_the_format(files, tmp_path, format):
    photo = decode_photo(files.encode(files.scene(), "PNG"))
    write_photo(photo, tmp_path / f"out.{format.lower()}")
    data = (tmp_path / f"out.{format.lower()}").read_bytes()
    assert sniff(data[:64]) == format and scan_leaks(data) == []
    write_photo(decode_photo(data), tmp_path / "out.jpg")
    assert read_photo(tmp_path / "out.jpg").format == "JPEG"


@BOTH
def test_the_same_photo_gives_the_same_bytes(files, format):
    photo = decode_photo(files.encode(files.scene(), "PNG"))
    assert encode_photo(photo, format) == encode_photo(photo, format)


@BOTH
def test_kept_metadata_is_all_that_stays(files, format):
    keep = ("Copyright", "DateTimeOriginal")
    photo = decode_photo(files.DIRTY[format](), keep_metadata=keep)
    data = encode_photo(photo)
    assert scan_leaks(data, allow=keep) == [] and {leak.kind for leak in scan_leaks(data)} >= {
        "exif",
        "person",
    }
    assert b"SECRET" not in data and b"(c) Ada Example" in data
    assert scan_leaks(data, allow=("Copyright",)) != []


def box(kind: bytes, payload: bytes) -> bytes:
    return struct.pack(">I", 8 + len(payload)) + kind + payload


@pytest.mark.parametrize(
    ("extra", "kind"),
    [
        (box(b"mpvd", b"film"), "animation"),
        (box(b"mdat", b"SECRET"), "trailing"),
        (box(b"skip", b"SECRET"), "trailing"),
        (box(b"uuid", bytes.fromhex("be7acfcb97a942e89c71999491e3afac") + b"<x/>"), "xmp"),
        (box(b"uuid", bytes.fromhex("d8fec3d61b0e483c92975828877ec481") + b"c2pa"), "provenance"),
        (box(b"abcd", b"SECRET"), "application"),
        (b"SECRET!!" * 2, "trailing"),
    ],
)
@BOTH
def test_whatever_stands_beside_the_picture_is_a_leak(files, format, extra, kind):
    clean = encode_photo(decode_photo(files.encode(files.scene(), "PNG")), format)
    assert [leak.kind for leak in scan_leaks(clean + extra)] == [kind]
    assert scan_leaks(clean + box(b"free", bytes(64))) == []


def test_tiles_beyond_the_limit_are_refused_before_they_are_decoded(files):
    data = files.CASES["heic-tiles"][1]()
    assert decode_photo(data, max_pixels=128 * 64).size_wh == (96, 64)
    with pytest.raises(PhotoTooLarge):
        decode_photo(data, max_pixels=96 * 64 - 1)


def test_mutated_files_are_read_or_refused_by_name(files):
    """Some hundred of each, the structure first: never another error, never long."""
    rng = random.Random(7)
    originals = [
        files.CASES[name][1]() for name in ("heic", "heic-alpha", "heic-tiles", "avif", "avif-alpha")
    ]
    originals += [files.DIRTY["HEIC"](), files.DIRTY["AVIF"]()]
    started, outcomes = time.process_time(), {True: 0, False: 0}
    for number in range(700):
        changed = bytearray(originals[number % len(originals)])
        for _ in range(rng.randint(1, 8)):
            end = rng.choice([min(900, len(changed)), len(changed)])
            changed[rng.randrange(end)] = rng.choice([0, 1, 127, 255, rng.randrange(256)])
        try:
            photo = decode_photo(bytes(changed), max_pixels=1_000_000)
        except PhotoError:
            outcomes[False] += 1
        else:
            outcomes[True] += 1
            assert scan_leaks(encode_photo(photo, "PNG")) == []
        if sniff(bytes(changed[:64])) in ("HEIC", "AVIF"):
            scan_leaks(bytes(changed))
    assert min(outcomes.values()) > 50 and time.process_time() - started < 60


def test_without_the_optional_part_the_error_is_the_remedy(files, monkeypatch, tmp_path):
    path = tmp_path / "phone.heic"
    path.write_bytes(files.CASES["heic"][1]())
    monkeypatch.setitem(sys.modules, "pillow_heif", None)
    with pytest.raises(UnreadablePhoto, match=r"pip install 'faceveil\[heic\]'"):
        read_photo(path)


def test_a_heic_that_calls_itself_jpeg_is_found_and_told_by_its_bytes(files, tmp_path):
    (tmp_path / "IMG_1.jpg").write_bytes(files.CASES["heic"][1]())
    (tmp_path / "IMG_2.HEIC").write_bytes(files.CASES["heic"][1]())
    found = find_photos([tmp_path]).photos
    assert [read_photo(photo.path).format for photo in found] == ["HEIC", "HEIC"]
