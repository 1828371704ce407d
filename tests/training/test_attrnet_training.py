"""The parts of AttrNet's training that can go wrong without being seen."""

import numpy as np
import pytest
import torch
from training.attribute_faces import COMPONENTS, Faces, directions
from training.attribute_heads import AXES, Axes, fit_head
from training.attribute_labels import COLUMN, GROUPS, OUTPUTS, choose, from_networks, unknown
from training.attrnet import loss, with_opinions
from training.celeba import make_network

from faceveil.errors import UsageError
from faceveil.models.torch.attrnet import MAPS, AttrNet
from faceveil.models.wspace import w_space


def test_a_step_along_a_direction_raises_the_opinion_by_one() -> None:
    rng = np.random.default_rng(0)
    codes = rng.standard_normal((400, 2, COMPONENTS)).astype(np.float32)
    truth = rng.standard_normal((2 * COMPONENTS, 3)) / 10
    opinions = (codes.reshape(400, -1) @ truth).astype(np.float32)
    steps = directions(w_space().unwhiten(codes), opinions, ridge=1e-6)
    assert steps.shape == (3, 2, COMPONENTS)
    raised = steps.reshape(3, -1) @ truth
    assert np.allclose(np.diag(raised), 1, atol=1e-3)


def some_axes(recogniser: int) -> Axes:
    rng = np.random.default_rng(3)
    mean, scale = rng.standard_normal(MAPS + recogniser), rng.uniform(0.5, 2, MAPS + recogniser)
    return Axes(np.float32(mean), np.float32(scale), np.float32(rng.standard_normal((AXES, MAPS)) / 80))


def test_a_head_on_codes_says_the_same_on_features() -> None:
    axes, rng = some_axes(5), np.random.default_rng(4)
    features, slopes = rng.standard_normal((3, MAPS + 5)), rng.standard_normal((2, AXES + 5))
    scaled = (features - axes.mean) / axes.scale
    assert np.allclose(axes.codes(features) @ slopes.T, scaled @ axes.on_features(slopes).T, atol=1e-2)


def test_a_head_listens_to_the_recogniser_where_only_it_knows() -> None:
    axes, rng = some_axes(1), np.random.default_rng(5)
    codes = rng.standard_normal((60, AXES + 1)).astype(np.float32)
    codes[:, -1] = np.repeat([-3, 3], 30)
    head = fit_head(axes, codes, np.repeat([0, 1], 30), np.repeat([f"{n}" for n in range(30)], 2))
    assert head.emphasis > 0 and head.slopes[0, -1] > np.abs(head.slopes[0, :AXES]).max()


def test_what_nobody_knows_costs_nothing() -> None:
    targets = unknown(2)
    targets[0, COLUMN["glasses"]] = 1
    logits = torch.zeros(2, len(OUTPUTS))
    before = loss(logits, torch.from_numpy(targets))
    assert before.item() == pytest.approx(np.log(2))
    logits[1] = 50.0  # of a face without targets
    logits[0, COLUMN["hat"]] = -50.0  # of a label without a target
    assert loss(logits, torch.from_numpy(targets)).item() == pytest.approx(before.item())


def test_members_of_a_group_exclude_each_other_in_the_loss() -> None:
    targets = unknown(1)
    choose(targets[0], "blond hair")
    logits = torch.zeros(1, len(OUTPUTS))
    assert loss(logits, torch.from_numpy(targets)).item() == pytest.approx(np.log(4))


def test_the_teacher_speaks_only_where_it_is_sure_and_nobody_else_spoke() -> None:
    targets = unknown(3)
    targets[0, COLUMN["hat"]] = 0
    logits = np.zeros((3, len(OUTPUTS)), np.float32)
    logits[:, COLUMN["hat"]] = [5.0, 5.0, 1.0]
    logits[1, GROUPS["hair"][2]] = 9.0
    faces = Faces(np.zeros((3, 1, 1, 3), np.uint8), targets, np.array(["a", "b", "c"]))
    filled = with_opinions(faces, logits).targets
    assert filled[0, COLUMN["hat"]] == 0 and filled[1, COLUMN["hat"]] == 1
    assert np.isnan(filled[2, COLUMN["hat"]])
    assert filled[1, GROUPS["hair"]].tolist() == [0, 0, 1, 0] and np.isnan(filled[2, GROUPS["hair"]]).all()
    assert np.isnan(targets[1]).all()  # the input is not changed


def test_other_networks_that_are_not_sure_say_nothing() -> None:
    sure, unsure = from_networks(0.95, 0.2), from_networks(0.6, 0.07)
    assert sure[COLUMN["smiling"]] == sure[COLUMN["mouth open"]] == 1
    assert np.isnan(unsure).all()


def test_weights_of_another_trunk_are_refused(tmp_path) -> None:
    AttrNet(4).save(tmp_path / "small.npz", OUTPUTS[:4])
    with pytest.raises(UsageError, match="another trunk"):
        make_network("resnet50", 4).load(tmp_path / "small.npz")


def test_what_is_saved_is_loaded(tmp_path) -> None:
    one, other = AttrNet(4), AttrNet(4)
    one.save(tmp_path / "one.npz", OUTPUTS[:4])
    other.load(tmp_path / "one.npz")
    assert torch.allclose(one.head[0].weight.half(), other.head[0].weight.half())


def test_an_unknown_trunk_is_refused() -> None:
    with pytest.raises(UsageError, match="no trunk is named 'vgg'"):
        AttrNet(4, "vgg")
