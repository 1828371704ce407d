"""Any colour mode to grey or sRGB, with the file's ICC profile applied."""

import io
from functools import lru_cache
from typing import Any

import numpy as np
from PIL import Image, ImageCms

from faceveil.errors import UnreadablePhoto

# The profile's colour space that fits each mode.
_SPACES = {"L": "GRAY", "RGB": "RGB", "CMYK": "CMYK"}
# A profile that moves no colour by more than this is sRGB under another name: the pixels stay as they are.
_SAME_COLOUR = 1


def split_alpha(image: Image.Image) -> tuple[Image.Image, Image.Image | None]:
    """The colour part (mode L, RGB or CMYK, 8 bits) and the alpha part (mode L) of a decoded picture."""
    mode = image.mode
    if mode.startswith("I;16"):
        return _from_16_bit(image)
    if mode == "F":
        return _from_float(image), None
    if mode in ("I", "LAB", "HSV"):
        kind = "32-bit whole-number samples" if mode == "I" else f"{mode} colours"
        raise UnreadablePhoto(
            f"it holds {kind}, which have no agreed brightness. Save it as 8- or 16-bit RGB."
        )
    if mode in ("LA", "RGBA"):
        return image.convert(mode[:-1]), image.getchannel("A")
    if mode in ("PA", "La", "RGBa") or "transparency" in image.info:
        rgba = _with_8_bit_key(image).convert("RGBA")
        colour = rgba.convert("L") if mode in ("1", "L", "La") else rgba.convert("RGB")
        return colour, rgba.getchannel("A")
    if mode in _SPACES:
        return image, None
    return image.convert("L" if mode == "1" else "RGB"), None


def to_srgb(colour: Image.Image, profile: bytes | None) -> tuple[Image.Image, str | None]:
    """The colours in sRGB (mode L or RGB), and a note where the profile could not be used.

    A profile that cannot be read is set aside and the numbers are taken as sRGB, as most viewers do: a wrong
    tint is no reason to leave a face unprotected.
    """
    note = None
    if profile:
        try:
            transform = _srgb_transform(profile, colour.mode)
            if transform is not None:
                return ImageCms.applyTransform(colour, transform) or colour, None
        except (ImageCms.PyCMSError, OSError, ValueError, TypeError) as error:
            note = f"the colour profile cannot be used ({error}); colours are taken as sRGB"
    return (colour.convert("RGB") if colour.mode == "CMYK" else colour), note


@lru_cache(maxsize=16)
def _srgb_transform(profile: bytes, mode: str) -> Any:
    """The transform from this profile to sRGB, or None where it would change nothing."""
    source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
    space = source.profile.xcolor_space.strip()
    if space != _SPACES[mode]:
        raise ValueError(f"it is made for {space} and the picture is {_SPACES[mode]}")
    transform = ImageCms.buildTransform(
        source,
        ImageCms.createProfile("sRGB"),
        mode,
        "RGB",
        ImageCms.Intent.RELATIVE_COLORIMETRIC,
        ImageCms.Flags.BLACKPOINTCOMPENSATION,
    )
    return None if mode != "CMYK" and _changes_nothing(transform, mode) else transform


def _changes_nothing(transform: Any, mode: str) -> bool:
    levels = np.linspace(0, 255, 16).astype(np.uint8)
    if mode == "L":
        probe = levels[None, :]
        expected = np.repeat(probe[..., None], 3, axis=2)
    else:
        probe = expected = np.stack(np.meshgrid(levels, levels, levels), axis=-1).reshape(1, -1, 3)
    result = ImageCms.applyTransform(Image.fromarray(probe), transform)
    return bool(np.abs(np.asarray(result).astype(int) - expected).max() <= _SAME_COLOUR)


def _from_16_bit(image: Image.Image) -> tuple[Image.Image, Image.Image | None]:
    """16-bit grey to 8 bits by its high byte, which is what the decoders do with 16-bit colour."""
    samples = np.asarray(image).astype(np.uint16)
    if getattr(image, "tag_v2", {}).get(262) == 0:  # TIFF WhiteIsZero; the decoder inverts only 8 bits
        samples = ~samples
    key = image.info.get("transparency")
    alpha = Image.fromarray(np.where(samples == key, 0, 255).astype(np.uint8)) if key is not None else None
    return Image.fromarray((samples >> 8).astype(np.uint8)), alpha


def _with_8_bit_key(image: Image.Image) -> Image.Image:
    """A 16-bit colour picture is decoded to 8 bits but its transparent colour is not: reduce it alike."""
    key = image.info.get("transparency")
    if isinstance(key, tuple) and max(key) > 255:
        image = image.copy()
        image.info["transparency"] = tuple(value >> 8 for value in key)
    return image


def _from_float(image: Image.Image) -> Image.Image:
    samples = np.asarray(image)
    low, high = float(samples.min()), float(samples.max())
    if not (low >= 0 and high <= 1):  # also false for NaN
        raise UnreadablePhoto(
            f"it holds floating-point samples from {low:g} to {high:g}; only the range 0 to 1 has an agreed "
            "brightness. Save it as 8- or 16-bit."
        )
    return Image.fromarray(np.rint(samples * 255).astype(np.uint8))
