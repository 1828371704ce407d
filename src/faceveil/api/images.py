"""An image as people have it: an array, a path, or a Photo that was read."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from faceveil.errors import UsageError
from faceveil.photos import MAX_PIXELS, Photo, read_photo

ImageLike = NDArray[np.uint8] | str | Path | Photo


def as_photo(image: ImageLike, *, max_pixels: int = MAX_PIXELS, keep_metadata: tuple[str, ...] = ()) -> Photo:
    """The Photo: RGB, uint8, H×W×3. A grey array becomes three equal channels."""
    if isinstance(image, Photo):
        return image
    if isinstance(image, str | Path):
        return read_photo(image, max_pixels=max_pixels, keep_metadata=keep_metadata)
    if not isinstance(image, np.ndarray):
        raise UsageError(
            f"an image is an array (RGB, uint8, height × width × 3), a path or a Photo, not a "
            f"{type(image).__name__}. numpy.asarray(image) makes an array of most others."
        )
    if image.dtype != np.uint8:
        raise UsageError(
            f"an image holds whole numbers from 0 to 255 (uint8); this array is {image.dtype}. "
            "Scale it and convert it: (255 * image).astype('uint8') where it runs from 0 to 1."
        )
    if image.ndim == 2:
        image = np.repeat(image[..., None], 3, axis=2)
    if image.ndim != 3 or image.shape[2] != 3:
        raise UsageError(
            f"an image is height × width × 3 in RGB; this array is {image.shape}. "
            "Leave an alpha channel out (image[..., :3]) and give the images of a batch one by one."
        )
    return Photo(image)
