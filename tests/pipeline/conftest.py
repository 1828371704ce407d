"""Folders of photos to protect."""

import shutil
import tempfile
from pathlib import Path

import cv2
import numpy as np
import pytest

from faceveil.photos import Photo, read_photo, write_photo


@pytest.fixture
def photos(tmp_path: Path, examples: Path) -> Path:
    """Four portraits in two folders."""
    folder = tmp_path / "photos"
    for number, place in enumerate(["a.jpg", "sub/b.jpg", "sub/c.jpg", "sub/deep/d.jpg"], 1):
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(examples / f"portrait-{number}.jpg", folder / place)
    return folder


@pytest.fixture(scope="session")
def crowd_made(tmp_path_factory: pytest.TempPathFactory, examples: Path) -> Path:
    """Six people in eight photos with eleven faces, and a photo without a face."""
    folder = tmp_path_factory.mktemp("made") / "crowd"
    (folder / "sub").mkdir(parents=True)
    people = [read_photo(examples / f"portrait-{number}.jpg").pixels for number in range(1, 7)]
    people = [cv2.resize(person, (256, 256), interpolation=cv2.INTER_AREA) for person in people]
    for number, person in enumerate(people, 1):
        write_photo(Photo(person), folder / f"single-{number}.jpg")
    write_photo(Photo(np.hstack([people[0], people[1]])), folder / "sub" / "two.png")
    smaller = [cv2.resize(person, (128, 128), interpolation=cv2.INTER_AREA) for person in people[2:5]]
    write_photo(Photo(np.hstack(smaller)), folder / "sub" / "three.png")
    sky = np.repeat(np.linspace(90, 220, 96).astype(np.uint8)[:, None, None], 128, axis=1).repeat(3, axis=2)
    write_photo(Photo(sky), folder / "view.png")
    return folder


@pytest.fixture
def crowd(crowd_made: Path, tmp_path: Path) -> Path:
    """A copy that a test may change."""
    return Path(shutil.copytree(crowd_made, tmp_path / "crowd"))


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where private folders go in this test."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return folder
