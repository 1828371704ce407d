"""faceveil encode: from photos to latents and back, and what it says where there is no face."""

import json
from pathlib import Path

import cv2
import numpy as np
import pytest
from typer.testing import CliRunner

from faceveil.cli import app
from faceveil.errors import OutputError, UsageError
from faceveil.faces import find_faces
from faceveil.models.generator import Generator
from faceveil.models.latents import read_latents
from faceveil.models.recognizers import dlib_chip, recognizer
from faceveil.photos import Photo, read_photo, write_photo
from faceveil.spaces.inversion import invert, invert_crops

run = CliRunner().invoke


def who(image: np.ndarray) -> np.ndarray:
    return recognizer("dlib-resnet.v1").embed(dlib_chip(image, find_faces(image)[0].points)[None])[0]


@pytest.fixture(scope="module")
def empty(tmp_path_factory) -> Path:
    """A photo of a sky."""
    path = tmp_path_factory.mktemp("photos") / "sky.png"
    rows = np.linspace(120, 240, 200).astype(np.uint8)
    write_photo(Photo(np.repeat(np.repeat(rows[:, None, None], 300, 1), 3, 2)), path)
    return path


@pytest.fixture(scope="module")
def encoded(examples: Path, empty: Path, tmp_path_factory) -> tuple[dict, Path, int]:
    out = tmp_path_factory.mktemp("latents") / "latents.npz"
    photos = [str(examples / "portrait-1.jpg"), str(examples / "portrait-2.jpg"), str(empty)]
    done = run(app, ["encode", *photos, "-o", str(out), "--json"])
    return json.loads(done.stdout), out, done.exit_code


def test_each_face_has_its_photos_name_and_its_error(encoded) -> None:
    report, path, _ = encoded
    stored = read_latents(path)
    assert stored.names == ("portrait-1", "portrait-2")
    assert [face["name"] for face in report["faces"]] == list(stored.names)
    assert [face["lpips"] for face in report["faces"]] == pytest.approx(stored.errors.tolist(), abs=1e-4)
    assert all(0 < face["lpips"] < 0.42 and 0 < face["pixels"] < 60 for face in report["faces"])


def test_a_photo_without_a_face_is_named_and_the_exit_code_says_so(encoded, empty: Path) -> None:
    report, _, code = encoded
    assert code == 3
    assert report["without_a_face"] == [{"file": str(empty), "reason": "no face was found"}]


def test_what_is_encoded_is_rendered_as_the_same_person(encoded, examples: Path, tmp_path: Path) -> None:
    _, path, _ = encoded
    assert run(app, ["render", str(path), "-o", str(tmp_path), "--size", "256"]).exit_code == 0
    photos = [who(read_photo(examples / f"portrait-{i}.jpg").pixels) for i in (1, 2)]
    renders = [who(read_photo(tmp_path / f"portrait-{i}.png").pixels) for i in (1, 2)]
    distances = np.linalg.norm(np.array(photos)[:, None] - np.array(renders)[None], axis=2)
    assert (np.diag(distances) < 0.6).all()
    assert (distances.argmin(axis=1) == [0, 1]).all()


def test_a_photo_that_cannot_be_read_is_reported_and_the_others_go_on(examples: Path, tmp_path: Path) -> None:
    (tmp_path / "broken.jpg").write_bytes(b"\xff\xd8\xff\xe0 this is no JPEG")
    (tmp_path / "anna.jpg").write_bytes((examples / "portrait-3.jpg").read_bytes())
    (tmp_path / "anna.jpeg").write_bytes((examples / "portrait-4.jpg").read_bytes())
    out = tmp_path / "out" / "latents.npz"
    out.parent.mkdir()
    done = run(app, ["encode", str(tmp_path), "-o", str(out)])
    assert done.exit_code == 3 and "broken.jpg" in done.stderr
    assert read_latents(out).names == ("anna", "anna.2")  # two photos of one name stay two


def test_a_broken_photo_is_named_once_with_the_reason(examples: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.jpg"
    broken.write_bytes((examples / "portrait-1.jpg").read_bytes()[:3000])
    done = run(app, ["encode", str(broken), "-o", str(tmp_path / "x.npz"), "--json"])
    (said,) = json.loads(done.stdout)["without_a_face"]
    assert done.exit_code == 3 and said["file"] == str(broken)
    assert str(broken) not in said["reason"] and "cut short" in said["reason"]


def test_no_photo_with_a_face_makes_an_empty_file(empty: Path, tmp_path: Path) -> None:
    assert run(app, ["encode", str(empty), "-o", str(tmp_path / "x.npz")]).exit_code == 3
    assert read_latents(tmp_path / "x.npz").latents.shape == (0, 23, 512)


def test_a_file_that_exists_is_kept(examples: Path, tmp_path: Path) -> None:
    (tmp_path / "x.npz").write_bytes(b"mine")
    done = run(app, ["encode", str(examples / "portrait-1.jpg"), "-o", str(tmp_path / "x.npz")])
    assert isinstance(done.exception, OutputError) and "--overwrite" in str(done.exception)
    assert (tmp_path / "x.npz").read_bytes() == b"mine"


def test_refinement_brings_a_face_nearer(portrait: np.ndarray) -> None:
    faces = find_faces(portrait)[:1]
    plain, refined = invert(portrait, faces), invert(portrait, faces, refine=6)
    assert refined.errors[0] < plain.errors[0] - 0.01


def test_generated_faces_are_found_again() -> None:
    generator = Generator()
    w = generator.truncate(generator.mapping(generator.sample_z(4, np.random.default_rng(8))), 0.7)
    found = invert_crops(generator.render(w, 256))
    assert found.errors.mean() < 0.30
    distances = np.linalg.norm(found.wplus.mean(axis=1)[:, None] - w[None], axis=2)
    assert (distances.argmin(axis=1) == np.arange(4)).all()


def test_an_aligned_face_is_found_where_it_is(portrait: np.ndarray) -> None:
    """The example portraits are FFHQ crops already: aligning them again changes little."""
    again = invert(portrait, find_faces(portrait)[:1]).wplus
    direct = invert_crops(cv2.resize(portrait, (256, 256), interpolation=cv2.INTER_AREA)[None]).wplus
    mean = Generator().w_mean
    assert np.linalg.norm(again - direct) < 0.6 * np.linalg.norm(direct - mean)


def test_fewer_than_no_steps_are_refused() -> None:
    with pytest.raises(UsageError, match="0 steps or more"):
        invert_crops(np.zeros((1, 256, 256, 3), np.uint8), -1)


def test_no_faces_give_no_codes(portrait: np.ndarray) -> None:
    assert invert(portrait, []).wplus.shape == (0, 23, 512)
