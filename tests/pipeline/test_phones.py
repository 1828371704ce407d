"""Photos as phones write them go through a run: HEIC with everything beside the picture, and AVIF."""

import io

import numpy as np
import pytest
from PIL import Image

import faceveil
from faceveil.photos import read_photo, scan_leaks, write_photo
from faceveil.photos.formats import sniff

pillow_heif = pytest.importorskip("pillow_heif")


@pytest.fixture(scope="module")
def phone(examples, tmp_path_factory):
    """Six portraits in a folder; the first as a phone writes it: held sideways, with tags and a thumbnail."""
    folder = tmp_path_factory.mktemp("phone")
    for number, path in enumerate(sorted(examples.glob("portrait-*.jpg")), 1):
        photo = read_photo(path)
        suffix = ("HEIC", "heic", "avif")[number % 3]
        write_photo(photo, folder / f"IMG_{number}.{suffix}")
    exif = Image.Exif()
    exif[0x0112], exif[0x010F] = 6, "SECRET"
    sideways = Image.fromarray(np.rot90(read_photo(examples / "portrait-1.jpg").pixels))
    buffer = io.BytesIO()
    pillow_heif.from_pillow(sideways).save(buffer, quality=90, exif=exif.tobytes(), thumbnails=[128])
    (folder / "IMG_1.heic").write_bytes(buffer.getvalue())
    (folder / "as-sent.jpg").write_bytes(buffer.getvalue())
    return folder


def test_a_phones_photos_are_covered_and_keep_their_names(phone, tmp_path):
    summary = faceveil.anonymize(phone, tmp_path / "out", method="blackout")
    assert summary.exit_code == 0 and summary.counts()["faces"] == 7
    sources = {path.name for path in phone.iterdir()}
    written = {
        path.name: path.read_bytes() for path in (tmp_path / "out").iterdir() if path.name != "run.json"
    }
    assert written.keys() == sources
    assert sniff(written["as-sent.jpg"]) == "JPEG" and sniff(written["IMG_1.heic"]) == "HEIC"
    for name, data in written.items():
        assert scan_leaks(data) == [] and len(faceveil.find_faces(tmp_path / "out" / name)) == 0
    assert not any(outcome.notes for outcome in summary.outcomes)  # thumbnails are nothing to speak of
    assert faceveil.verify(tmp_path / "out")


def test_a_set_of_them_is_k_anonymous_as_it_is_decoded_again(phone, tmp_path):
    options = {"method": "k-same-pixel", "k": 3, "subjects": "each"}
    summary = faceveil.anonymize(phone, tmp_path / "out", **options)
    verdict = faceveil.verify(tmp_path / "out")
    assert summary.counts()["protected"] == 7 and verdict and verdict.k == 3


def test_one_may_be_asked_for_as_a_jpeg(phone, tmp_path):
    faceveil.anonymize(phone / "IMG_1.heic", tmp_path / "out.jpg", method="pixelate")
    assert read_photo(tmp_path / "out.jpg").format == "JPEG"
    assert read_photo(tmp_path / "out.jpg").size_wh == (512, 512)
