"""The engine: right, safe in threads, silent on the network."""

import gc
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import cv2
import numpy as np
import pytest

from faceveil.errors import UsageError, WeightsError
from faceveil.models import runtime
from faceveil.models.cards import Card, all_cards
from faceveil.models.runtime import Network, load, openvino, read_model, threads_wanted
from faceveil.models.segmenter import parts, person_mask
from faceveil.models.store import Store

# Counts every attempt to connect or resolve, from Python, while the engine is imported and used.
WATCHED = """
import os, socket, sys
tried = []
def refuse(*args, **kwargs):
    tried.append(args)
    raise OSError("no network")
socket.socket.connect = socket.getaddrinfo = socket.create_connection = refuse
{how}
import time
time.sleep(0.5)
print(len(tried), os.path.exists(os.path.expanduser("~/intel")))
"""


def attempts(how: str, home) -> str:
    environ = {
        "HOME": str(home),
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": os.pathsep.join(sys.path),
        "FACEVEIL_HOME": str(Store().home),
    }
    command = [sys.executable, "-c", WATCHED.format(how=how)]
    return subprocess.run(command, env=environ, capture_output=True, text=True, check=True).stdout.strip()


def test_the_engine_never_reports_home(tmp_path):
    how = "from faceveil.models.runtime import openvino; openvino().Core(); import openvino.tools.ovc"
    assert attempts(how, tmp_path) == "0 False"


@pytest.mark.parametrize("use", ["runtime import openvino; openvino()", "yunet import graph; graph()"])
def test_the_engine_comes_without_its_converter(tmp_path, use):
    how = f"from faceveil.models.{use}; assert 'openvino.tools.ovc' not in sys.modules"
    assert attempts(how, tmp_path) == "0 False"


def test_the_watch_would_see_the_engine_report(tmp_path):
    assert attempts("import openvino", tmp_path) != "0 False"


def double_plus(*shape: int) -> Network:
    """y = 2a + b."""
    ov = openvino()
    from openvino import opset13 as ops

    a, b = (ops.parameter(list(shape), np.float32, name=name) for name in "ab")
    for node, name in ((a, "a"), (b, "b")):
        node.output(0).set_names({name})
    return Network(ov.Model([ops.add(ops.multiply(a, np.float32(2)), b)], [a, b]))


def test_inputs_go_by_order_or_by_name():
    network = double_plus(2)
    one, two = np.array([1, 2], np.float32), np.array([10, 20], np.float32)
    np.testing.assert_array_equal(network([one, two])[0], [12, 24])
    np.testing.assert_array_equal(network({"b": one, "a": two})[0], [21, 42])


def test_an_output_is_not_overwritten_by_the_next_call():
    network = double_plus(1)
    first = network([np.ones(1, np.float32), np.ones(1, np.float32)])[0]
    network([np.zeros(1, np.float32), np.zeros(1, np.float32)])
    assert first.tolist() == [3]


@pytest.mark.parametrize("count", [0, 1, 3, 20])
def test_several_calls_at_once_give_what_each_gives_alone(count):
    network = load("facemesh.468")
    pictures = list(np.random.default_rng(0).random((count, 1, 192, 192, 3), np.float32))
    for one, other in zip(network.each(pictures), map(network, pictures), strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def test_a_wrong_shape_says_what_was_wanted():
    with pytest.raises(UsageError, match=r"'a' must have shape \(-1, 2\), not \(3,\)"):
        double_plus(-1, 2)([np.zeros(3, np.float32), np.zeros((1, 2), np.float32)])


def test_threads_do_not_disturb_each_other():
    network = load("facemesh.468")
    rng = np.random.default_rng(1)
    images = [rng.random((1, 192, 192, 3), dtype=np.float32) for _ in range(8)]
    alone = [network(image)[0] for image in images]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda image: network(image)[0], images))
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_same_arguments_give_the_same_network():
    assert load("facemesh.468") is load("facemesh.468")
    assert load("facemesh.468") is not load("facemesh.468", precision="bf16")


def test_a_network_can_be_reshaped_or_left_free():
    assert load("yunet.2023mar", shape=(1, 3, 320, 256)).input_shapes == [(1, 3, 320, 256)]
    free = load("age.v1", shape=(-1, 3, 64, 64))
    assert free(np.zeros((3, 3, 64, 64), np.float32))[0].shape == (3, 81)


@pytest.mark.parametrize(
    ("card", "member"),
    [("mobilestylegan.ffhq-1024", "MappingNetwork.xml"), ("yunet.2023mar", None), ("iris.64", None)],
)
def test_ir_onnx_and_tflite_are_read(card, member):
    network = load(card, member=member)
    outputs = network([np.zeros(shape, np.float32) for shape in network.input_shapes])
    assert all(np.isfinite(output).all() for output in outputs)


