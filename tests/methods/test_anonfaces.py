"""AnonFACES: what watches, how far away is far enough, and who else is looked at."""

import numpy as np
import pytest
from tests.grouping.literal import groups_of

from faceveil.faces.crops import face_set
from faceveil.grouping import group
from faceveil.methods import anonfaces, method
from faceveil.methods.likeness import LOOKS, beside
from faceveil.methods.sets import seed_from
from faceveil.models.recognizers import WATCHING, recognizer
from faceveil.spaces.embedding import EmbeddingSpace

C = "mobilefacenet.facesdk"


def nearest_member(name: str, release, faces) -> np.ndarray:
    """Of each group, how many thresholds its face lies from the nearest member, by a recogniser's own code."""
    watcher = EmbeddingSpace(name)
    seen, known = watcher.encode(face_set(release.crops)), watcher.encode(faces)
    far = [
        watcher.network.distance(known[release.groups == group], seen[group]).min()
        for group in range(len(seen))
    ]
    return np.array(far) / watcher.network.threshold


@pytest.fixture(scope="module")
def six(made_up_people):
    return made_up_people.take(np.arange(2, 8))


def test_no_watching_recogniser_comes_within_a_twentieth_of_its_threshold(six):
    """Pasting and compression move a face a little."""
    release = method("anonfaces", k=3).release(six, np.random.default_rng(0))
    assert (release.groups >= 0).all() and len(release.crops) == 2
    assert method("anonfaces").recognizers == tuple(WATCHING)
    for name in WATCHING:
        assert (nearest_member(name, release, six) >= 1.05 - 1e-4).all()


def test_without_anybody_watching_a_mix_is_taken_for_its_members(six):
    """So it is the loop that protects, and what the other tests see is its work."""
    release = method("anonfaces", k=3, recognizers=()).release(six, np.random.default_rng(0))
    assert (nearest_member(C, release, six) < 1).all()


def test_everyone_in_the_set_is_looked_at_where_that_is_asked(six, monkeypatch):
    """With a bystander whom no face can pass, nothing is released; without being asked, nobody looks."""
    monkeypatch.setattr(anonfaces, "STRANGERS", 1)
    monkeypatch.setitem(recognizer(C).operating.at_rate, 1e-4, 100.0)
    asked = {"k": 3, "recognizers": (C,), "budget": 0}
    alone = method("anonfaces", **asked).release(six, np.random.default_rng(0))
    assert (alone.groups >= 0).all()
    watched = method("anonfaces", everyone=True, **asked).release(six, np.random.default_rng(0))
    assert (watched.groups == -1).all() and set(watched.reasons) == set(range(6))
    whole = method("anonfaces", everyone=True, **{**asked, "k": 6})  # no bystander is left
    assert (whole.release(six, np.random.default_rng(0)).groups == 0).all()


def test_the_settings_are_those_that_the_page_names():
    told = method("anonfaces").parameters
    assert (told["delta"], told["beta"], told["budget"], told["looks"]) == (0.5, 0.25, 8, 1.0)
    assert (told["grouper"], told["keep"], told["everyone"], told["refine"]) == ("best", "none", False, 0)
    assert told["recognizer"] == "dlib-resnet.v1"


def test_groups_are_formed_by_the_recogniser_and_looks(six):
    chosen = method("anonfaces", k=2, recognizers=())
    found = chosen.release(six, np.random.default_rng(3)).groups
    known = EmbeddingSpace(chosen.recognizer).encode(six)
    by = beside(known, LOOKS.encode(six), 1.0)
    assert groups_of(found) == groups_of(
        group(by, 2, "best", seed=seed_from(np.random.default_rng(3))).labels
    )
