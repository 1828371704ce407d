"""What all tests share: the example photos (people who do not exist) and where other data may be."""

import os
from pathlib import Path

import numpy as np
import pytest

from faceveil.photos import read_photo

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples" / "photos"


@pytest.fixture(scope="session")
def examples() -> Path:
    """The folder of example photos."""
    return EXAMPLES


@pytest.fixture(scope="session")
def portrait() -> np.ndarray:
    """A frontal face, 512 × 512."""
    return read_photo(EXAMPLES / "portrait-1.jpg").pixels


@pytest.fixture(scope="session")
def wall() -> np.ndarray:
    """Seventeen faces from 14 to 250 px, tilted up to 42°."""
    return read_photo(EXAMPLES / "wall.jpg").pixels


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real faces that are not part of the project; tests that need them are skipped where they are absent."""
    folder = Path(os.environ.get("FACEVEIL_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip("needs the face data beside the project or at FACEVEIL_DATA")
    return folder
