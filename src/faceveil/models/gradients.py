"""Gradients of OpenVINO graphs, as OpenVINO graphs: descent on a CPU without another engine.

    graph = with_gradient(loss, [styles], inputs)      # outputs: the loss, and its gradient by `styles`

Reverse accumulation (Linnainmaa 1970): from the loss backwards each operation turns the gradient by its output into
those by its inputs, and gradients that meet are added. Shapes must be fixed, and kernels constants; an operation that
is not in `RULES` is refused by name. A graph with its gradient costs about two and a half times the graph.
"""

from collections.abc import Callable, Iterator
from functools import reduce
from typing import Any

import numpy as np

from faceveil.errors import UsageError
from faceveil.models.runtime import openvino

ov = openvino()
op = ov.opset13
Node = Any
Pull = Callable[[], Node]  # makes the gradient by one input; not called where nobody asks for it
Rule = Callable[[Node, Node], tuple[Pull, ...]]


def with_gradient(loss: Node, by: list[Node], inputs: list[Node]) -> Any:
    """A model of these inputs that gives the loss (one number) and its gradient by some of them."""
    nodes = ov.Model([loss], inputs, "loss").get_ordered_ops()
    moving = _moving(nodes, by)
    gradients: dict[str, Node] = {loss.get_name(): op.constant(np.ones(_shape(loss), np.float32))}
    for node in reversed(nodes):
        name = node.get_name()
        if name in moving and name in gradients and node.get_type_name() != "Parameter":
            for source, found in _pulled(node, gradients[name], moving):
                met = gradients.get(source.get_name())
                gradients[source.get_name()] = found if met is None else op.add(met, found)
    return ov.Model([loss, *(gradients[one.get_name()] for one in by)], inputs, "gradient")


def _moving(nodes: list[Node], by: list[Node]) -> set[str]:
    """The names of all nodes that depend on any of `by`."""
    moving = {one.get_name() for one in by}
    for node in nodes:
        if any(source.get_name() in moving for source in _sources(node)):
            moving.add(node.get_name())
    return moving


def _pulled(node: Node, gradient: Node, moving: set[str]) -> Iterator[tuple[Node, Node]]:
    """The node's moving inputs, each with the loss's gradient by it."""
    kind = node.get_type_name()
    if kind not in RULES:
        raise UsageError(f"no gradient is known for OpenVINO's {kind} ({node.get_friendly_name()}).")
    for source, pull in zip(_sources(node), RULES[kind](node, gradient), strict=False):
        if source.get_name() in moving:
            yield source, pull()


def _sources(node: Node) -> list[Node]:
    return [port.get_source_output().get_node() for port in node.inputs()]


def _shape(node: Node) -> list[int]:
    port = node if hasattr(node, "get_shape") else node.output(0)
    return list(port.get_shape())


def _array(node: Node) -> Any:
    """A constant's numbers."""
    if node.get_type_name() != "Constant":
        raise UsageError(f"gradients need a constant where {node.get_friendly_name()} stands.")
    return np.array(node.data)


def _like(gradient: Node, source: Node) -> Node:
    """Summed over what was broadcast."""
    came, wanted = _shape(gradient), _shape(source)
    wide = [1] * (len(came) - len(wanted)) + wanted
    axes = [axis for axis, (a, b) in enumerate(zip(came, wide, strict=True)) if a != b]
    summed = op.reduce_sum(gradient, np.array(axes), True) if axes else gradient
    return summed if wide == wanted else op.reshape(summed, np.array(wanted), False)


def _times(x: Node, factor: float) -> Node:
    return op.multiply(x, op.constant(np.float32(factor)))


def _add(node: Node, g: Node) -> tuple[Pull, ...]:
    a, b = _sources(node)
    return lambda: _like(g, a), lambda: _like(g, b)


def _subtract(node: Node, g: Node) -> tuple[Pull, ...]:
    a, b = _sources(node)
    return lambda: _like(g, a), lambda: _like(op.negative(g), b)


def _multiply(node: Node, g: Node) -> tuple[Pull, ...]:
    a, b = _sources(node)
    return lambda: _like(op.multiply(g, b), a), lambda: _like(op.multiply(g, a), b)


def _divide(node: Node, g: Node) -> tuple[Pull, ...]:
    a, b = _sources(node)
    return (
        lambda: _like(op.divide(g, b), a),
        lambda: _like(op.negative(op.divide(op.multiply(g, node), b)), b),
    )


def _sqrt(node: Node, g: Node) -> tuple[Pull, ...]:
    """Where the root is 0 the gradient counts as 0."""
    return (lambda: op.divide(_times(g, 0.5), op.maximum(node, op.constant(np.float32(1e-20)))),)


def _kept(node: Node, g: Node, slope: Node | float = 0.0) -> Node:
    """The gradient where the input is above 0, and `slope` times it elsewhere."""
    (x, *_) = _sources(node)
    zero = op.constant(np.float32(0))
    return op.select(op.greater(x, zero), g, zero if slope == 0.0 else op.multiply(g, slope))


