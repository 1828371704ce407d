"""One contract for every method of the registry, on faces that can be replaced: none of them is covered, nothing else
is touched, and a seed gives the same bytes again."""

from dataclasses import dataclass

import cv2
import numpy as np
import pytest

from faceveil.faces import Alignment, Face, Region, align_ffhq, find_faces, with_mesh
from faceveil.faces.blazeface import find as second_detector
from faceveil.faces.crops import face_set
from faceveil.faces.face import Image
from faceveil.faces.put_in import Member, put_in
from faceveil.methods import METHODS, FaceMethod, SetMethod, method
from faceveil.methods.joined import codes_of_pictures, seen_of
from faceveil.methods.styleid.check import embeddings
from faceveil.models.recognizers import recognizer

PEOPLE = 3  # and k, so that all of them share a face; methods that go face by face show two of them
SIDE = 256
REPLACING = [name for name in METHODS if method(name).guarantee.kind != "none"]


@dataclass(frozen=True)
class Photo:
    """A photo with one face."""

    pixels: Image
    face: Face


@pytest.fixture(scope="module")
def people(examples) -> list[Photo]:
    """Frontal faces that nothing hides, of people who do not exist."""
    found = []
    for number in (1, 2, 5):
        pixels = cv2.cvtColor(cv2.imread(str(examples / f"portrait-{number}.jpg")), cv2.COLOR_BGR2RGB)
        small = cv2.resize(pixels, (SIDE, SIDE), interpolation=cv2.INTER_AREA)
        (face,) = find_faces(small)
        found.append(Photo(small, with_mesh(small, [face])[0]))
    return found


@pytest.fixture(scope="module")
def released(people):
    """Every method's photos of these people and what it says it changed; each made once, and the first one again."""
    kept: dict[tuple[str, bool], list] = {}

    def run(name: str, again: bool = False) -> list:
        if (name, again) not in kept:
            kept[name, again] = protected(name, people[: 1 if again else 2])
        return kept[name, again]

    def protected(name: str, photos: list[Photo]) -> list:
        chosen = method(name)
        if not isinstance(chosen, FaceMethod):
            return of_a_set(method(name, k=PEOPLE), people)
        return [
            chosen.protect(photo.pixels.copy(), photo.face, np.random.default_rng([4, number]))
            for number, photo in enumerate(photos)
        ]

    return run


def of_a_set(chosen: SetMethod, people: list[Photo]) -> list:
    places = [align_ffhq(one.face, SIDE) for one in people]
    crops = np.array([place.crop(one.pixels) for place, one in zip(places, people, strict=True)])
    release = chosen.release(face_set(crops), np.random.default_rng(4))
    assert (release.pictures >= 0).all(), release.reasons
    codes = codes_of_pictures(release.crops).astype(np.float32)[release.pictures]
    return [joined(one, place, code) for one, place, code in zip(people, places, codes, strict=True)]


def joined(photo: Photo, place: Alignment, code: np.ndarray) -> tuple[np.ndarray, Region]:
    """As a release of photos puts it there."""
    member = Member(place, code, seen_of(photo.pixels, photo.face, place))
    after, (where,) = put_in(photo.pixels, [member])
    return after, where


def test_what_replaces_is_known():
    """A method that claims something puts another face there; what only covers or blurs claims nothing."""
    assert set(METHODS) - set(REPLACING) == {"blackout", "eye-mask", "threshold", "blur", "noise", "pixelate"}


@pytest.mark.parametrize("name", METHODS)
class TestEveryMethod:
    def test_leaves_what_is_outside_its_region_as_it_was(self, name, people, released):
        for photo, (after, where) in zip(people, released(name), strict=False):
            outside = where.full((SIDE, SIDE)) == 0
            assert outside.mean() > 0.25
            assert np.array_equal(after[outside], photo.pixels[outside])
            x, y = photo.face.centre.astype(int)
            assert not outside[y, x] and after.dtype == np.uint8

    def test_gives_the_same_bytes_for_a_seed(self, name, released):
        again = released(name, again=True)[0][0]
        assert np.array_equal(again, released(name)[0][0])


@pytest.mark.parametrize("name", REPLACING)
class TestEveryMethodThatReplaces:
    def test_shows_a_face_where_one_was_and_no_cover(self, name, people, released):
        for photo, (after, _) in zip(people, released(name), strict=False):
            near = [
                face
                for face in second_detector(after)
                if np.hypot(*(face.centre - photo.face.centre)) < 0.25 * photo.face.size_wh[0]
            ]
            assert near, "no face is left"
            x0, y0, x1, y1 = photo.face.box_xyxy.astype(int)
            middle = after[y0:y1, x0:x1]
            assert (middle.max(axis=2) < 8).mean() < 0.1 < middle.std() / 128

    def test_shows_another_face(self, name, people, released):
        """By the recognisers that it names, or none where k people share a mean."""
        claim = method(name).guarantee
        for photo, (after, _) in zip(people, released(name), strict=False):
            x0, y0, x1, y1 = photo.face.box_xyxy.astype(int)
            off = np.abs(after[y0:y1, x0:x1].astype(int) - photo.pixels[y0:y1, x0:x1])
            assert off.mean() > 5
            if claim.kind != "beyond-threshold":
                continue
            (there,) = with_mesh(after, [photo.face])
            judges = list(claim.recognizers)
            old, new = embeddings(photo.pixels, photo.face, judges), embeddings(after, there, judges)
            for judge in judges:
                assert recognizer(judge).distance(old[judge], new[judge]) > recognizer(judge).threshold
