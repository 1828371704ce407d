"""Reading: every colour mode, orientation and profile becomes upright sRGB."""

import struct

import numpy as np
import pytest
from PIL import Image

from faceveil.errors import UnreadablePhoto, UsageError
from faceveil.photos import Photo, decode_photo, read_photo
from faceveil.photos.transparency import shown, with_shown


def psnr(one: np.ndarray, other: np.ndarray) -> float:
    error = np.mean((one.astype(float) - other.astype(float)) ** 2)
    return float("inf") if error == 0 else 10 * np.log10(255**2 / error)


def stored(upright: np.ndarray, orientation: int) -> np.ndarray:
    """How a camera that was held so stores the picture (from the definition of the EXIF tag)."""
    axes = (1, 0, *range(2, upright.ndim))
    return {
        1: upright,
        2: upright[:, ::-1],
        3: upright[::-1, ::-1],
        4: upright[::-1],
        5: upright.transpose(axes),
        6: np.rot90(upright, 1),
        7: upright[::-1, ::-1].transpose(axes),
        8: np.rot90(upright, -1),
    }[orientation]


def test_every_mode_and_format_is_read_as_rgb(files, case, tmp_path):
    format, make = files.CASES[case]
    path = tmp_path / "photo.any"
    path.write_bytes(make())
    photo = read_photo(path, keep_metadata=("alpha",))
    assert (photo.format, photo.path, photo.size_wh) == (format, path, (96, 64))
    assert photo.pixels.dtype == np.uint8 and photo.pixels.shape == (64, 96, 3)
    expected = files.scene()
    if photo.encoding.grey:
        expected = np.asarray(
            files.colour_image("1" if "1-bit" in case or "fax" in case else "L").convert("RGB")
        )
    visible = slice(None) if photo.alpha is None else photo.alpha > 0
    lossy = case.startswith(("jpeg", "webp", "tiff-jpeg", "heic", "avif")) and "lossless" not in case
    floor = 19 if "palette" in case else 25 if lossy else 60
    assert psnr(photo.pixels[visible], expected[visible]) > floor


@pytest.mark.parametrize("case_with_alpha", ["png-alpha", "webp-alpha", "webp-lossless-alpha", "tiff-alpha"])
def test_alpha_is_read_exactly(files, case_with_alpha):
    photo = decode_photo(files.CASES[case_with_alpha][1](), keep_metadata=("alpha",))
    assert np.array_equal(photo.alpha, np.asarray(files.with_alpha())[..., 3])


def test_a_colour_key_becomes_alpha(files):
    photo = decode_photo(files.bitmap_with_key(), keep_metadata=("alpha",))
    assert np.array_equal(photo.alpha == 0, (files.scene() == files.scene()[9, 9]).all(axis=-1))


def test_16_bit_grey_is_scaled_and_not_clipped(files):
    ramp = np.linspace(0, 65535, 256).astype(np.uint16)[None, :].repeat(4, axis=0)
    for format in ("PNG", "TIFF"):
        photo = decode_photo(files.encode(Image.fromarray(ramp), format))
        assert np.abs(photo.pixels[0, :, 0].astype(int) - np.arange(256)).max() <= 1


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("white_is_zero", [False, True])
def test_16_bit_tiff_is_read_in_both_byte_orders_and_polarities(files, order, white_is_zero):
    ramp = np.arange(0, 65536, 1024, dtype=order + "u2").reshape(8, 8)
    short = {
        number: struct.pack(order + "H", value) for number, value in ((256, 8), (257, 8), (258, 16), (259, 1))
    }
    tags = [(number, 3, 1, value) for number, value in short.items()]
    tags += [(262, 3, 1, struct.pack(order + "H", 0 if white_is_zero else 1)), (278, 3, 1, short[257])]
    tags += [(273, 4, 1, struct.pack(order + "I", 8)), (279, 4, 1, struct.pack(order + "I", 128))]
    data = files.tiff(tags, ramp.tobytes(), order)
    if white_is_zero and order == ">":
        with pytest.raises(UnreadablePhoto):  # the decoder does not know this kind; it must not guess
            decode_photo(data)
        return
    expected = (ramp.astype(np.uint16) >> 8).astype(np.uint8)
    expected = 255 - expected if white_is_zero else expected
    assert np.array_equal(decode_photo(data).pixels[..., 0], expected)


def test_16_bit_and_8_bit_colour_give_the_same_pixels(files):
    assert np.array_equal(decode_photo(files.CASES["png-16-bit-colour"][1]()).pixels, files.scene())


@pytest.mark.parametrize(
    "samples", [[[0.0, 300.0]], [[-1.0, 1.0]], [[0.0, float("nan")]], [[0.0, float("inf")]]]
)
def test_floats_without_an_agreed_range_are_refused(files, samples):
    with pytest.raises(UnreadablePhoto, match="floating-point"):
        decode_photo(files.encode(Image.fromarray(np.array(samples, np.float32)), "TIFF"))


