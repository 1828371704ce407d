"""Read pickled arrays and torch files without running them, and without torch.

A pickle is a program: it can name any importable object, call it, and set attributes. So before anything is
loaded, its operations are scanned: those that weights never use (INST, OBJ, NEWOBJ, EXT, …), lengths and memo
numbers beyond the file are refused. Then a reader runs that knows only the names listed here. None of them is
the real thing: each stands for an inert object of this file, which can only be called to describe an array
and whose state cannot be set to anything else. What comes out is plain: dicts, lists, numbers, numpy arrays.
"""

import pickle
import pickletools
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faceveil.errors import UnsafePickle, WeightsError

Array = NDArray[Any]
Names = dict[tuple[str, str], Any]  # what a pickle gets for each (module, name) it may mention

TORCH_MAGIC = 0x1950A86A20F9469CFC6C  # opens a file of torch before 1.6
MAX_BYTES = 1 << 31  # no card comes near; a larger file is a bomb
MAX_DEPTH = 50

STORAGES = {
    "DoubleStorage": np.dtype("<f8"),
    "FloatStorage": np.dtype("<f4"),
    "HalfStorage": np.dtype("<f2"),
    "LongStorage": np.dtype("<i8"),
    "IntStorage": np.dtype("<i4"),
    "ShortStorage": np.dtype("<i2"),
    "CharStorage": np.dtype("<i1"),
    "ByteStorage": np.dtype("<u1"),
    "BoolStorage": np.dtype("?"),
}

OPERATIONS = frozenset(
    """PROTO FRAME STOP MARK NONE NEWTRUE NEWFALSE BININT BININT1 BININT2 LONG1 LONG4 BINFLOAT
    BINUNICODE SHORT_BINUNICODE BINUNICODE8 BINSTRING SHORT_BINSTRING BINBYTES SHORT_BINBYTES BINBYTES8
    BYTEARRAY8 EMPTY_DICT EMPTY_LIST EMPTY_TUPLE TUPLE TUPLE1 TUPLE2 TUPLE3 APPEND APPENDS SETITEM SETITEMS
    BINPUT LONG_BINPUT MEMOIZE BINGET LONG_BINGET GLOBAL STACK_GLOBAL REDUCE BUILD BINPERSID""".split()  # noqa: SIM905 - reads better as words
)


def read_torch(path: Path | str) -> dict[str, Array]:
    """The tensors of a torch state dict by name, from a zip file (torch 1.6 and later) or an older one."""
    path = Path(path)
    with _named(path):
        found = _torch_zip(path) if zipfile.is_zipfile(path) else _torch_stream(path)
        tensors = {name: value for name, value in found.items() if isinstance(value, np.ndarray)}
    if not tensors:
        raise WeightsError(f"{path.name} holds no tensors by name; a state dict was expected.")
    return tensors


def read_torch_file(path: Path | str) -> dict[str, Any]:
    """All that a torch file holds, nested as it is: dicts, lists, numbers and arrays."""
    path = Path(path)
    with _named(path):
        return _torch_zip(path) if zipfile.is_zipfile(path) else _torch_stream(path)


def read_arrays(path: Path | str) -> Any:
    """A pickle of nested dicts, lists and numpy arrays."""
    path = Path(path)
    with _named(path):
        return _plain(_load(BytesIO(_bytes(path)), path.name))


# Inert objects: what a pickle gets instead of the classes and functions it names.


class _Inert:
    """An object whose state a pickle cannot set (BUILD would otherwise set any attribute)."""

    __slots__ = ()

    def __setstate__(self, state: object) -> None:
        raise UnsafePickle(
            f"the file sets the state of a {type(self).__name__.strip('_')}, which weights never do."
        )


class _Name(_Inert):
    """Stands for a global. Calling it, if weights ever do, makes another inert object."""

    __slots__ = ("_make", "value")

    def __init__(self, make: Callable[..., Any] | None = None, value: Any = None) -> None:
        self._make = make
        self.value = value

    def __call__(self, *args: Any) -> Any:
        if self._make is None:
            raise UnsafePickle("the file calls a type that weights only mention.")
        return self._make(*args)


class _Mapping(dict[Any, Any]):
    """For collections.OrderedDict: plain dicts keep their order, and a module's `_metadata` is not wanted."""

    __slots__ = ()

    def __setstate__(self, state: object) -> None:
        pass


class _DType(_Inert):
    """For numpy.dtype: numbers only, never objects or records."""

    __slots__ = ("dtype",)

    def __init__(self, code: str, *_: Any) -> None:
        self.dtype = np.dtype(str(code))
        if self.dtype.kind not in "fiubc":
            raise UnsafePickle(f"the file holds arrays of dtype {code!r}; weights are numbers.")

    def __setstate__(self, state: Any) -> None:
        if state[1] in ("<", ">"):
            self.dtype = self.dtype.newbyteorder(state[1])


