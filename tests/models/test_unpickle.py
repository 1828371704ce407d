"""Pickles that try to run code: each must be refused, and none of it may have run."""

import collections
import io
import pickle
import pickletools
import struct
import zipfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from faceveil.errors import UnsafePickle, WeightsError
from faceveil.models import unpickle, weights
from faceveil.models.unpickle import read_arrays, read_torch


class Calls:
    """Pickles as a call of any function with any arguments."""

    def __init__(self, function, *args, state=None):
        self.made = (function, args) if state is None else (function, args, state)

    def __reduce__(self):
        return self.made


def exploits(marker: Path) -> dict[str, bytes]:
    """Pickles that would create `marker` (or reach for what could) if anything of them ran."""
    import os
    import subprocess

    touch = f"open({str(marker)!r}, 'w').close()"
    command = f"touch {marker}"
    quoted = command.encode()
    dumped = {
        "os.system": Calls(os.system, command),
        "eval": Calls(eval, touch),
        "exec": Calls(exec, touch),
        "subprocess": Calls(subprocess.call, ["touch", str(marker)]),
        "getattr chain": Calls(getattr, Calls(__import__, "os"), "system"),
        "nested in an array's place": {"weight": [np.zeros(2), Calls(os.system, command)]},
        "as a key": {Calls(os.system, command): 1},
        "inside an ordered dict": collections.OrderedDict(a=Calls(eval, touch)),
        "open": Calls(open, str(marker), "w"),
        "an array of objects": np.array([Calls(os.system, command)], dtype=object),
        "dict builder": Calls(dict, [("a", 1)]),
        "apply": Calls(map, print, [1]),
        "partial": Calls(__import__("functools").partial, os.system, command),
    }
    found = {f"{name}, protocol {p}": pickle.dumps(o, p) for name, o in dumped.items() for p in (2, 4, 5)}
    found |= {
        "text protocol": b"cos\nsystem\n(S'" + quoted + b"'\ntR.",
        "INST": b"(S'" + quoted + b"'\nios\nsystem\n.",
        "OBJ": b"(cos\nsystem\nS'" + quoted + b"'\no.",
        "NEWOBJ": b"\x80\x02cbuiltins\neval\nX\x01\x00\x00\x001\x85\x81.",
        "stack global through the memo": b"\x80\x04\x8c\x02os\x940\x8c\x06system\x940h\x00h\x01\x93\x8c"
        + bytes([len(quoted)])
        + quoted
        + b"\x85R.",
        "stack global from memo without pop": b"\x80\x04(\x8c\x02os\x94\x8c\x06system\x94lh\x00h\x01\x93.",
        "dotted name": b"\x80\x04\x8c\x05numpy\x8c\x0edtype.__init__\x93.",
        "dotted module": b"\x80\x02cnumpy.core.multiarray\n_reconstruct.__globals__\n.",
        "extension code": b"\x80\x02\x82\x01.",
        "BUILD on a name": b"\x80\x02cnumpy\ndtype\n}X\x05\x00\x00\x00_makecos\nsystem\nsb.",
        "BUILD with slots on a name": b"\x80\x02cnumpy\ndtype\nN}X\x05\x00\x00\x00_makecollections\nsb.",
        "BUILD with slots on a known name": b"\x80\x02cnumpy\ndtype\n(N}X\x05\x00\x00\x00_make"
        b"ccollections\nOrderedDict\nstb.",
        "text persistent id": b"Psomewhere\n.",
        "persistent id": b"\x80\x02X\x04\x00\x00\x00evilQ.",
        "memo bomb": b"\x80\x02Nr\xff\xff\xff\x7f.",
    }
    return found


NAMES = sorted(exploits(Path("marker")))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("reader", [read_arrays, read_torch])
def test_an_exploit_is_refused_and_nothing_runs(name, reader, tmp_path):
    marker = tmp_path / "marker"
    path = tmp_path / "evil.pkl"
    payload = exploits(marker)[name]
    if reader is read_torch:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("archive/data.pkl", payload)
    else:
        path.write_bytes(payload)
    with pytest.raises(WeightsError):
        reader(path)
    assert not marker.exists()


def test_the_exploits_are_real(tmp_path):
    marker = tmp_path / "marker"
    pickle.loads(exploits(marker)["os.system, protocol 4"])
    assert marker.exists()


def test_the_refused_global_is_named(tmp_path):
    (tmp_path / "evil").write_bytes(exploits(tmp_path / "m")["eval, protocol 4"])
    with pytest.raises(UnsafePickle, match=r"evil.*builtins\.eval"):
        read_arrays(tmp_path / "evil")


def test_an_exploit_in_a_torch_stream_is_refused(tmp_path):
    marker = tmp_path / "marker"
    head = b"".join(pickle.dumps(value, 2) for value in (unpickle.TORCH_MAGIC, 1001, {"little_endian": True}))
    (tmp_path / "evil.pt").write_bytes(head + exploits(marker)["os.system, protocol 2"])
    with pytest.raises(UnsafePickle, match="system"):
        read_torch(tmp_path / "evil.pt")
    assert not marker.exists()


def test_no_exploit_changes_what_the_next_reading_gives(tmp_path):
    for name, payload in exploits(tmp_path / "marker").items():
        (tmp_path / "evil").write_bytes(payload)
        with pytest.raises(WeightsError):
            read_arrays(tmp_path / "evil")
        assert not (tmp_path / "marker").exists(), name
    (tmp_path / "good").write_bytes(pickle.dumps({"a": np.arange(3)}))
    assert read_arrays(tmp_path / "good")["a"].tolist() == [0, 1, 2]