def _relu(node: Node, g: Node) -> tuple[Pull, ...]:
    return (lambda: _kept(node, g),)


def _prelu(node: Node, g: Node) -> tuple[Pull, ...]:
    slope = _array(_sources(node)[1]).astype(np.float32)
    return (lambda: _kept(node, g, op.constant(slope if slope.size == 1 else slope.reshape(1, -1, 1, 1))),)


def _clamp(node: Node, g: Node) -> tuple[Pull, ...]:
    (x,) = _sources(node)
    low, high = (op.constant(np.float32(node.get_attributes()[side])) for side in ("min", "max"))
    inside = op.logical_and(op.greater(x, low), op.less(x, high))
    return (lambda: op.select(inside, g, op.constant(np.float32(0))),)


def _matmul(node: Node, g: Node) -> tuple[Pull, ...]:
    a, b = _sources(node)
    of = node.get_attributes()
    turned_a, turned_b = of["transpose_a"], of["transpose_b"]

    def by_a() -> Node:
        if turned_a:
            return _like(op.matmul(_own(b), g, turned_b, True), a)
        return _like(op.matmul(g, _own(b), False, not turned_b), a)

    def by_b() -> Node:
        if turned_b:
            return _like(op.matmul(g, _own(a), True, turned_a), b)
        return _like(op.matmul(_own(a), g, not turned_a, False), b)

    return by_a, by_b


def _own(node: Node) -> Node:
    """A constant of its own: a square one, used as it is and transposed, the engine takes for the same."""
    return op.constant(_array(node)) if node.get_type_name() == "Constant" else node


def _convolution(node: Node, g: Node) -> tuple[Pull, ...]:
    """With stride 1 a convolution with the kernel turned around, which is faster than a transposed one."""
    source, kernel = _sources(node)
    where = node.get_attributes()
    steps, ahead, behind = where["strides"], where["pads_begin"], where["pads_end"]
    if list(where["dilations"]) != [1, 1]:
        raise UsageError("no gradient is known for a dilated convolution.")
    numbers, grouped = _array(kernel), node.get_type_name() == "GroupConvolution"
    sides = _shape(source)[2:]

    def by_image() -> Node:
        if list(steps) == [1, 1]:
            turned = op.constant(np.ascontiguousarray(numbers.swapaxes(-4, -3)[..., ::-1, ::-1]))
            pads = [
                [k - 1 - p for k, p in zip(numbers.shape[-2:], pad, strict=True)] for pad in (ahead, behind)
            ]
            run = op.group_convolution if grouped else op.convolution
            return run(g, turned, [1, 1], *pads, [1, 1])
        run = op.group_convolution_backprop_data if grouped else op.convolution_backprop_data
        extra = [
            side - ((out - 1) * step + k - a - b)
            for side, out, step, k, a, b in zip(
                sides, _shape(node)[2:], steps, numbers.shape[-2:], ahead, behind, strict=True
            )
        ]
        return run(
            g,
            op.constant(numbers),
            strides=list(steps),
            pads_begin=list(ahead),
            pads_end=list(behind),
            dilations=[1, 1],
            output_padding=extra,
        )

    return (by_image,)


