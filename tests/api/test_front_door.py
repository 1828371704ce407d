"""The front door: arrays, paths and Photos in; what may be released, or an error, out."""

from dataclasses import replace
from html.parser import HTMLParser
from itertools import count
from pathlib import Path

import numpy as np
import pytest

import faceveil
from faceveil.api.options import ImageOptions, RunOptions
from faceveil.errors import OutputError, ProtectionError, UsageError
from faceveil.pipeline.memory import memory_of
from faceveil.show import MOST_ROWS, Displayed, Table


@pytest.fixture(scope="module")
def photo(examples) -> Path:
    return examples / "portrait-1.jpg"


def test_arrays_paths_and_photos_are_the_same_image(photo):
    pixels = faceveil.read_photo(photo).pixels
    ways = [photo, str(photo), pixels, faceveil.read_photo(photo)]
    found = [faceveil.find_faces(way).boxes_xyxy for way in ways]
    assert all(np.array_equal(found[0], boxes) for boxes in found)
    made = [faceveil.anonymize_image(way, "pixelate").image for way in ways]
    assert all(np.array_equal(made[0], image) for image in made)


def test_the_callers_array_is_not_changed(photo):
    pixels = faceveil.read_photo(photo).pixels.copy()
    before = pixels.copy()
    out = faceveil.anonymize_image(pixels, "blackout")
    assert np.array_equal(pixels, before) and not np.array_equal(out.image, before)


def test_a_grey_array_is_taken_and_others_are_refused_with_the_remedy(photo):
    grey = faceveil.read_photo(photo).pixels[..., 0]
    assert len(faceveil.find_faces(grey)) == 1
    for wrong, word in [
        (grey / 255, "astype"),
        (np.zeros((4, 4, 4), np.uint8), r"image\[\.\.\., :3\]"),
        (np.zeros((2, 4, 4, 3), np.uint8), "one by one"),
        ([[1, 2], [3, 4]], "numpy.asarray"),
    ]:
        with pytest.raises(UsageError, match=word):
            faceveil.find_faces(wrong)


def test_an_image_is_protected_as_a_run_does_it(photo, tmp_path):
    out = faceveil.anonymize_image(photo, "noise", seed=5)
    faceveil.anonymize(photo, tmp_path / photo.name, method="noise", seed=5)
    out.save(tmp_path / "image.jpg")
    assert (tmp_path / "image.jpg").read_bytes() == (tmp_path / photo.name).read_bytes()


def test_a_face_that_cannot_be_protected_raises(photo, monkeypatch):
    """A blur over one pixel leaves the face as it was; and what the second detector still sees stops it too."""
    with pytest.raises(ProtectionError, match="as it is"):
        faceveil.anonymize_image(photo, "blur", strength=1)
    (face,) = faceveil.find_faces(photo)
    seen = count(0, 30)  # each time a small one at another place

    def find(photo, detector, **options):
        x = next(seen)
        return [replace(face, box_xyxy=np.array([x, 0, x + 20.0, 20.0]), mesh=None, detector=detector)]

    monkeypatch.setattr("faceveil.pipeline.protect.find_in_photo", find)
    with pytest.raises(ProtectionError, match="still sees a face"):
        faceveil.anonymize_image(photo, "blackout", shape="box")


