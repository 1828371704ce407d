"""ICC profiles are converted to sRGB; the oracle is the colour arithmetic itself."""

import struct

import numpy as np
from PIL import Image, ImageCms

from faceveil.photos import decode_photo

# Adobe RGB (1998) and sRGB primaries, adapted to D50, as columns of XYZ.
WIDE = np.array([[0.60974, 0.20528, 0.14919], [0.31111, 0.62567, 0.06322], [0.01947, 0.06087, 0.74457]])
SRGB = np.array([[0.43607, 0.38515, 0.14307], [0.22249, 0.71687, 0.06061], [0.01392, 0.09708, 0.71410]])
GAMMA = 563 / 256


def fixed(value: float) -> bytes:
    return struct.pack(">i", round(value * 65536))


def profile(colour_space: bytes, tags: dict[bytes, bytes]) -> bytes:
    """An ICC version 2 profile from its tags."""
    table, body = b"", b""
    start = 128 + 4 + 12 * len(tags)
    for name, value in tags.items():
        table += name + struct.pack(">II", start + len(body), len(value))
        body += value + bytes(-len(value) % 4)
    head = struct.pack(">I4sI4s4s4s", start + len(body), b"lcms", 0x02100000, b"mntr", colour_space, b"XYZ ")
    head += struct.pack(">6H4s", 2024, 1, 1, 0, 0, 0, b"acsp")
    head = head.ljust(68, b"\0") + fixed(0.9642) + fixed(1.0) + fixed(0.8249)
    return head.ljust(128, b"\0") + struct.pack(">I", len(tags)) + table + body


def xyz(column: np.ndarray) -> bytes:
    return b"XYZ \0\0\0\0" + b"".join(fixed(value) for value in column)


def curve(gamma: float) -> bytes:
    return b"curv\0\0\0\0" + struct.pack(">IH", 1, round(gamma * 256))


DESCRIPTION = b"desc\0\0\0\0" + struct.pack(">I", 5) + b"Wide\0" + bytes(78)
WHITE = xyz(np.array([0.9642, 1.0, 0.8249]))


def wide_gamut_profile() -> bytes:
    primaries = {name: xyz(WIDE[:, index]) for index, name in enumerate((b"rXYZ", b"gXYZ", b"bXYZ"))}
    curves = {name: curve(GAMMA) for name in (b"rTRC", b"gTRC", b"bTRC")}
    return profile(b"RGB ", {b"desc": DESCRIPTION, b"wtpt": WHITE, **primaries, **curves})


def to_srgb_by_arithmetic(pixels: np.ndarray) -> np.ndarray:
    linear = (pixels / 255.0) ** GAMMA @ WIDE.T @ np.linalg.inv(SRGB).T
    linear = np.clip(linear, 0, 1)
    return 255 * np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)


def test_a_wide_gamut_profile_is_converted_to_srgb(files):
    pixels = files.scene() // 3 + 80  # inside the sRGB gamut
    for format in ("PNG", "TIFF"):
        photo = decode_photo(files.encode(pixels, format, icc_profile=wide_gamut_profile()))
        assert np.abs(photo.pixels - to_srgb_by_arithmetic(pixels)).max() <= 2
        assert np.abs(photo.pixels.astype(int) - pixels).max() > 5, "the profile must change something"
        assert photo.notes == ()


def test_an_srgb_profile_leaves_every_pixel_as_it_is(files):
    srgb = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    assert np.array_equal(
        decode_photo(files.encode(files.scene(), "PNG", icc_profile=srgb)).pixels, files.scene()
    )


def test_alpha_survives_the_profile(files):
    photo = decode_photo(
        files.encode(files.with_alpha(), "PNG", icc_profile=wide_gamut_profile()), keep_metadata=("alpha",)
    )
    assert np.array_equal(photo.alpha, np.asarray(files.with_alpha())[..., 3])


def test_a_grey_profile_is_applied_and_the_photo_stays_grey(files):
    grey = profile(b"GRAY", {b"desc": DESCRIPTION, b"wtpt": WHITE, b"kTRC": curve(1.0)})
    photo = decode_photo(files.encode(np.full((4, 4), 55, np.uint8), "PNG", icc_profile=grey))
    expected = 255 * (1.055 * (55 / 255) ** (1 / 2.4) - 0.055)  # linear light, encoded
    assert np.abs(photo.pixels - expected).max() <= 2 and photo.encoding.grey


def test_a_broken_profile_is_noted_and_the_colours_taken_as_srgb(files):
    for broken in (b"not a profile", wide_gamut_profile()[:150], bytes(4000)):
        photo = decode_photo(files.encode(files.scene(), "PNG", icc_profile=broken))
        assert np.array_equal(photo.pixels, files.scene())
        assert "profile cannot be used" in photo.notes[0]


def test_a_profile_for_other_colours_is_noted(files):
    photo = decode_photo(
        files.encode(Image.fromarray(files.scene()).convert("CMYK"), "TIFF", icc_profile=wide_gamut_profile())
    )
    assert "made for RGB" in photo.notes[0]
