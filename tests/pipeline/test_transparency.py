"""A face that transparency shows is searched for and replaced like any other."""

from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image

from faceveil import Settings, anonymize, method
from faceveil.faces import find_faces
from faceveil.photos import Photo, read_photo, scan_leaks
from faceveil.pipeline import protect_photo

BLACK = Settings(method=method("blackout"))
KEPT = replace(BLACK, keep_metadata=("alpha",))


@pytest.fixture(scope="module")
def grey(examples: Path) -> np.ndarray:
    """A face of 192 × 192 in shades of grey."""
    face = Image.open(examples / "portrait-1.jpg").convert("L").resize((192, 192), Image.Resampling.LANCZOS)
    return np.asarray(face)


@pytest.fixture(scope="module")
def hidden(grey, tmp_path_factory) -> Path:
    """Black pictures in whose transparency a face is to be seen, in every kind of file."""
    folder = tmp_path_factory.mktemp("hidden")
    black = np.zeros_like(grey)
    image = Image.fromarray(np.dstack([black, black, black, 255 - grey]))
    image.save(folder / "colour.png")
    image.save(folder / "a.tiff")
    image.save(folder / "named.jpg", "PNG")
    image.save(folder / "exact.webp", lossless=True, exact=True)
    Image.fromarray(np.dstack([black, 255 - grey]), "LA").save(folder / "grey.png")
    palette = Image.fromarray(grey, "P")
    palette.putpalette(bytes(768))
    palette.save(folder / "palette.png", transparency=bytes(range(255, -1, -1)))
    return folder


def seen_anywhere(path: Path) -> int:
    """Faces that any viewer could show, looked for without the code that is tested."""
    image = Image.open(path).convert("RGBA")
    grounds = [Image.new("RGBA", image.size, (level, level, level, 255)) for level in (255, 128, 0)]
    views = [np.asarray(Image.alpha_composite(ground, image).convert("RGB")) for ground in grounds]
    alpha = np.repeat(np.asarray(image)[..., 3:], 3, axis=2)
    views += [np.ascontiguousarray(np.asarray(image)[..., :3]), alpha, 255 - alpha]
    return sum(len(find_faces(view, detector)) for view in views for detector in ("yunet", "blazeface"))


@pytest.mark.parametrize("settings", [BLACK, KEPT], ids=["laid on white", "kept"])
def test_a_face_in_the_alpha_channel_is_not_released(hidden, tmp_path, settings):
    assert all(seen_anywhere(path) for path in hidden.iterdir())
    summary = anonymize(hidden, tmp_path / "out", settings=settings)
    assert summary.exit_code == 0 and summary.counts()["protected"] == 6
    for path in hidden.iterdir():
        out = tmp_path / "out" / path.name
        assert seen_anywhere(out) == 0 and scan_leaks(out, allow=settings.keep_metadata) == []


def test_a_face_that_shows_over_black_alone_and_one_under_transparency_are_found(grey):
    white, half = np.full((192, 192, 3), 255, np.uint8), np.full((192, 192), 2, np.uint8)
    for photo in (Photo(white, alpha=grey), Photo(np.dstack([grey] * 3), alpha=half)):
        result = protect_photo(photo, KEPT, np.random.default_rng(0))
        assert result.faces == 1
        assert (result.photo.alpha[70:130, 75:120] == 255).all()
        assert not result.photo.pixels[70:130, 75:120].any()


def test_a_cut_out_keeps_its_transparency_around_the_face(examples, tmp_path):
    portrait = read_photo(examples / "portrait-1.jpg").pixels
    alpha = np.zeros(portrait.shape[:2], np.uint8)
    cv2.ellipse(alpha, (256, 300), (200, 250), 0, 0, 360, 255, -1)
    alpha = cv2.GaussianBlur(alpha, (0, 0), 6)
    Image.fromarray(np.dstack([portrait, alpha])).save(tmp_path / "cut-out.png")
    anonymize(tmp_path / "cut-out.png", tmp_path / "kept.png", settings=KEPT)
    kept = np.asarray(Image.open(tmp_path / "kept.png"))
    changed = ~kept[..., :3].any(axis=2) & (kept[..., 3] == 255)
    assert 0.1 < changed.mean() < 0.5
    assert np.array_equal(kept[~changed][:, 3], alpha[~changed])
    seen = ~changed & (alpha > 0)
    assert np.array_equal(kept[seen][:, :3], portrait[seen])
    anonymize(tmp_path / "cut-out.png", tmp_path / "laid.png", settings=BLACK)
    laid = Image.open(tmp_path / "laid.png")
    assert laid.mode == "RGB" and (np.asarray(laid)[alpha == 0] == 255).all()
