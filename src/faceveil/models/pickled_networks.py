"""Read the networks of StyleGAN2-ADA's and StyleGAN3's pickles without running them.

Those files pickle whole Python objects together with the source code of their classes, which the authors'
loader executes. Here the source is dropped and each object is only a tree of settings and tensors: on top of
the names that `unpickle.py` knows, four more are allowed, and they too stand for inert objects.
"""

from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

from faceveil.errors import UnsafePickle, WeightsError
from faceveil.models import unpickle
from faceveil.models.unpickle import Array

# NEWOBJ makes the EasyDicts; modules hold sets of names.
MORE_OPERATIONS = frozenset({"NEWOBJ", "EMPTY_SET", "ADDITEMS"})


@dataclass(frozen=True)
class PickledNetwork:
    """One network: its tensors and its plain attributes by dotted name."""

    class_name: str
    tensors: dict[str, Array] = field(default_factory=dict)
    attributes: dict[str, Any] = field(default_factory=dict)


def read_pickled_networks(path: Path) -> dict[str, PickledNetwork]:
    """The networks of such a file (G, D, G_ema) by name."""
    with unpickle._named(path):
        file = BytesIO(unpickle._bytes(path))
        found = unpickle._load(file, path.name, more_names=_names(path.name), more_operations=MORE_OPERATIONS)
    objects = found if isinstance(found, dict) else {}
    networks = {name: _flatten(value) for name, value in objects.items() if isinstance(value, _Object)}
    if not networks:
        raise WeightsError(
            f"{path.name} holds no networks; a pickle of StyleGAN2-ADA or StyleGAN3 was expected."
        )
    return networks


class _Object(unpickle._Inert):
    """For the authors' persistent classes: the state, never the source."""

    __slots__ = ("class_name", "state")

    def __init__(self, meta: Any) -> None:
        if not isinstance(meta, dict) or not isinstance(meta.get("state"), dict):
            raise UnsafePickle("the file describes an object without a state.")
        self.class_name, self.state = str(meta.get("class_name")), meta["state"]


class _Settings(dict[Any, Any]):
    """For dnnlib's EasyDict."""

    __slots__ = ()

    def __setstate__(self, state: object) -> None:
        raise UnsafePickle("the file sets attributes of a dict, which these files never do.")


def _names(source: str) -> unpickle.Names:
    def storage(data: Any) -> Any:
        """A storage inside a plain pickle is a torch file of its own."""
        found = unpickle._read_stream(BytesIO(bytes(data)), source)
        if not isinstance(found, unpickle._Storage):
            raise UnsafePickle("the file holds something other than numbers where a tensor's numbers belong.")
        return found

    return {
        ("torch_utils.persistence", "_reconstruct_persistent_obj"): unpickle._Name(_Object),
        ("dnnlib.util", "EasyDict"): _Settings,
        ("torch.storage", "_load_from_bytes"): unpickle._Name(storage),
        ("builtins", "set"): unpickle._Name(list),  # how protocols before 4 write a module's set of names
        ("__builtin__", "set"): unpickle._Name(list),
    }


def _flatten(network: _Object) -> PickledNetwork:
    flat = PickledNetwork(network.class_name)
    _collect(network, "", flat, depth=0)
    return flat


def _collect(module: _Object, prefix: str, flat: PickledNetwork, depth: int) -> None:
    if depth > unpickle.MAX_DEPTH:
        raise UnsafePickle(f"the file nests deeper than {unpickle.MAX_DEPTH} levels or contains itself.")
    for kind in ("_parameters", "_buffers"):
        for name, tensor in module.state.get(kind, {}).items():
            if isinstance(tensor, unpickle._Tensor):
                flat.tensors[f"{prefix}{name}"] = tensor.view()
    for name, value in module.state.items():
        if value is None or isinstance(value, bool | int | float | str):
            flat.attributes[f"{prefix}{name}"] = value
    for name, child in module.state.get("_modules", {}).items():
        if isinstance(child, _Object):
            _collect(child, f"{prefix}{name}.", flat, depth + 1)