def network_of(card: Card) -> str | None:
    """The first file of a card that OpenVINO reads."""
    names = (member.name for member in card.members)
    return next((name for name in names if name.endswith((".tflite", ".onnx", ".xml"))), None)


def any_values(shape: tuple[int, ...]) -> np.ndarray:
    """In [-1, 1]; what is free is 64."""
    sizes = [64 if size < 0 else size for size in shape]
    return np.random.default_rng(0).uniform(-1, 1, sizes).astype(np.float32)


@pytest.mark.parametrize("card", [card.id for card in all_cards().values() if network_of(card)])
def test_networks_that_serve_two_threads_say_the_same(card, monkeypatch):
    name = network_of(all_cards()[card])
    alone = Network(read_model(card, name))
    monkeypatch.setattr(runtime, "_streams", 2)
    shared = Network(read_model(card, name))
    gc.collect()
    inputs = [any_values(shape) for shape in alone.input_shapes]
    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda _: shared(inputs), range(4)))
    for outputs in zip(alone(inputs), *answers, strict=True):
        assert all(np.array_equal(output, outputs[0]) for output in outputs)


def test_weights_in_sixteen_bits_are_unpacked_when_read():
    packed = [node for node in read_model("blazeface.back").get_ops() if node.get_type_name() == "Convert"]
    assert not [node for node in packed if node.input_value(0).get_node().get_type_name() == "Constant"]


def test_a_file_that_is_no_model_is_named(tmp_path):
    (tmp_path / "junk.onnx").write_bytes(b"junk")
    with pytest.raises(WeightsError, match=r"junk\.onnx"):
        load(tmp_path / "junk.onnx")


def test_impossible_settings_are_refused():
    with pytest.raises(UsageError, match="threads"):
        load("yunet.2023mar", threads=0)


def test_the_person_mask_is_that_of_the_reference_engine():
    litert = pytest.importorskip("ai_edge_litert.interpreter", reason="the reference engine is not installed")
    from faceveil.models import weights

    reference = litert.Interpreter(str(weights("selfie.256")))
    reference.allocate_tensors()
    image = np.random.default_rng(2).random((1, 256, 256, 3), dtype=np.float32)
    reference.set_tensor(reference.get_input_details()[0]["index"], image)
    reference.invoke()
    expected = reference.get_tensor(reference.get_output_details()[0]["index"])
    np.testing.assert_allclose(load("selfie.256")(image)[0], expected, atol=1e-3)


def test_the_parts_of_a_person_are_those_of_the_reference_engine(portrait):
    litert = pytest.importorskip("ai_edge_litert.interpreter", reason="the reference engine is not installed")
    from faceveil.models import weights

    reference = litert.Interpreter(str(weights("selfie.multiclass")))
    reference.allocate_tensors()
    image = cv2.resize(portrait, (256, 256), interpolation=cv2.INTER_AREA)[None].astype(np.float32) / 255
    reference.set_tensor(reference.get_input_details()[0]["index"], image)
    reference.invoke()
    expected = reference.get_tensor(reference.get_output_details()[0]["index"])
    np.testing.assert_allclose(load("selfie.multiclass")(image)[0], expected, atol=2e-3)
    assert (parts(portrait).argmax(axis=0) == expected[0].argmax(axis=2)).mean() > 0.99


def test_the_person_mask_has_the_photo_s_size():
    image = np.random.default_rng(3).integers(0, 255, (90, 120, 3), dtype=np.uint8)
    mask = person_mask(image)
    assert mask.shape == (90, 120)
    assert mask.dtype == np.float32
    assert mask.min() >= 0 and mask.max() <= 1


def test_first_use_in_several_threads_at_once_does_not_hang():
    # A fresh interpreter each time: only the engine's first use can hang, and then about every second time.
    code = """
import os, sys, threading, numpy as np
sys.setswitchinterval(1e-6)
from faceveil.models.runtime import Network, openvino
ov = openvino()
from openvino import opset13 as ops
image = ops.parameter([1, 4], np.float32)
network = Network(ov.Model([ops.relu(image)], [image], "toy"))
gate = threading.Barrier(4)
def use():
    gate.wait()
    network(np.ones((1, 4), np.float32))
threads = [threading.Thread(target=use) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join(20)
os._exit(any(thread.is_alive() for thread in threads))
"""
    for _ in range(4):
        subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_threads_are_wanted_where_an_engine_works_in_this_process():
    assert threads_wanted("threads", 16) == 16 and threads_wanted("auto", 2) == 2
    assert [threads_wanted(*how) for how in (("auto", 16), ("processes", 2), ("serial", 2))] == [0, 0, 0]


def test_what_was_built_once_can_be_forgotten():
    from faceveil.models.runtime import forget, once

    built: list[int] = []
    build = once(lambda number: built.append(number) or [number])
    first = build(3)
    assert build(3) is first and built == [3]
    forget()
    assert build(3) == first and build(3) is not first and built == [3, 3]
