"""Trials on generated people: known answers for methods that change nothing, everything, or hide in groups."""

from types import SimpleNamespace

import numpy as np
import pytest

from faceveil.evaluation.trials import Originals, try_release
from faceveil.faces.crops import face_set
from faceveil.models.generator import Generator


@pytest.fixture(scope="module")
def people():
    generator = Generator()
    w = generator.truncate(generator.mapping(generator.sample_z(12, np.random.default_rng(5))), 0.8)
    return Originals(face_set(generator.render(w, 256)))


def released(groups, pictures, crops):
    return SimpleNamespace(groups=np.array(groups), pictures=np.array(pictures), crops=crops)


def test_faces_that_were_not_changed_are_all_found_and_nothing_is_lost(people):
    everyone = np.arange(12)
    trial = try_release(
        people, released(everyone, everyone, people.faces.crops), "none", 2, ["dlib-resnet.v1"]
    )
    assert trial.found.value == 1 and trial.information_loss < 1e-5 and trial.frechet < 1e-3
    assert trial.released == 1 and trial.homogeneity["gender"] == 1


def test_a_shared_face_finds_at_most_one_of_its_group(people):
    groups = np.repeat(np.arange(4), 3)
    shared = people.faces.crops[::3]
    trial = try_release(people, released(groups, groups, shared), "shared", 3)
    assert trial.groups == 4 and trial.found.value == pytest.approx(1 / 3)
    assert 0.2 < trial.information_loss < 1.2


def test_faces_that_were_held_back_are_counted_and_not_measured(people):
    groups = np.array([0] * 6 + [-1] * 6)
    trial = try_release(people, released(groups, groups, people.faces.crops[:1]), "half", 3)
    assert trial.released == 0.5 and trial.groups == 1 and trial.found.trials == 6
    nothing = np.full(12, -1)
    assert try_release(people, released(nothing, nothing, people.faces.crops[:0]), "none", 3).released == 0
