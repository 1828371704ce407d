"""Transparency: what can be seen of a photo whose alpha channel is kept.

A face may show over one ground alone, in the colours that alpha covers, or in the alpha channel itself. So who
looks for faces looks at all of these, and who does not ask for alpha gets the photo laid on white.
"""

import numpy as np
from PIL import Image

from faceveil.photos.photo import Photo, Pixels

WHITE, GREY, BLACK = 255, 128, 0


def laid_on(pixels: Pixels, alpha: Pixels, ground: int) -> Pixels:
    """What a viewer shows of pixels (H×W or H×W×3) over a ground of this brightness."""
    image = Image.fromarray(np.ascontiguousarray(pixels))
    under = Image.new(image.mode, image.size, ground if image.mode == "L" else (ground,) * 3)
    return np.asarray(Image.composite(image, under, Image.fromarray(alpha)))


def without_hidden(pixels: Pixels, alpha: Pixels) -> Pixels:
    """Pixels (H×W or H×W×3) with nothing left where they are fully transparent."""
    hidden = alpha == 0
    if hidden.any():
        pixels = pixels.copy()
        pixels[hidden] = 0
    return pixels


def shown(photo: Photo) -> Pixels:
    """The pixels as most viewers show them: over white."""
    return photo.pixels if photo.alpha is None else laid_on(photo.pixels, photo.alpha, WHITE)


def looks(photo: Photo) -> list[Pixels]:
    """All that can be seen of what is written of a photo, as it is shown first: over white, black and grey, without
    its alpha, and the alpha alone, both ways."""
    if photo.alpha is None:
        return [photo.pixels]
    grounds = [laid_on(photo.pixels, photo.alpha, ground) for ground in (WHITE, BLACK, GREY)]
    alone = np.repeat(photo.alpha[..., None], 3, axis=2)
    return [*grounds, without_hidden(photo.pixels, photo.alpha), alone, 255 - alone]


def with_shown(photo: Photo, image: Pixels, changed: np.ndarray) -> Photo:
    """The photo that shows `image` where it changed: nothing there is transparent, and elsewhere all is as it was."""
    if photo.alpha is None:
        return photo.with_pixels(image)
    pixels = np.where(changed[..., None], image, photo.pixels)
    return photo.with_pixels(pixels, alpha=np.where(changed, np.uint8(255), photo.alpha))
