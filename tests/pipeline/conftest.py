"""Folders of photos to protect."""

import shutil
from pathlib import Path

import pytest


@pytest.fixture
def photos(tmp_path: Path, examples: Path) -> Path:
    """Four portraits in two folders."""
    folder = tmp_path / "photos"
    for number, place in enumerate(["a.jpg", "sub/b.jpg", "sub/c.jpg", "sub/deep/d.jpg"], 1):
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(examples / f"portrait-{number}.jpg", folder / place)
    return folder
