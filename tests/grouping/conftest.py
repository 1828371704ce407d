"""Data that is found beside the project, or wherever FACEVEIL_DATA points."""

import os
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

DATA = Path(os.environ.get("FACEVEIL_DATA", Path(__file__).parents[3] / "shared" / "data"))


@pytest.fixture(scope="session")
def celeba() -> NDArray[np.float32]:
    """979 dlib embeddings of CelebA, published by the AnonFACES authors."""
    path = DATA / "anonfaces" / "celeba979_dlib.npz"
    if not path.exists():
        pytest.skip(f"{path} is not here; set FACEVEIL_DATA to the folder that holds anonfaces/")
    return np.asarray(np.load(path)["embeddings"])


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20)
