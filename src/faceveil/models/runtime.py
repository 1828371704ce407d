"""The one inference engine: OpenVINO on the CPU, for IR, ONNX and TFLite files and for graphs built here.

    network = load("facemesh.468")
    points, score = network(batch)

f32 is exact and the default. bf16 is a hint that only CPUs with bf16 units (AVX512_BF16, AMX) follow; others
compute in f32 all the same (measured: the same bits on an AVX2 CPU). StyleID's renders and the few steps of `encode`
ask for it, where it was measured to be safe; detectors, recognisers and whatever a claim rests on do not.
"""

import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cache, wraps
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from faceveil.errors import UsageError, WeightsError
from faceveil.models.cards import all_cards
from faceveil.models.prepared import Recipe
from faceveil.models.store import weights

Array = NDArray[Any]
Inputs = Array | Sequence[Array] | Mapping[str, Array]
Shape = Sequence[int] | Mapping[str, Sequence[int]]  # -1 is a free dimension
Precision = Literal["f32", "bf16"]
Built = TypeVar("Built")

MOST_THREADS = 4  # beyond, threads would wait for the interpreter; processes start later but do not
AT_ONCE = 8  # calls that wait for the engine together
CONVERTER = "openvino.tools.ovc"
_first_use = threading.Lock()
_built: list[Callable[[], None]] = []  # how to forget what `once` keeps
_streams = 1


def allow_threads(count: int) -> None:
    """Let networks that are loaded from now on serve this many threads at a time, each call on one thread."""
    global _streams
    _streams = max(_streams, count)


def allowed_threads() -> int:
    """How many threads networks that are loaded now will serve at a time."""
    return _streams


def usable_cores() -> int:
    """The cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


def threads_wanted(engine: str, workers: int | None) -> int:
    """How many threads of this process an engine of that name will work in; 0 if it works elsewhere or in one."""
    count = workers or usable_cores()
    return count if engine == "threads" or (engine == "auto" and count <= MOST_THREADS) else 0


def once(build: Callable[..., Built]) -> Callable[..., Built]:
    """functools.cache for what is dear to build: threads that want the same wait for the first."""
    cached = cache(build)
    _built.append(cached.cache_clear)
    locks: dict[Any, threading.RLock] = {}

    @wraps(build)
    def locked(*arguments: Any) -> Built:
        with locks.setdefault(arguments, threading.RLock()):
            return cached(*arguments)

    return locked


def forget() -> None:
    """Let go of all networks and tables that were built once: a process that has used many sizes holds gigabytes."""
    for clear in _built:
        clear()


def openvino() -> ModuleType:
    """The engine's module. Import it only through here: by itself it reports its use over the network."""
    if "openvino" not in sys.modules:
        # A module that is None cannot be imported; OpenVINO then falls back to a reporter that does nothing.
        sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]
        # Its converter of other frameworks' models is not used here, and importing it takes as long as the rest.
        sys.modules.setdefault(CONVERTER, None)  # type: ignore[arg-type]
    import openvino

    with _first_use:
        if sys.modules.get(CONVERTER, openvino) is None:
            del sys.modules[CONVERTER]  # who wants it can still import it
        # Its table of number types is built on first use, and two threads building it wait for each other forever.
        openvino.Type.f32.to_dtype()
    return openvino  # type: ignore[no-any-return]


class Network:
    """A compiled network, of a graph or of a recipe for one. Calls from several threads are safe: each has its own
    request."""

    def __init__(
        self, model: Any, *, threads: int = 1, precision: Precision = "f32", streams: int | None = None
    ) -> None:
        if threads < 1 or precision not in ("f32", "bf16"):
            raise UsageError(
                f"a network needs threads >= 1 and f32 or bf16, not {threads} and {precision!r}."
            )
        config = {
            "INFERENCE_NUM_THREADS": threads * (streams or _streams),
            "NUM_STREAMS": streams or _streams,  # calls at a time
            "INFERENCE_PRECISION_HINT": precision,
            # Pinned threads of several processes would all sit on the first cores.
            "ENABLE_CPU_PINNING": False,
        }
        if isinstance(model, Recipe):
            self._compiled = model.compiled(_core(), config)
        else:
            self._compiled = _core().compile_model(model, "CPU", config)
        self._local = threading.local()
        self.input_names: list[str] = [port.get_any_name() for port in self._compiled.inputs]
        self.input_shapes = [_shape_of(port) for port in self._compiled.inputs]
        self.output_shapes = [_shape_of(port) for port in self._compiled.outputs]

    def __call__(self, inputs: Inputs) -> list[Array]:
        """Run once. `inputs`: the only array, all arrays in order, or arrays by name. Outputs are copies."""
        if not hasattr(self._local, "request"):
            self._local.request = self._compiled.create_infer_request()
        self._local.request.infer(self._named(inputs), share_inputs=True)
        return [np.array(tensor.data) for tensor in self._local.request.output_tensors]

    def each(self, inputs: Sequence[Inputs]) -> list[list[Array]]:
        """What calls one after the other would give: the engine need not wait for this thread between them."""
        waiting = self._local.__dict__.setdefault("requests", [])
        answers: list[list[Array]] = []
        for first in range(0, len(inputs), AT_ONCE):
            part = inputs[first : first + AT_ONCE]
            waiting += [self._compiled.create_infer_request() for _ in part[len(waiting) :]]
            for request, given in zip(waiting, part, strict=False):
                request.start_async(self._named(given), share_inputs=True)
            for request, _ in zip(waiting, part, strict=False):
                request.wait()
                answers.append([np.array(tensor.data) for tensor in request.output_tensors])
        return answers

    def _named(self, inputs: Inputs) -> dict[str, Array]:
        if isinstance(inputs, np.ndarray):
            inputs = [inputs]
        given = inputs if isinstance(inputs, Mapping) else dict(zip(self.input_names, inputs, strict=True))
        for name, shape in zip(self.input_names, self.input_shapes, strict=True):
            came = np.shape(given[name])
            if len(came) != len(shape) or any(
                want not in (-1, got) for want, got in zip(shape, came, strict=True)
            ):
                raise UsageError(f"input {name!r} must have shape {shape}, not {came} (-1 is any size).")
        return {name: np.ascontiguousarray(given[name]) for name in self.input_names}