class _NumpyArray(_Inert):
    """For numpy's _reconstruct: empty until BUILD brings shape, dtype and bytes."""

    __slots__ = ("array",)

    def __init__(self, *_: Any) -> None:
        self.array: Array | None = None

    def __setstate__(self, state: Any) -> None:
        _, shape, kind, fortran, data = state
        self.array = _from_bytes(data, kind, shape, "F" if fortran else "C")


class _Storage(_Inert):
    """A torch storage: its numbers come after the pickle, or from another entry of the zip."""

    __slots__ = ("dtype", "key", "numbers", "numel")

    def __init__(self, reference: Any) -> None:
        tag, kind, key, _, numel = reference[:5]
        if tag != "storage" or not isinstance(kind, _Name) or not isinstance(kind.value, np.dtype):
            raise UnsafePickle("the file refers to something outside itself that is not a tensor's storage.")
        self.dtype, self.key, self.numel = kind.value, str(key), int(numel)
        self.numbers: Array | None = None

    def fill(self, data: bytes) -> None:
        if self.numel < 0 or len(data) != self.numel * self.dtype.itemsize:
            raise WeightsError(
                f"storage {self.key} should hold {self.numel} numbers and has {len(data)} bytes"
            )
        self.numbers = np.frombuffer(data, self.dtype)


class _Tensor(_Inert):
    """A torch tensor: a strided view of its storage, checked to lie inside it."""

    __slots__ = ("offset", "shape", "storage", "strides")

    def __init__(self, storage: Any, offset: Any, shape: Any, strides: Any, *_: Any) -> None:
        if not isinstance(storage, _Storage):
            raise UnsafePickle("the file builds a tensor from something that is not a storage.")
        self.storage, self.offset = storage, int(offset)
        self.shape, self.strides = tuple(map(int, shape)), tuple(map(int, strides))

    def view(self) -> Array:
        numbers = self.storage.numbers
        if numbers is None:
            raise WeightsError(f"storage {self.storage.key} is missing")
        reach = sum((size - 1) * step for size, step in zip(self.shape, self.strides, strict=True))
        inside = self.offset >= 0 and (self.offset + reach < numbers.size or 0 in self.shape)
        positive = min((*self.shape, *self.strides, 0)) >= 0
        # prod: a stride of 0 could make a tensor of any size out of one number.
        if not (inside and positive and prod(self.shape) <= numbers.size):
            raise WeightsError(f"a tensor of shape {self.shape} does not fit its storage of {numbers.size}")
        steps = tuple(step * numbers.itemsize for step in self.strides)
        return np.lib.stride_tricks.as_strided(numbers[self.offset :], self.shape, steps, writeable=False)


def _from_bytes(data: Any, kind: Any, shape: Any, order: Any) -> Array:
    if not isinstance(kind, _DType):
        raise UnsafePickle("the file builds an array whose dtype is not one.")
    raw = data.encode("latin1") if isinstance(data, str) else bytes(data)
    return np.frombuffer(raw, kind.dtype).reshape(tuple(map(int, shape)), order="F" if order == "F" else "C")


def _frombuffer(data: Any, kind: Any, shape: Any, order: Any) -> _NumpyArray:
    made = _NumpyArray()
    made.array = _from_bytes(data, kind, shape, order)
    return made


def _scalar(kind: Any, data: Any) -> _NumpyArray:
    return _frombuffer(data, kind, (), "C")


def _latin1(text: Any, encoding: Any) -> bytes:
    if not isinstance(text, str) or encoding != "latin1":
        raise UnsafePickle("the file encodes text in a way that weights never do.")
    return text.encode("latin1")


def _names() -> Names:
    names: Names = {
        ("collections", "OrderedDict"): _Name(_Mapping),
        ("_codecs", "encode"): _Name(_latin1),  # how protocol 2 writes bytes
        ("numpy", "ndarray"): _Name(),
        ("numpy", "dtype"): _Name(_DType),
        ("torch._utils", "_rebuild_tensor_v2"): _Name(_Tensor),
        ("torch._utils", "_rebuild_parameter"): _Name(lambda data, *_: data),
    }
    for core in ("numpy.core", "numpy._core"):
        names[f"{core}.multiarray", "_reconstruct"] = _Name(_NumpyArray)
        names[f"{core}.multiarray", "scalar"] = _Name(_scalar)
        names[f"{core}.numeric", "_frombuffer"] = _Name(_frombuffer)
    names |= {("torch", storage): _Name(value=dtype) for storage, dtype in STORAGES.items()}
    return names


# Reading.


class _Reader(pickle.Unpickler):
    """An unpickler that knows only the names above."""

    def __init__(
        self, file: BytesIO, source: str, storages: dict[str, _Storage] | None, more_names: Names
    ) -> None:
        super().__init__(file, encoding="latin1")
        self._names = {**_names(), **more_names}
        self._source = source
        self._storages = storages

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in self._names:
            return self._names[module, name]
        raise UnsafePickle(
            f"{self._source} wants to use {module}.{name} when it is read, which weights never need: it may "
            "run code. Do not load it elsewhere, and pull it again from a source you trust."
        )

    def persistent_load(self, reference: Any) -> _Storage:
        if self._storages is None:
            raise UnsafePickle(f"{self._source} refers to something outside itself, which arrays never do.")
        storage = _Storage(reference)
        return self._storages.setdefault(storage.key, storage)


