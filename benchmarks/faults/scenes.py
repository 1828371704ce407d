"""The photos that are protected in the campaign: small ones made of the example portraits, which show nobody real."""

import io
from functools import cache
from pathlib import Path

import cv2
import numpy as np
from PIL import Image

EXAMPLES = Path(__file__).parent.parent.parent / "examples" / "photos"
SIDE = 128  # px: faces of some 80 px
OTHERS = (
    (300, 350, 400),
    (760, 270, 280),
    (1120, 330, 215),
)  # on the wall: people of no portrait; centre and side
Pixels = np.ndarray
FORMATS = {".jpg": "JPEG", ".png": "PNG", ".webp": "WEBP", ".tif": "TIFF", ".bmp": "BMP"}


def _three() -> dict[str, Pixels]:
    return {"a.jpg": portrait(1), "b.png": portrait(2), "c.jpg": portrait(3)}


def _crowd() -> dict[str, Pixels]:
    """Six people in five photos, and one of nobody."""
    sky = np.repeat(np.linspace(90, 220, 96).astype(np.uint8)[:, None, None], SIDE, axis=1).repeat(3, axis=2)
    singles = {f"single-{number}.jpg": portrait(number) for number in range(1, 5)}
    return {**singles, "sub/two.png": np.hstack([portrait(5), portrait(6)]), "view.png": sky}


def _formats() -> dict[str, Pixels]:
    return {f"{number}/deep/photo{suffix}": portrait(number) for number, suffix in enumerate(FORMATS, 1)}


SCENES = {"three": _three, "crowd": _crowd, "formats": _formats}


@cache
def scene(name: str) -> dict[str, bytes]:
    """The files of a scene by their names."""
    return {file: encoded(pixels, Path(file).suffix) for file, pixels in SCENES[name]().items()}


@cache
def portrait(number: int) -> Pixels:
    with Image.open(EXAMPLES / f"portrait-{number}.jpg") as image:
        return cv2.resize(np.asarray(image.convert("RGB")), (SIDE, SIDE), interpolation=cv2.INTER_AREA)


@cache
def newcomer(number: int) -> Pixels:
    """Somebody who is in no scene: who is taken twice into a set of people is there twice."""
    x, y, side = OTHERS[number]
    with Image.open(EXAMPLES / "wall.jpg") as image:
        crop = image.convert("RGB").crop((x - side // 2, y - side // 2, x + side // 2, y + side // 2))
    return cv2.resize(np.asarray(crop), (SIDE, SIDE), interpolation=cv2.INTER_AREA)


def encoded(pixels: Pixels, suffix: str) -> bytes:
    buffer = io.BytesIO()
    options = {".jpg": {"quality": 92}, ".webp": {"lossless": True}}.get(suffix, {})
    Image.fromarray(pixels).save(buffer, FORMATS[suffix], **options)
    return buffer.getvalue()


def another(name: str, data: bytes, rng: np.random.Generator) -> bytes:
    """What may stand under a name instead of its photo: the photo of somebody else, or the photo damaged."""
    if rng.random() < 0.5:
        return encoded(newcomer(int(rng.integers(len(OTHERS)))), Path(name).suffix)
    return damaged(data, rng)


def damaged(data: bytes, rng: np.random.Generator) -> bytes:
    """A file that went wrong: cut short, bits flipped, junk, a stretch of zeros, empty, of another format."""
    way = rng.integers(7)
    at = int(rng.integers(len(data)))
    if way == 0:
        return data[:at]
    if way == 1:
        return _with_flips(data, 1 + int(rng.integers(40)), rng)
    if way == 2:
        return data[:at] + rng.bytes(len(data) - at)
    if way == 3:
        length = min(len(data) - at, 1 + int(rng.integers(2000)))
        return data[:at] + bytes(length) + data[at + length :]
    if way == 4:
        return b""
    if way == 5:
        return rng.bytes(1 + int(rng.integers(5000)))
    with Image.open(io.BytesIO(data)) as image:
        return encoded(np.asarray(image.convert("RGB")), str(rng.choice([*FORMATS])))


def _with_flips(data: bytes, count: int, rng: np.random.Generator) -> bytes:
    changed = np.frombuffer(data, np.uint8).copy()
    places = rng.integers(len(data), size=count)
    changed[places] ^= np.left_shift(np.uint8(1), rng.integers(8, size=count).astype(np.uint8))
    return changed.tobytes()
