"""Releases to verify, and to tamper with."""

import shutil
from pathlib import Path

import cv2
import numpy as np
import pytest
from tests.pipeline.pixel_mean import PixelMean

from faceveil import Settings, anonymize
from faceveil.photos import Photo, read_photo, write_photo

RELEASED = [("photos", "photos", "identical"), ("joined", "photos", "joined"), ("crops", "crops", "joined")]


@pytest.fixture(scope="session")
def originals(tmp_path_factory: pytest.TempPathFactory, examples: Path) -> Path:
    """Six people: four alone, two together."""
    folder = tmp_path_factory.mktemp("originals")
    people = [read_photo(examples / f"portrait-{number}.jpg").pixels for number in range(1, 7)]
    people = [cv2.resize(person, (256, 256), interpolation=cv2.INTER_AREA) for person in people]
    for number in range(4):
        write_photo(Photo(people[number]), folder / f"{number}.jpg")
    write_photo(Photo(np.hstack(people[4:])), folder / "two.png")
    return folder


@pytest.fixture(scope="session")
def released_once(originals: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("released")
    for name, release, paste in RELEASED:
        settings = Settings(method=PixelMean(k=3), seed=3, release=release, paste=paste)
        anonymize(originals, folder / name, settings=settings)
    return {name: folder / name for name, _, _ in RELEASED}


@pytest.fixture
def photos_out(released_once: dict[str, Path], tmp_path: Path) -> Path:
    """Six faces in two groups of three, in five photos."""
    return Path(shutil.copytree(released_once["photos"], tmp_path / "photos"))


@pytest.fixture
def joined_out(released_once: dict[str, Path], tmp_path: Path) -> Path:
    """The same groups, their faces joined with the photos."""
    return Path(shutil.copytree(released_once["joined"], tmp_path / "joined"))


@pytest.fixture
def crops_out(released_once: dict[str, Path], tmp_path: Path) -> Path:
    """Six crops in two groups."""
    return Path(shutil.copytree(released_once["crops"], tmp_path / "crops"))
