"""Put a group's face into its members' photos as part of each: behind hair, hat and glasses, in the member's light.

What stands in a photo afterwards is a function of the group's face, of the photo beside its faces, and of what
`Seen` holds of the face that was there; of that face nothing else is looked at. `verify` draws it again so, from the
released photo alone.
"""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from faceveil.faces.align import Alignment
from faceveil.faces.detail import Grain, with_grain
from faceveil.faces.face import Image
from faceveil.faces.joined import LARGEST, SMALLEST, joined, resized
from faceveil.faces.light import SKINS, Light, light_of, lit
from faceveil.faces.paste import paste, placed
from faceveil.faces.regions import Mask, Region
from faceveil.models.directions import turned
from faceveil.models.encoder import Encoder
from faceveil.models.mobilestylegan import Floats as Code
from faceveil.models.parser import SIZE, parse

FEATURES = slice(2, 13)  # slots of the code that are the group's in every photo
DARKEST, MOST_GAIN = 8.0, 4.0  # of 255; times
FEATHER = 1.2  # px of SIZE: how softly the new face ends


@dataclass(frozen=True, eq=False)
class Seen:
    """All that enters the new face of the one that it takes the place of."""

    shape: bytes  # the outline, packed: a set has many
    light: Light  # on its skin
    grain: Grain  # how strong three scales of its detail are
    turn: tuple[float, float]  # yaw and pitch, degrees

    @property
    def outline(self) -> NDArray[np.bool_]:
        """Of the crop, SIZE × SIZE, what the new face takes the place of."""
        bits = zlib.decompressobj().decompress(self.shape, SIZE * SIZE // 8 + 1)
        return np.unpackbits(np.frombuffer(bits, np.uint8)).reshape(SIZE, SIZE) > 0


def packed(outline: NDArray[np.bool_]) -> bytes:
    """An outline as `Seen` has it."""
    return zlib.compress(np.packbits(outline).tobytes(), 9)


@dataclass(frozen=True, eq=False)
class Member:
    """One place in a photo, and who is to stand there."""

    place: Alignment
    code: Code  # of the group's face, 23 × 512
    seen: Seen


def put_in(image: Image, members: Sequence[Member]) -> tuple[Image, list[Region]]:
    """A new photo with these faces, each over those before it, and the region that each changed."""
    bare, out, regions = _without_faces(image, members), image, []
    for member in members:
        crop = _drawn(bare, member)
        place = member.place.resized(crop.shape[0])
        mask = _mask(member.seen, crop.shape[0])
        out = paste(out, crop, place, mask, feather=0)
        regions.append(placed(image, place, mask) or Region(np.zeros((0, 0), np.uint8), 0, 0))
    return out, regions


def replaced(image: Image, members: Sequence[Member]) -> Image:
    """White where a new face stands in a photo of this size, black elsewhere."""
    white, out = np.full((SIZE, SIZE, 3), 255, np.uint8), np.zeros_like(image)
    for member in members:
        out = paste(out, white, member.place.resized(SIZE), _mask(member.seen, SIZE), feather=0)
    return out


def _without_faces(image: Image, members: Sequence[Member]) -> Image:
    """The photo with nothing but the light where the faces are: so none is drawn with another in view."""
    for member in members:
        light = np.rint(lit(member.seen.light)).astype(np.uint8)
        image = paste(image, light, member.place.resized(SIZE), _mask(member.seen, SIZE), feather=0)
    return image


def _drawn(bare: Image, member: Member) -> Image:
    """The group's face as it looks in this photo, as a crop as fine as the photo.

    A code has a light of its own. So the face is drawn twice: the second one's frame and colours are what the encoder
    reads in the first, put into the member's light and beside the member's hair.
    """
    seen, place = member.seen, member.place
    photo, share = place.resized(SIZE).crop(bare), soft(seen.outline)
    code = turned(member.code, *seen.turn)
    first = joined(code, photo, share, seen.light, SIZE)
    skin = np.isin(parse(first).argmax(axis=0), SKINS) & seen.outline
    first = _in_light(first, skin, seen.light)
    mixed = photo + share[..., None] * (first.astype(np.float32) - photo)
    second = Encoder().encode(np.rint(mixed).astype(np.uint8)[None])[0]
    second[FEATURES] = code[FEATURES]
    crop = joined(second, photo, share, seen.light, fine(place))
    return with_grain(_in_light(crop, skin, seen.light), seen.grain, seen.outline)


def _in_light(crop: Image, skin: NDArray[np.bool_], light: Light) -> Image:
    """A drawn face with this light on its skin: as light as it cell by cell, and of its tone as a whole, since the
    colour of a cell at the rim is that of its neighbours as well."""
    if not skin.any():
        return crop
    own, wanted = (np.maximum(lit(one), DARKEST) for one in (light_of(resized(crop, SIZE), skin), light))
    tones = [one[skin].mean(axis=0) / one[skin].mean() for one in (own, wanted)]
    shade = wanted.mean(axis=2) / own.mean(axis=2)
    gain = np.clip(shade[..., None] * (tones[1] / tones[0]), 1 / MOST_GAIN, MOST_GAIN)
    large = cv2.resize(gain, crop.shape[:2], interpolation=cv2.INTER_LINEAR)
    return np.asarray(np.clip(np.rint(crop * large), 0, 255), np.uint8)


def fine(place: Alignment) -> int:
    """The side of a crop that is as fine as the photo."""
    return int(np.clip(round(place.size / place.zoom), SMALLEST, LARGEST))


def soft(outline: NDArray[np.bool_]) -> NDArray[np.float32]:
    """How much of each pixel is the new face's."""
    return np.asarray(cv2.GaussianBlur(outline.astype(np.float32), (0, 0), FEATHER), np.float32)


def _mask(seen: Seen, side: int) -> Mask:
    large = cv2.resize(soft(seen.outline), (side, side), interpolation=cv2.INTER_LINEAR)
    return np.asarray(np.rint(255 * np.clip(large, 0, 1)), np.uint8)
