"""What is carried from one code to another, and that nothing else is."""

import numpy as np
import pytest

from faceveil.faces import pose
from faceveil.faces.crops import as_face, locate
from faceveil.models.directions import carry_over, look_ahead
from faceveil.models.generator import Generator, as_wplus


@pytest.fixture(scope="module")
def codes():
    generator = Generator()
    z = generator.sample_z(40, np.random.default_rng(3))
    return as_wplus(generator.truncate(generator.mapping(z), 0.9))


def yaws(codes):
    found = locate(Generator().render(codes, 256))
    return np.array([pose(as_face(*face)).yaw for face in zip(found.points, found.meshes, strict=True)])


def test_a_carried_pose_turns_the_face_as_the_other_looks(codes):
    looks = yaws(codes[:12])
    left, right = codes[looks.argmax()], codes[looks.argmin()]
    carried = np.array([carry_over("pose", codes[20], other) for other in (left, right)])
    turned = yaws(carried)
    assert turned[0] - turned[1] > 0.4 * (looks.max() - looks.min()) > 5


def test_a_turned_face_looks_ahead(codes):
    looks = yaws(codes[:12])
    turned = np.abs(looks).argsort()[-4:]
    ahead = yaws(np.array([look_ahead(code) for code in codes[turned]]))
    assert (np.abs(ahead) < 0.6 * np.abs(looks[turned])).all() and np.abs(looks[turned]).min() > 8


@pytest.mark.parametrize("name", ["pose", "expression"])
def test_only_two_numbers_pass_over(name, codes):
    changes = np.array([carry_over(name, codes[0], other) - codes[0] for other in codes[1:]])
    assert np.linalg.matrix_rank(changes.reshape(len(changes), -1), tol=1e-2) == 2


@pytest.mark.parametrize("name", ["pose", "expression"])
def test_carrying_over_twice_changes_nothing_more(name, codes):
    once = carry_over(name, codes[0], codes[1])
    assert np.allclose(carry_over(name, once, codes[1]), once, atol=0.02)


def test_expression_leaves_the_slots_of_colour_and_coarse_form_alone(codes):
    changed = carry_over("expression", codes[0], codes[1]) != codes[0]
    assert not changed[:3].any() and not changed[13:].any() and changed[3:13].any()