def _max_pool(node: Node, g: Node) -> tuple[Pull, ...]:
    """To wherever the largest value stands. Of equal ones each gets all of it: after a ReLU those are zeros.

    Only steps of two and pools of two or three are known. The engine can tell places itself, ten times slower.
    """
    (x,) = _sources(node)
    of = node.get_attributes()
    (side, *_), steps, ahead, behind = of["kernel"], of["strides"], of["pads_begin"], of["pads_end"]
    if list(of["kernel"]) not in ([2, 2], [3, 3]) or list(steps) != [2, 2]:
        raise UsageError(f"no gradient is known for a pool of {of['kernel']} in steps of {steps}.")
    height, width = _shape(node)[2:]
    nothing = op.constant(np.finfo(np.float32).min)
    around = [np.array([0, 0, *pads]) for pads in (ahead, behind)]
    padded = op.pad(x, *around, "constant", nothing) if any([*ahead, *behind]) else x

    def corner(row: int, column: int) -> Node:
        """What the pixels at this place of their pools get, with room for those of the next pools."""
        start, stop = np.array([row, column]), np.array([row + 2 * height - 1, column + 2 * width - 1])
        seen = op.slice(padded, start, stop, np.array([2, 2]), np.array([2, 3]))
        got = op.select(op.equal(seen, node.output(0)), g, op.constant(np.float32(0)))
        before = np.array([0, 0, row // 2, column // 2])
        return op.pad(got, before, np.array([0, 0, 1, 1]) - before, "constant")

    def by_image() -> Node:
        planes = []
        for parity in ((0, 0), (0, 1), (1, 0), (1, 1)):
            rows, columns = (range(first, side, 2) for first in parity)
            planes.append(reduce(op.add, [corner(row, column) for row in rows for column in columns]))
        spread = op.depth_to_space(op.concat(planes, 1), "blocks_first", 2)
        end = np.array(ahead) + _shape(x)[2:]
        missing = np.maximum(end - _shape(spread)[2:], 0)  # what no pool reaches
        whole = op.pad(spread, np.zeros(4, np.int64), np.array([0, 0, *missing]), "constant")
        return op.slice(whole, np.array(ahead), end, np.ones(2, np.int64), np.array([2, 3]))

    return (by_image,)


def _avg_pool(node: Node, g: Node) -> tuple[Pull, ...]:
    """A quarter to each of four pixels; pools of two in steps of two, without a border."""
    (x,) = _sources(node)
    of = node.get_attributes()
    two, none = [2, 2], [0, 0]
    if [list(of[key]) for key in ("kernel", "strides", "pads_begin", "pads_end")] != [two, two, none, none]:
        raise UsageError(f"no gradient is known for a mean of {of['kernel']} in steps of {of['strides']}.")

    def by_image() -> Node:
        spread = op.depth_to_space(op.concat([_times(g, 0.25)] * 4, 1), "blocks_first", 2)
        left = np.array(_shape(x)) - np.array(_shape(spread))  # what no pool reaches
        return op.pad(spread, np.zeros(4, np.int64), left, "constant")

    return (by_image,)


def _reduce(node: Node, g: Node, factor: float = 1.0) -> tuple[Pull, ...]:
    x, axes = _sources(node)
    kept = [1 if axis in {int(a) % len(_shape(x)) for a in _array(axes).reshape(-1)} else side
            for axis, side in enumerate(_shape(x))]  # fmt: skip

    def by_image() -> Node:
        whole = op.broadcast(op.reshape(g, np.array(kept), False), np.array(_shape(x)))
        return whole if factor == 1.0 else _times(whole, factor)

    return (by_image,)


def _reduce_mean(node: Node, g: Node) -> tuple[Pull, ...]:
    (x, _) = _sources(node)
    return _reduce(node, g, np.prod(_shape(node)) / np.prod(_shape(x)))


def _reshape(node: Node, g: Node) -> tuple[Pull, ...]:
    return (lambda: op.reshape(g, np.array(_shape(_sources(node)[0])), False),)


def _transpose(node: Node, g: Node) -> tuple[Pull, ...]:
    order = _array(_sources(node)[1])
    return (lambda: op.transpose(g, np.argsort(order)),)


def _gather(node: Node, g: Node) -> tuple[Pull, ...]:
    """One row, by number."""
    x, row, axis = _sources(node)
    (where, along) = (int(_array(one)) for one in (row, axis))

    def by_image() -> Node:
        before, after = [0] * len(_shape(x)), [0] * len(_shape(x))
        before[along], after[along] = where, _shape(x)[along] - where - 1
        return op.pad(op.unsqueeze(g, np.int64(along)), np.array(before), np.array(after), "constant")

    return (by_image,)


def _slice(node: Node, g: Node) -> tuple[Pull, ...]:
    """A window of the last axes, in steps of one."""
    x, start, stop, _, axes = _sources(node)
    before, after = [0] * len(_shape(x)), [0] * len(_shape(x))
    for axis, a, b in zip(_array(axes), _array(start), _array(stop), strict=True):
        before[axis], after[axis] = int(a), _shape(x)[axis] - int(b)
    return (lambda: op.pad(g, np.array(before), np.array(after), "constant"),)


def _pad(node: Node, g: Node) -> tuple[Pull, ...]:
    x, before, *_ = _sources(node)
    start = _array(before)
    stop = start + np.array(_shape(x))
    return (lambda: op.slice(g, start, stop, np.ones_like(start), np.arange(len(start))),)


def _concat(node: Node, g: Node) -> tuple[Pull, ...]:
    axis = node.get_attributes()["axis"]
    widths = [_shape(source)[axis] for source in _sources(node)]
    parts = op.variadic_split(g, np.int64(axis), np.array(widths))

    def part(number: int) -> Pull:
        return lambda: parts.output(number)

    return tuple(part(number) for number in range(len(widths)))


def _depth_to_space(node: Node, g: Node) -> tuple[Pull, ...]:
    of = node.get_attributes()
    return (lambda: op.space_to_depth(g, of["mode"], of["block_size"]),)


def _result(node: Node, g: Node) -> tuple[Pull, ...]:
    return (lambda: g,)


RULES: dict[str, Rule] = {
    "Add": _add, "Subtract": _subtract, "Multiply": _multiply, "Divide": _divide, "Sqrt": _sqrt,
    "Relu": _relu, "PRelu": _prelu, "Clamp": _clamp, "MatMul": _matmul,
    "Convolution": _convolution, "GroupConvolution": _convolution, "MaxPool": _max_pool,
    "AvgPool": _avg_pool,
    "ReduceSum": _reduce, "ReduceMean": _reduce_mean, "Reshape": _reshape, "Transpose": _transpose,
    "Gather": _gather, "Slice": _slice, "Pad": _pad, "Concat": _concat, "DepthToSpace": _depth_to_space,
}  # fmt: skip