def test_nothing_is_left_behind_where_a_set_fails(photo, tmp_path, tmp_path_factory, monkeypatch):
    """Neither the photo, nor its faces, nor the memory of a run that nobody can go on with."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))  # others leave runs in theirs
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with pytest.raises(ProtectionError, match="k=3"):
        faceveil.anonymize_image(photo, k=3)

    def fail(*arguments, **options):
        raise OutputError("the disk is full.")

    monkeypatch.setattr("faceveil.pipeline.set_run.decide", fail)
    with pytest.raises(OutputError) as error:
        faceveil.anonymize_image(photo, k=3)
    assert not getattr(error.value, "__notes__", None)
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setenv("TMPDIR", str(tmp_path / "nowhere"))
    with pytest.raises(OutputError, match="Set TMPDIR"):
        faceveil.anonymize_image(photo, k=3)
    runs = memory_of(tmp_path).parent
    assert not runs.exists() or not any(runs.iterdir())


def test_where_no_face_is_nothing_is_claimed():
    out = faceveil.anonymize_image(np.full((64, 64, 3), 90, np.uint8), "blackout")
    assert out.faces == () and "nothing is claimed" in out.guarantee


def test_several_people_in_one_image_can_share_a_face(examples):
    out = faceveil.anonymize_image(
        examples / "wall.jpg", "k-same-pixel", k=3, subjects="each", leftover="cover"
    )
    assert len(out.faces) >= 17 and "k = 3" in out.guarantee


def test_transparency_stays_where_it_is_asked_for(photo, tmp_path):
    pixels = faceveil.read_photo(photo).pixels
    alpha = np.full(pixels.shape[:2], 255, np.uint8)
    alpha[:40] = 0
    faceveil.write_photo(faceveil.Photo(pixels, alpha=alpha), tmp_path / "cut.png")
    for method in ("blackout", "styleid"):
        out = faceveil.anonymize_image(tmp_path / "cut.png", method, keep_metadata="alpha")
        assert (out.photo.alpha[:40] == 0).all()
        out.save(tmp_path / f"{method}.png")
    assert faceveil.anonymize_image(tmp_path / "cut.png", "blackout").photo.alpha is None


@pytest.mark.parametrize("call", ["anonymize", "anonymize_image", "evaluate", "certify"])
def test_an_unknown_option_is_refused_with_the_nearest_name(call):
    with pytest.raises(UsageError, match="Did you mean"):
        getattr(faceveil, call)(
            "in",
            "out" if call != "anonymize_image" else None,
            **({"max_risk": 0.1, "subjets": "each"} if call == "certify" else {"subjets": "each"}),
        )


def test_a_page_that_names_originals_is_not_written_into_the_release(examples, tmp_path):
    for call, more in ((faceveil.evaluate, {}), (faceveil.certify, {"max_risk": 0.5})):
        with pytest.raises(OutputError, match="which is read"):
            call(examples, tmp_path, report=tmp_path / "page.html", **more)
        with pytest.raises(OutputError, match="exists already"):
            call(examples, examples, report=__file__, **more)


def test_settings_and_options_are_not_mixed(photo, tmp_path):
    with pytest.raises(UsageError, match="either settings"):
        faceveil.anonymize(photo, tmp_path, settings=faceveil.Settings(), seed=1)
    with pytest.raises(UsageError, match="where the method is made"):
        faceveil.anonymize(photo, tmp_path, method=faceveil.method("blur"), strength=3)


def test_options_have_the_names_of_the_command_line():
    import typer

    from faceveil.cli import app

    command = typer.main.get_command(app).commands["anonymize"]
    named = {option.name for option in command.params} - {"photos", "output", "help", "as_json", "dry_run"}
    here = {*RunOptions.__annotations__, "method", "engine", "workers", "resume", "overwrite"}
    assert here == named and set(ImageOptions.__annotations__) < here


def test_detectors_are_loaded_ahead_for_python_too(photo, tmp_path, monkeypatch):
    loaded = []
    monkeypatch.setattr("faceveil.api.protect.load_detectors", lambda *given: loaded.append("detectors"))
    monkeypatch.setattr("faceveil.api.protect.load_method", lambda *given: loaded.append("method"))
    faceveil.anonymize(photo, tmp_path / "out", method="blackout")
    assert loaded == ["detectors", "method"]


class Tags(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))

    def handle_data(self, data):
        self.words += data


def test_a_notebook_sees_the_released_image_and_never_the_original(photo):
    out = faceveil.anonymize_image(photo, "blackout")
    pictures = [given["src"] for tag, given in Tags(out._repr_html_()).found if tag == "img"]
    assert len(pictures) == 1 and pictures[0].startswith("data:image/png;base64,")
    for original in (faceveil.find_faces(photo), faceveil.attributes(photo)):
        assert "<img" not in original._repr_html_()


def test_what_is_shown_is_escaped_and_acts_on_nothing():
    class Hostile(Displayed):
        def table(self):
            return Table(
                "<script>a</script>", ("na\x1bme",), [["<img src=x>"]] * (MOST_ROWS + 5), ["\udcff & <b>"]
            )

    seen = Tags(Hostile()._repr_html_())
    assert {tag for tag, _ in seen.found} <= {"div", "p", "b", "table", "thead", "tbody", "tr", "th", "td"}
    assert "<script>a</script>" in seen.words and "and 5 more" in seen.words
    assert "\x1b" not in str(Hostile()) and "\udcff" not in str(Hostile())


def test_verdicts_are_true_where_they_hold(photo, tmp_path):
    faceveil.anonymize(photo, tmp_path / "out", method="blackout")
    assert faceveil.verify(tmp_path / "out")
    (tmp_path / "out" / "stranger.jpg").write_bytes(photo.read_bytes())
    verdict = faceveil.verify(tmp_path / "out")
    assert not verdict and "does not hold" in str(verdict) and "stranger" in verdict._repr_html_()


def test_generated_faces_are_the_same_for_the_same_seed(tmp_path):
    one, other = faceveil.generate(2, seed=3, size=64), faceveil.generate(2, seed=3, size=64)
    assert np.array_equal(one.images, other.images) and len(one) == 2
    one.save(tmp_path)
    with pytest.raises(OutputError):
        one.save(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["face-0000.png", "face-0001.png"]
    for wrong in ({"count": 0}, {"count": 1, "truncation": 2}, {"count": 1, "size": 100}):
        with pytest.raises(UsageError):
            faceveil.generate(**wrong)


def test_groups_of_a_file_are_those_of_its_array(tmp_path):
    vectors = np.random.default_rng(0).normal(size=(20, 3))
    np.save(tmp_path / "v.npy", vectors)
    assert faceveil.group(tmp_path / "v.npy", k=4, seed=1) == faceveil.group(vectors, k=4, seed=1)


def test_a_photo_without_a_face_is_said_by_encode(tmp_path):
    faceveil.write_photo(faceveil.Photo(np.full((64, 64, 3), 90, np.uint8)), tmp_path / "sky.png")
    encoded = faceveil.encode(tmp_path)
    assert encoded.latents.latents.shape == (0, 23, 512) and "no face" in str(encoded)