def test_a_structure_that_holds_itself_is_refused(tmp_path):
    loop: list[object] = []
    loop.append(loop)
    (tmp_path / "loop").write_bytes(pickle.dumps(loop, 2))
    with pytest.raises(UnsafePickle, match="contains itself"):
        read_arrays(tmp_path / "loop")


def test_a_billion_laughs_stays_small(tmp_path):
    laugh: list[object] = ["ha"]
    for _ in range(40):
        laugh = [laugh] * 10
    (tmp_path / "laughs").write_bytes(pickle.dumps(laugh, 2))
    assert len(read_arrays(tmp_path / "laughs")) == 10


@pytest.mark.parametrize("length", [1 << 40, 1 << 62])
def test_a_length_beyond_the_file_is_refused(tmp_path, length):
    (tmp_path / "bomb").write_bytes(b"\x80\x04\x8e" + struct.pack("<Q", length) + b"abc.")
    with pytest.raises(WeightsError, match="bomb"):
        read_arrays(tmp_path / "bomb")


ARRAYS = hnp.arrays(
    st.sampled_from(["<f4", ">f4", "<f8", "<f2", "<i8", "|u1", "|b1"]),
    hnp.array_shapes(min_dims=0, max_dims=3),
)


@settings(max_examples=40, deadline=None)
@given(st.dictionaries(st.text(max_size=5), st.lists(ARRAYS, max_size=2)), st.sampled_from([2, 3, 4, 5]))
def test_pickled_arrays_come_back_as_they_were(tmp_path_factory, value, protocol):
    path = tmp_path_factory.getbasetemp() / "arrays.pkl"
    path.write_bytes(pickle.dumps(value, protocol))
    found = read_arrays(path)
    assert found.keys() == value.keys()
    for name, expected in value.items():
        for one, other in zip(found[name], expected, strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)


@given(st.binary(max_size=200))
def test_random_bytes_never_do_more_than_raise(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "random.pkl"
    path.write_bytes(data)
    for reader in (read_arrays, read_torch):
        with suppress(WeightsError):
            reader(path)


# Torch files written by hand, in the layout that torch documents.


def torch_zip(
    path: Path, numbers: np.ndarray, shape, strides, offset=0, numel=None, compress=zipfile.ZIP_STORED
):
    """A state dict {"w": tensor} as torch 1.6 and later write it."""
    out = io.BytesIO()
    out.write(b"\x80\x02}X\x01\x00\x00\x00wctorch._utils\n_rebuild_tensor_v2\n(")
    count = numbers.size if numel is None else numel
    reference = (
        b"(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpu",
        count,
    )
    out.write(reference[0] + integer(reference[1]) + b"tQ" + integer(offset))
    for sizes in (shape, strides):
        out.write(b"(" + b"".join(map(integer, sizes)) + b"t")
    out.write(b"\x89ccollections\nOrderedDict\n)RtRs.")
    with zipfile.ZipFile(path, "w", compress) as archive:
        archive.writestr("net/data.pkl", out.getvalue())
        archive.writestr("net/data/0", numbers.astype("<f4").tobytes())


def integer(value: int) -> bytes:
    return b"\x8a\x08" + struct.pack("<q", value)


def test_a_tensor_is_a_strided_view_of_its_storage(tmp_path):
    numbers = np.arange(12, dtype=np.float32)
    torch_zip(tmp_path / "t.pt", numbers, (3, 2), (1, 3), offset=2)
    np.testing.assert_array_equal(read_torch(tmp_path / "t.pt")["w"], [[2, 5], [3, 6], [4, 7]])


@pytest.mark.parametrize(
    ("shape", "strides", "offset", "numel"),
    [
        ((13,), (1,), 0, None),
        ((2,), (12,), 0, None),
        ((2,), (1,), 11, None),
        ((2,), (1,), -1, None),
        ((2,), (-1,), 5, None),
        ((1 << 40,), (0,), 0, None),
        ((12,), (1,), 0, 1 << 40),
        ((12,), (1,), 0, -12),
        ((2, 2), (1,), 0, None),
    ],
)
def test_a_tensor_beyond_its_storage_is_refused(tmp_path, shape, strides, offset, numel):
    torch_zip(tmp_path / "t.pt", np.arange(12), shape, strides, offset, numel)
    with pytest.raises(WeightsError, match=r"t\.pt"):
        read_torch(tmp_path / "t.pt")


def test_a_compressed_torch_file_is_refused_before_it_is_inflated(tmp_path):
    torch_zip(tmp_path / "t.pt", np.zeros(1000), (1000,), (1,), compress=zipfile.ZIP_DEFLATED)
    with pytest.raises(WeightsError, match="compressed"):
        read_torch(tmp_path / "t.pt")


@pytest.mark.parametrize(("card", "count"), [("mobilefacenet.facesdk", 307), ("mobilenetv2.imagenet", 314)])
def test_real_torch_files_are_read_without_torch(card, count):
    tensors = read_torch(weights(card))
    assert len(tensors) == count
    assert all(np.isfinite(array).all() for array in tensors.values())


def test_a_real_checkpoint_of_arrays_is_read():
    network = read_arrays(weights("lpips.alexnet"))
    assert network["AlexNet_0"]["Conv_0"]["kernel"].shape == (11, 11, 3, 64)
    assert (network["NetLinLayer_0"]["Conv_0"]["kernel"] >= 0).all(), "LPIPS heads are not negative"


def test_every_operation_on_the_list_exists():
    assert {operation.name for operation in pickletools.opcodes} >= set(unpickle.OPERATIONS)