def test_whole_numbers_of_32_bits_are_refused(files):
    with pytest.raises(UnreadablePhoto, match="32-bit"):
        decode_photo(files.encode(Image.fromarray(np.full((4, 4), 70_000, np.int32)), "TIFF"))


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("format", ["PNG", "WEBP", "TIFF", "JPEG"])
def test_orientation_is_applied_to_the_pixels(files, format, orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    options = {"WEBP": {"lossless": True}, "JPEG": {"quality": 98, "subsampling": 0}}.get(format, {})
    turned = np.ascontiguousarray(stored(files.scene(), orientation))
    photo = decode_photo(files.encode(turned, format, exif=exif, **options))
    assert photo.size_wh == (96, 64)
    assert psnr(photo.pixels, files.scene()) > (38 if format == "JPEG" else 100)


@pytest.mark.parametrize("orientation", range(1, 9))
def test_orientation_turns_alpha_too(files, orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    turned = np.ascontiguousarray(stored(np.asarray(files.with_alpha()), orientation))
    photo = decode_photo(files.encode(turned, "PNG", exif=exif), keep_metadata=("alpha",))
    assert np.array_equal(np.dstack([photo.pixels, photo.alpha]), np.asarray(files.with_alpha()))


def test_an_orientation_that_does_not_exist_changes_nothing(files):
    exif = Image.Exif()
    exif[0x0112] = 77
    assert np.array_equal(decode_photo(files.encode(files.scene(), "PNG", exif=exif)).pixels, files.scene())


def test_ycck_is_read_in_its_true_colours(files):
    # Stored as luma and chroma of the inverse; only Adobe's flag tells it from CMYK.
    luma_chroma = np.asarray(Image.fromarray(255 - files.scene()).convert("YCbCr"))
    channels = np.dstack([255 - luma_chroma, np.zeros((64, 96), np.uint8)])
    data = bytearray(files.encode(Image.frombytes("CMYK", (96, 64), channels.tobytes()), "JPEG", quality=98))
    data[data.index(b"Adobe") + 11] = 2
    assert psnr(decode_photo(bytes(data)).pixels, files.scene()) > 35


def test_previews_of_a_multi_picture_jpeg_are_left_out(files):
    first, second = files.scene(), files.scene()[::-1]
    data = files.encode(Image.fromarray(first), "MPO", save_all=True, append_images=[Image.fromarray(second)])
    assert psnr(decode_photo(data).pixels, first) > 25


def test_a_tiff_preview_is_left_out_and_the_picture_found_behind_it(files):
    full, small = Image.fromarray(files.scene()), Image.fromarray(files.scene()[::4, ::4])
    small.encoderinfo, full.encoderinfo = {"tiffinfo": {254: 1}}, {"tiffinfo": {254: 0}}
    for first, second in ((full, small), (small, full)):
        data = files.encode(first, "TIFF", save_all=True, append_images=[second], **first.encoderinfo)
        assert np.array_equal(decode_photo(data).pixels, files.scene())


def test_what_the_file_is_counts_and_not_its_suffix(files, tmp_path):
    path = tmp_path / "photo.jpg"
    path.write_bytes(files.encode(files.scene(), "PNG"))
    assert read_photo(path).format == "PNG"


def test_a_photo_cannot_be_changed_in_place(files):
    photo = decode_photo(files.encode(files.with_alpha(), "PNG"), keep_metadata=("alpha",))
    with pytest.raises(ValueError):
        photo.pixels[0, 0] = 0
    with pytest.raises(ValueError):
        photo.alpha[0, 0] = 0


def test_alpha_is_laid_on_white_unless_it_is_asked_for(files, case):
    data = files.CASES[case][1]()
    kept, plain = decode_photo(data, keep_metadata=("alpha",)), decode_photo(data)
    assert plain.alpha is None and plain.encoding.grey == kept.encoding.grey
    if kept.alpha is None:
        assert np.array_equal(plain.pixels, kept.pixels) and plain.notes == ()
        return
    share = kept.alpha[..., None] / 255
    assert np.abs(plain.pixels - (kept.pixels * share + 255 * (1 - share))).max() < 1
    assert "laid on white" in plain.notes[0] and kept.notes == ()


def test_an_opaque_alpha_channel_is_dropped(files):
    opaque = np.dstack([files.scene(), np.full((64, 96), 255, np.uint8)])
    photo = decode_photo(files.encode(opaque, "PNG"), keep_metadata=("alpha",))
    assert photo.alpha is None and photo.notes == () and np.array_equal(photo.pixels, files.scene())


def test_what_is_shown_where_a_photo_changed_is_opaque_there_and_all_else_is_as_it_was(files):
    photo = decode_photo(files.encode(files.with_alpha(), "PNG"), keep_metadata=("alpha",))
    changed, image = np.zeros((64, 96), bool), 255 - shown(photo)
    changed[10:20, 0:40] = True
    after = with_shown(photo, image, changed)
    assert (after.alpha[changed] == 255).all() and np.array_equal(after.pixels[changed], image[changed])
    assert np.array_equal(after.alpha[~changed], photo.alpha[~changed])
    assert np.array_equal(after.pixels[~changed], photo.pixels[~changed])
    assert after.encoding is photo.encoding and after.path == photo.path


@pytest.mark.parametrize(
    "pixels", [np.zeros((4, 4), np.uint8), np.zeros((4, 4, 3)), np.zeros((0, 4, 3), np.uint8), [[1, 2, 3]]]
)
def test_a_photo_of_the_wrong_shape_is_refused(pixels):
    with pytest.raises(UsageError):
        Photo(pixels=pixels)
