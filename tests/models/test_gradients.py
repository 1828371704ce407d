"""Gradients of OpenVINO graphs: each rule against differences, whole networks against torch."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from faceveil.errors import UsageError
from faceveil.models.generator import Generator, synthesis
from faceveil.models.gradients import RULES, with_gradient
from faceveil.models.projector import FACE, QUARTERS, Recipe, View, _seen, look_network, slope_of
from faceveil.models.runtime import Network, openvino
from faceveil.models.torch.lpips import Lpips
from faceveil.models.torch.mobilestylegan import Synthesis
from faceveil.models.wspace import w_space

op = openvino().opset13
MAP = (1, 4, 9, 9)


def numbers(*shape: int, seed: int = 1) -> object:
    return op.constant(np.random.default_rng(seed).standard_normal(shape).astype(np.float32))


def convolution(step: int, ahead: int, behind: int, side: int = 3) -> Callable:
    kernel = numbers(5, 4, side, side)
    return lambda x: op.convolution(x, kernel, [step] * 2, [ahead] * 2, [behind] * 2, [1, 1])


def depthwise(step: int) -> Callable:
    return lambda x: op.group_convolution(x, numbers(4, 1, 1, 3, 3), [step] * 2, [1, 1], [1, 1], [1, 1])


def convolved_by(kernel: object, reach: int = 1) -> Callable:
    return lambda x: op.convolution(x, kernel, [1, 1], [0, 0], [0, 0], [reach] * 2)


def pooled(side: int, step: int = 2, ahead: int = 0, behind: int = 0) -> Callable:
    """Flattened, since a pool has two outputs."""
    return lambda x: op.reshape(
        op.max_pool(x, [step] * 2, [1, 1], [ahead] * 2, [behind] * 2, [side] * 2).output(0),
        np.array([1, -1]),
        False,
    )


def averaged(x: object) -> object:
    return op.avg_pool(x, [2, 2], [0, 0], [0, 0], [2, 2], True)


CASES: dict[str, tuple[tuple[int, ...], Callable]] = {
    "Add": (MAP, lambda x: op.add(x, numbers(1, 4, 1, 1))),
    "Add broadcast": ((1, 4, 1, 1), lambda x: op.add(x, numbers(*MAP))),
    "Subtract": (MAP, lambda x: op.subtract(numbers(*MAP), x)),
    "Multiply": (MAP, lambda x: op.multiply(x, x)),
    "Multiply broadcast": ((1, 4, 1, 1), lambda x: op.multiply(numbers(*MAP), x)),
    "Divide": (MAP, lambda x: op.divide(x, op.add(op.multiply(x, x), op.constant(np.float32(1))))),
    "Sqrt": (MAP, lambda x: op.sqrt(op.add(op.multiply(x, x), op.constant(np.float32(0.3))))),
    "Relu": (MAP, op.relu),
    "PRelu": (MAP, lambda x: op.prelu(x, op.constant(np.array([0.2], np.float32)))),
    "PRelu by channel": (MAP, lambda x: op.prelu(x, op.constant(np.linspace(0, 1, 4, dtype=np.float32)))),
    "Clamp": (MAP, lambda x: op.clamp(x, -0.5, 0.6)),
    "MatMul": ((1, 4), lambda x: op.matmul(x, numbers(5, 4), False, True)),
    "MatMul of a square": ((1, 4), lambda x: op.matmul(op.matmul(x, numbers(4, 4), False, True), x, True, False)),
    "MatMul from the left": (MAP, lambda x: op.matmul(numbers(5, 9), x, False, False)),
    "MatMul transposed": (MAP, lambda x: op.matmul(x, numbers(9, 5), True, False)),
    "Convolution": (MAP, convolution(1, 1, 1)),
    "Convolution uneven": (MAP, convolution(2, 0, 1)),
    "Convolution in large steps": ((1, 4, 31, 31), convolution(4, 2, 2, side=11)),
    "GroupConvolution": (MAP, depthwise(1)),
    "GroupConvolution in steps": (MAP, depthwise(2)),
    "MaxPool": (MAP, pooled(3)),
    "MaxPool of two": (MAP, pooled(2)),
    "MaxPool of an even side": ((1, 4, 10, 12), pooled(3)),
    "MaxPool with a border": (MAP, pooled(3, ahead=1, behind=1)),
    "MaxPool with a border behind": ((1, 4, 10, 12), pooled(3, behind=1)),
    "AvgPool": ((1, 4, 10, 12), averaged),
    "AvgPool of an odd side": (MAP, averaged),
    "ReduceSum": (MAP, lambda x: op.reduce_sum(x, np.array([1, 3]), False)),
    "ReduceMean": (MAP, lambda x: op.reduce_mean(x, np.array([2]), True)),
    "Reshape": (MAP, lambda x: op.reshape(x, np.array([2, -1]), False)),
    "Transpose": (MAP, lambda x: op.transpose(x, np.array([0, 3, 1, 2]))),
    "Gather": ((1, 5, 7), lambda x: op.gather(x, np.int64(2), np.int64(1))),
    "Slice": (MAP, lambda x: op.slice(x, np.array([2, 3]), np.array([7, 9]), np.array([1, 1]), np.array([2, 3]))),
    "Pad": (MAP, lambda x: op.pad(x, np.array([0, 0, 1, 0]), np.array([0, 0, 0, 2]), "constant")),
    "Concat": (MAP, lambda x: op.concat([op.multiply(x, x), x], 1)),
    "DepthToSpace": (MAP, lambda x: op.depth_to_space(x, "blocks_first", 2)),
}  # fmt: skip


def test_every_rule_has_a_case() -> None:
    assert {name.split()[0] for name in CASES} == {*RULES}


@pytest.mark.parametrize("case", CASES)
def test_a_rule_agrees_with_differences(case: str) -> None:
    shape, function = CASES[case]
    rng = np.random.default_rng(0)
    x = op.parameter(list(shape), np.float32)
    y = function(x)
    weights = numbers(*y.get_output_shape(0), seed=2)
    axes = np.arange(len(y.get_output_shape(0)))
    network = Network(with_gradient(op.reduce_sum(op.multiply(y, weights), axes, False), [x], [x]))
    # Numbers far apart, so that no step passes a kink.
    at = (rng.permutation(np.prod(shape)).reshape(shape) / np.prod(shape) * 4 - 2 + 0.003).astype(np.float32)
    _, gradient = network(at)
    assert gradient.shape == shape
    for _ in range(5):
        step = 1e-3 * rng.choice([-1.0, 1.0], shape).astype(np.float32)
        ahead, behind = (float(network((at + sign * step).astype(np.float32))[0]) for sign in (1, -1))
        size = max(1e-3 * float(np.abs(gradient).sum()), 1e-3)
        assert abs((ahead - behind) / 2 - float((gradient * step).sum())) < 0.02 * size


def test_an_operation_without_a_rule_is_refused_by_name() -> None:
    x = op.parameter([1, 3], np.float32)
    with pytest.raises(UsageError, match="Erf"):
        with_gradient(op.reduce_sum(op.erf(x), np.array([0, 1]), False), [x], [x])


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (convolved_by(numbers(5, 4, 3, 3), reach=2), "dilated"),
        (lambda x: convolved_by(op.multiply(numbers(5, 4, 3, 3), x))(x), "constant"),
        (pooled(3, step=1), "pool"),
    ],
    ids=["dilated", "kernel", "pool"],
)
def test_a_form_of_an_operation_that_no_rule_knows_is_refused(function: Callable, message: str) -> None:
    x = op.parameter([1, 4, 3, 3] if message == "constant" else list(MAP), np.float32)
    y = function(x)
    with pytest.raises(UsageError, match=message):
        with_gradient(op.reduce_sum(y, np.arange(len(y.get_output_shape(0))), False), [x], [x])


@pytest.mark.parametrize("view", [View(64), FACE, QUARTERS[2]], ids=["whole", "face", "quarter"])
def test_a_slope_is_torch_s(view: View) -> None:
    """Pixels and LPIPS of a window of the generator's picture, by another program."""
    generator, recipe, space = Generator(), Recipe(identity=0), w_space()
    w = generator.mapping(generator.sample_z(2, np.random.default_rng(3)))
    photo = _seen(generator.render(w[:1], 256)[0], view) / np.float32(127.5) - 1
    axes = np.repeat((space.spread[:, None] * space.axes)[None, :50], 23, axis=0)
    code, moved = np.repeat(w[1:], 23, axis=0), np.zeros((23, 50), np.float32)
    found = slope_of(view, recipe, False, axes)(code, look_network(view, recipe)(photo), moved)

    along = torch.from_numpy(moved).requires_grad_()
    wplus = torch.from_numpy(code) + (along[:, None] @ torch.from_numpy(axes))[:, 0]
    render = Synthesis(synthesis(view.size))(wplus[None], view.window)
    seen = [render, torch.from_numpy(photo)]
    wide = seen if view.side >= 128 else [F.interpolate(x, size=(128, 128), mode="bilinear") for x in seen]
    ((seen[0] - seen[1]).square().mean() + 2 * Lpips()(*wide).sum()).backward()
    assert np.abs(found - along.grad.numpy()).max() < 0.01 * np.abs(found).max()
