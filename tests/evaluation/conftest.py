"""Photos of ORL as files, and one cache for all tests, so that each photo is embedded once."""

from pathlib import Path

import cv2
import numpy as np
import pytest

from faceveil.models import weights

PEOPLE, PHOTOS = 24, 2


def orl(person: int, photo: int) -> np.ndarray:
    """A photo with room around the head, RGB."""
    grey = cv2.imread(str(weights("orl.faces") / f"s{person}" / f"{photo}.pgm"), cv2.IMREAD_GRAYSCALE)
    padded = cv2.copyMakeBorder(grey, 24, 24, 34, 34, cv2.BORDER_REPLICATE)
    return cv2.cvtColor(padded, cv2.COLOR_GRAY2RGB)


def save(path: Path, image: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    cv2.imwrite(str(path), image[..., ::-1])


def write_set(folder: Path, change=None, people: int = PEOPLE, photos: int = PHOTOS) -> Path:
    """A folder of photos, one folder per person; `change(image, person, photo)` makes the released ones."""
    for person in range(1, people + 1):
        for photo in range(1, photos + 1):
            image = orl(person, photo)
            save(
                folder / f"s{person}" / f"{photo}.png",
                change(image, person, photo) if change else image,
            )
    return folder


def covered(image: np.ndarray, *_: int) -> np.ndarray:
    """A black rectangle over the whole head."""
    out = image.copy()
    out[24:-24, 30:-30] = 0
    return out


@pytest.fixture(scope="session")
def cache_file(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("cache") / "embeddings.sqlite"


@pytest.fixture(scope="session")
def originals(tmp_path_factory) -> Path:
    return write_set(tmp_path_factory.mktemp("originals"))