def _load(
    file: BytesIO,
    source: str,
    storages: dict[str, _Storage] | None = None,
    more_names: Names | None = None,
    more_operations: frozenset[str] = frozenset(),
) -> Any:
    """Read one pickle from where the file stands, and leave the file just behind it."""
    start = file.tell()
    _scan(file, source, OPERATIONS | more_operations)
    end = file.tell()
    file.seek(start)
    found = _Reader(file, source, storages, more_names or {}).load()
    file.seek(end)
    return found


def _scan(file: BytesIO, source: str, allowed: frozenset[str]) -> None:
    """Refuse operations that weights never use, and memo numbers that would reserve memory for nothing."""
    for count, (operation, argument, _) in enumerate(pickletools.genops(file)):
        if operation.name not in allowed:
            raise UnsafePickle(
                f"{source} uses the pickle operation {operation.name}, which weights never need."
            )
        if operation.name in ("BINPUT", "LONG_BINPUT") and int(argument or 0) > count:
            raise UnsafePickle(f"{source} reserves memory for {argument} objects that it does not hold.")


def _torch_stream(path: Path) -> dict[str, Any]:
    """torch before 1.6: five pickles (magic, protocol, machine, objects, storage keys), then the numbers."""
    return dict(_plain(_read_stream(BytesIO(_bytes(path)), path.name)))


def _read_stream(file: BytesIO, source: str) -> Any:
    storages: dict[str, _Storage] = {}
    if _load(file, source) != TORCH_MAGIC:
        raise WeightsError("it does not begin as a torch file does")
    _load(file, source)
    _require_little_endian(_load(file, source).get("little_endian"))
    found = _load(file, source, storages)
    for key in _load(file, source):
        storage = storages[str(key)]
        if int.from_bytes(file.read(8), "little") != storage.numel:
            raise WeightsError(f"storage {key} has another length than its tensors say")
        storage.fill(file.read(max(storage.numel, 0) * storage.dtype.itemsize))
    return found


def _torch_zip(path: Path) -> dict[str, Any]:
    """torch 1.6 and later: data.pkl, and each storage in an entry of its own, never compressed."""
    storages: dict[str, _Storage] = {}
    with zipfile.ZipFile(path) as archive:
        entries = {info.filename: info for info in archive.infolist()}
        root = next(name for name in entries if name.endswith("/data.pkl")).removesuffix("data.pkl")

        def read(name: str) -> bytes:
            info = entries[root + name]
            if info.compress_type != zipfile.ZIP_STORED or info.file_size > MAX_BYTES:
                raise WeightsError(f"the entry {name} is compressed or too large")
            return archive.read(info)

        if f"{root}byteorder" in entries:
            _require_little_endian(read("byteorder") == b"little")
        found = _load(BytesIO(read("data.pkl")), path.name, storages)
        for storage in storages.values():
            storage.fill(read(f"data/{storage.key}"))
    return dict(_plain(found))


def _plain(value: Any, depth: int = 0, seen: dict[int, Any] | None = None) -> Any:
    """Dicts, lists, tuples, numbers and arrays; each object once, so that shared parts stay shared."""
    seen = {} if seen is None else seen
    if depth > MAX_DEPTH:
        raise UnsafePickle(f"the file nests deeper than {MAX_DEPTH} levels or contains itself.")
    if id(value) not in seen:
        seen[id(value)] = _plain_one(value, lambda inner: _plain(inner, depth + 1, seen))
    return seen[id(value)]


def _plain_one(value: Any, plain: Callable[[Any], Any]) -> Any:
    if isinstance(value, _Tensor):
        return value.view()
    if isinstance(value, _NumpyArray):
        if value.array is None:
            raise WeightsError("an array has no content")
        return value.array
    if isinstance(value, dict):
        return {plain(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(plain(inner) for inner in value)
    if value is None or isinstance(value, bool | int | float | str | bytes | bytearray):
        return value
    raise UnsafePickle(f"the file holds a {type(value).__name__.strip('_')} where weights hold arrays.")


def _bytes(path: Path) -> bytes:
    if path.stat().st_size > MAX_BYTES:
        raise WeightsError("it is larger than any weights known here")
    return path.read_bytes()


def _require_little_endian(is_little: object) -> None:
    if is_little is not True:
        raise WeightsError("it was written on a big-endian machine")


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Whatever goes wrong inside becomes one error that names the file."""
    try:
        yield
    except UnsafePickle as error:
        raise UnsafePickle(f"{path}: {error}") from error
    except Exception as error:
        raise WeightsError(
            f"{path} is not a readable file of weights: {error or type(error).__name__}."
        ) from error
