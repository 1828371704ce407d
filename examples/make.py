"""Make the example photos: portraits of people who do not exist, and a wall of pictures of them.

    python examples/make.py

The faces come from the generator (MobileStyleGAN), so the photos show nobody.
"""

from pathlib import Path

import cv2
import numpy as np

from faceveil.models.generator import Generator
from faceveil.photos import Photo, write_photo

HERE = Path(__file__).parent
SEED, COUNT, TRUNCATION = 4, 24, 0.7
PORTRAITS = (5, 9, 10, 19, 21, 23)  # chosen by eye for variety


def faces() -> np.ndarray:
    generator = Generator(threads=2)
    latents = generator.mapping(generator.sample_z(COUNT, np.random.default_rng(SEED)))
    return np.asarray(generator.render(generator.truncate(latents, TRUNCATION), size=512))


def wall(people: np.ndarray, width: int = 1600, height: int = 1067) -> np.ndarray:
    """Framed pictures on a plastered wall: faces from about 14 to 300 px, some hung askew."""
    rng = np.random.default_rng(SEED)
    grain = cv2.resize(
        rng.normal(size=(height // 3, width // 3)), (width, height), interpolation=cv2.INTER_CUBIC
    )
    light = np.linspace(0.82, 1.05, width)[None, :, None]
    picture = np.clip((np.array([196, 188, 172]) + 5 * grain[..., None]) * light, 0, 255).astype(np.uint8)
    places = [
        (300, 350, 420, 0), (760, 270, 300, -8), (1120, 330, 230, 12), (1400, 260, 170, -20), (700, 640, 210, 30),
        (980, 640, 150, -38), (1240, 600, 110, 5), (1440, 560, 84, 0), (200, 790, 190, -5), (430, 800, 120, 18),
        (600, 900, 70, 0), (760, 910, 52, -10), (880, 900, 40, 0), (1000, 890, 34, 8), (1120, 850, 60, 42),
        (1280, 800, 100, -15), (1450, 850, 140, 0),
    ]  # fmt: skip
    for who, (x, y, side, degrees) in enumerate(places):
        hang(picture, people[who], x, y, side, degrees)
    return picture


def hang(picture: np.ndarray, portrait: np.ndarray, x: int, y: int, side: int, degrees: float) -> None:
    """One framed portrait, in place."""
    small = cv2.resize(portrait, (side, side), interpolation=cv2.INTER_AREA)
    rim = max(2, side // 24)
    framed = cv2.copyMakeBorder(small, rim, rim, rim, rim, cv2.BORDER_CONSTANT, value=(52, 40, 33))
    full = framed.shape[0]
    turn = cv2.getRotationMatrix2D((full / 2, full / 2), degrees, 1.0)
    turn[:, 2] += np.array([x, y]) - full / 2
    size = picture.shape[1], picture.shape[0]
    mask = cv2.warpAffine(np.ones((full, full), np.float32), turn, size)
    shadow = cv2.GaussianBlur(np.roll(mask, (rim, rim), (0, 1)), (0, 0), rim)[..., None] * 0.35
    hung = cv2.warpAffine(framed, turn, size, flags=cv2.INTER_LINEAR)
    base = picture * (1 - shadow)
    picture[:] = (base * (1 - mask[..., None]) + hung * mask[..., None]).astype(np.uint8)


def main() -> None:
    people = faces()
    folder = HERE / "photos"
    folder.mkdir(exist_ok=True)
    for number, who in enumerate(PORTRAITS, 1):
        save(people[who], folder / f"portrait-{number}.jpg")
    save(wall(people), folder / "wall.jpg")


def save(pixels: np.ndarray, path: Path) -> None:
    write_photo(Photo(np.ascontiguousarray(pixels), format="JPEG"), path, overwrite=True)


if __name__ == "__main__":
    main()