def load(
    source: str | Path,
    *,
    member: str | None = None,
    threads: int = 1,
    precision: Precision = "f32",
    shape: Shape | None = None,
) -> Network:
    """A card's network, or a model file's; the same arguments give the same object within a process.

    `shape` reshapes the only input, or inputs by name; -1 leaves a dimension free.
    """
    if isinstance(shape, Mapping):
        key: Any = tuple((name, tuple(sizes)) for name, sizes in sorted(shape.items()))
    else:
        key = None if shape is None else tuple(shape)
    return _load(str(source), member, threads, precision, key)


def read_model(source: str | Path, member: str | None = None) -> Any:
    """The graph of a card or a file, not yet compiled, for code that changes it first."""
    path = Path(source) if _is_file(source) else weights(str(source), member)
    try:
        return _unpacked(_core().read_model(path))
    except RuntimeError as error:
        reason = str(error).strip().splitlines()[-1]
        raise WeightsError(f"OpenVINO cannot read {path}: {reason} It reads IR, ONNX and TFLite.") from error


def with_folded_constants(model: Any) -> Any:
    """The graph, changed: arithmetic on constants is done."""
    openvino()
    from openvino.passes import ConstantFolding, Manager

    simpler = Manager()
    simpler.register_pass(ConstantFolding())
    simpler.run_passes(model)
    return model


def _unpacked(model: Any) -> Any:
    """The graph with weights that are stored in eight or sixteen bits as numbers in f32.

    Left to itself the engine unpacks them when it compiles: those in eight bits it answers at random with, if it has
    more than one stream, and with those in sixteen it takes twice as long, for the same bits.
    """
    from openvino import opset13 as ops

    for node in model.get_ordered_ops():
        if node.get_type_name() == "Convert":
            stored = node.input_value(0).get_node()
            if stored.get_type_name() == "Constant" and _is_packed(stored.get_element_type()):
                node.output(0).replace(ops.constant(stored.data.astype(np.float32)).output(0))
    return model


def _is_packed(kind: Any) -> bool:
    return bool(kind.size == 1 or kind == openvino().Type.f16)


@once
def _load(source: str, member: str | None, threads: int, precision: Precision, shape: Any) -> Network:
    model = read_model(source, member)
    if shape is not None:
        by_name = isinstance(shape[0], tuple)
        model.reshape({name: list(sizes) for name, sizes in shape} if by_name else list(shape))
    return Network(model, threads=threads, precision=precision)


def _is_file(source: str | Path) -> bool:
    return isinstance(source, Path) or (source not in all_cards() and Path(source).exists())


def _shape_of(port: Any) -> tuple[int, ...]:
    return tuple(-1 if size.is_dynamic else size.get_length() for size in port.partial_shape)


@once
def _core() -> Any:
    core = openvino().Core()
    core.add_extension(_transposed_convolution_with_bias())
    return core


def _transposed_convolution_with_bias() -> Any:
    """A translator for MediaPipe's custom TFLite operation, a transposed convolution with a bias added.

    Its only use here (selfie.256) has a 2×2 kernel with stride 2, where every padding rule agrees.
    """
    ov = openvino()
    from openvino import opset13 as ops
    from openvino.frontend import ConversionExtension

    def translate(node: Any) -> list[Any]:
        image_nhwc, kernel_ohwi, bias = (node.get_input(i) for i in range(3))
        _, height, width, _ = ov.PartialShape(kernel_ohwi.get_partial_shape()).to_shape()
        if (height, width) != (2, 2):
            raise RuntimeError(f"only a 2x2 kernel with stride 2 is known, not {height}x{width}")
        image = ops.transpose(image_nhwc, [0, 3, 1, 2])
        kernel = ops.transpose(kernel_ohwi, [3, 0, 1, 2])
        spread = ops.convolution_backprop_data(
            image, kernel, strides=[2, 2], pads_begin=[0, 0], pads_end=[0, 0], dilations=[1, 1]
        )
        return [ops.add(ops.transpose(spread, [0, 2, 3, 1]), bias).output(0)]

    return ConversionExtension("Convolution2DTransposeBias", translate)
