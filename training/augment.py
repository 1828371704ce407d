"""What users' photos are like, done to training faces. RGB uint8 in and out; the input is not changed."""

import cv2
import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.uint8]


def degrade(image: Image, rng: np.random.Generator, occlusion: float = 0.25) -> Image:
    """What a camera or a file does and a network should see through; each with its own chance."""
    if rng.random() < occlusion:
        image = _occlude(image, rng)
    if rng.random() < 0.3:
        image = _low_resolution(image, rng)
    if rng.random() < 0.2:
        image = cv2.GaussianBlur(image, (0, 0), rng.uniform(0.4, 2.0))
    if rng.random() < 0.3:
        noise = rng.normal(0, rng.uniform(2, 12), image.shape)
        image = np.clip(image + noise, 0, 255).astype(np.uint8)
    if rng.random() < 0.4:
        quality = int(rng.integers(25, 95))
        packed = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, quality])[1]
        image = cv2.imdecode(packed, cv2.IMREAD_COLOR)
    return image


def relight(image: Image, rng: np.random.Generator, strength: float = 1.0) -> Image:
    """Gain, gamma, colour cast and, now and then, grey."""
    gain = np.exp(strength * rng.normal(0, 0.15) + strength * rng.normal(0, 0.05, 3))
    gamma = np.exp(strength * rng.normal(0, 0.2))
    table = 255 * (np.arange(256) / 255)[:, None] ** gamma * gain
    image = np.take_along_axis(np.clip(table, 0, 255).astype(np.uint8), image.reshape(-1, 3), 0).reshape(
        image.shape
    )
    if rng.random() < 0.1 * strength:
        image = np.repeat(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)[..., None], 3, axis=2)
    return image


def jitter(image: Image, mask: Image, rng: np.random.Generator) -> tuple[Image, Image]:
    """Small errors of alignment, and a mirror half of the time, done to a face and its mask alike."""
    matrix = cv2.getRotationMatrix2D((0.5, 0.5), rng.normal(0, 2), np.exp(rng.normal(0, 0.03)))
    matrix[:, 2] += rng.normal(0, 0.01, 2)
    if rng.random() < 0.5:
        matrix[0] = [-matrix[0, 0], -matrix[0, 1], 1 - matrix[0, 2]]
    moved = []
    for layer, border in ((image, cv2.BORDER_REFLECT), (mask, cv2.BORDER_CONSTANT)):
        side = layer.shape[0]
        scaled = matrix * [1, 1, side]
        moved.append(cv2.warpAffine(layer, scaled, (side, side), borderMode=border))
    return moved[0], moved[1]


def _occlude(image: Image, rng: np.random.Generator) -> Image:
    """A box or ellipse of one colour or of noise, like a hand, a microphone or a hat."""
    side = image.shape[0]
    shape = np.zeros(image.shape[:2], np.uint8)
    centre = tuple(int(v) for v in rng.uniform(0, side, 2))
    axes = tuple(int(v) for v in rng.uniform(0.05, 0.25, 2) * side)
    cv2.ellipse(shape, centre, axes, rng.uniform(0, 180), 0, 360, 255, -1)
    colour = rng.integers(0, 256, 3) + rng.normal(0, rng.uniform(0, 30), image.shape)
    return np.where(shape[..., None] > 0, np.clip(colour, 0, 255), image).astype(np.uint8)


def _low_resolution(image: Image, rng: np.random.Generator) -> Image:
    side = image.shape[0]
    small = int(rng.uniform(0.2, 0.7) * side)
    shrunk = cv2.resize(image, (small, small), interpolation=cv2.INTER_AREA)
    way = int(rng.choice([cv2.INTER_LINEAR, cv2.INTER_CUBIC, cv2.INTER_NEAREST]))
    return cv2.resize(shrunk, (side, side), interpolation=way)
