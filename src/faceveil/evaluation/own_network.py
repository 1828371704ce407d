"""A reviewer's own recogniser: a network with a small card beside it under the same name (my.onnx and my.toml).

id = "my-net"
size = 112
template = "arcface-112"            # or "dlib-150"
distance = "cosine"                 # or "euclidean"
threshold = 0.7                     # below it two faces count as one person
mean = [127.5, 127.5, 127.5]        # optional, of red, green, blue; 0 by default
deviation = [127.5, 127.5, 127.5]   # optional; 1 by default
layout = "NCHW"                     # optional, or "NHWC"
channels = "RGB"                    # optional, or "BGR"
"""

import math
import tomllib
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faceveil.errors import FaceveilError, UsageError
from faceveil.evaluation.people import read_text
from faceveil.models.recognizers import RECOGNIZERS, TEMPLATES, Crops, Embeddings, Operating, Recognizer
from faceveil.models.runtime import Network, load

SIZES = 16, 1024  # px
CHOICES = {
    "template": tuple(TEMPLATES), "distance": ("cosine", "euclidean"), "layout": ("NCHW", "NHWC"),
    "channels": ("RGB", "BGR"),
}  # fmt: skip
REQUIRED = ("id", "size", "template", "distance", "threshold")
OPTIONAL: dict[str, Any] = {
    "mean": [0, 0, 0], "deviation": [1, 1, 1], "layout": "NCHW", "channels": "RGB",
}  # fmt: skip


class OwnNetwork(Recognizer):
    """A reviewer's network (ONNX, TFLite or OpenVINO IR) with its card, tried on an empty picture."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.is_file():
            raise UsageError(f"{path} is not a file; give the attack model as an ONNX, TFLite or IR file.")
        fields = read_card(path)
        self.id = fields["id"]
        self.size = fields["size"]
        self.template = fields["template"]
        self.euclidean: bool = fields["distance"] == "euclidean"
        self.of_length_one = not self.euclidean
        nan = float("nan")
        self.operating = Operating(float(fields["threshold"]), nan, nan, nan, {}, nan)
        self.mean = np.array(fields["mean"], np.float32)
        self.deviation = np.array(fields["deviation"], np.float32)
        self.planes = fields["layout"] == "NCHW"
        self.reversed = fields["channels"] == "BGR"
        self._try()

    def _try(self) -> None:
        grey = np.full((1, self.size, self.size, 3), 127, np.uint8)
        try:
            rows = self.embed(grey)
        except FaceveilError:
            raise
        except Exception as error:  # a runtime says what does not fit in errors of all kinds
            last = (str(error).strip().splitlines() or ["it says nothing"])[-1]
            raise UsageError(
                f"{self.path} cannot be run as its card says (size {self.size}, "
                f"{'NCHW' if self.planes else 'NHWC'}): {last}"
            ) from error
        if rows.shape[1] < 2:
            raise UsageError(f"{self.path} gives {rows.shape[1]} number for a face; a recogniser gives many.")

    @cached_property
    def _network(self) -> Network:
        shape = (1, 3, self.size, self.size) if self.planes else (1, self.size, self.size, 3)
        return load(self.path, shape=shape)

    def _embed(self, crops: Crops) -> Embeddings:
        scaled = (crops.astype(np.float32) - self.mean) / self.deviation
        scaled = scaled[..., ::-1] if self.reversed else scaled
        scaled = scaled.transpose(0, 3, 1, 2) if self.planes else scaled
        rows = np.concatenate(
            [self._network(np.ascontiguousarray(one[None]))[0].reshape(1, -1) for one in scaled]
        )
        if self.euclidean:
            return np.asarray(rows, np.float32)
        return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12), np.float32)

    def distance(self, a: Embeddings, b: Embeddings) -> NDArray[np.float32]:
        if self.euclidean:
            return np.asarray(np.linalg.norm(a - b, axis=-1), np.float32)
        return np.asarray(1 - np.sum(a * b, axis=-1), np.float32)


def read_card(path: Path) -> dict[str, Any]:
    """The card of a network's file, every field given and checked."""
    place = path.with_suffix(".toml")
    if not place.is_file():
        raise UsageError(f"{path} needs a card: {place} with {', '.join(REQUIRED)}.")
    try:
        given = tomllib.loads(read_text(place))
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{place} is not TOML: {error}.") from error
    if unknown := [name for name in given if name not in (*REQUIRED, *OPTIONAL)]:
        raise UsageError(
            f"{place}: no field is named {unknown[0]!r}. There are: {', '.join((*REQUIRED, *OPTIONAL))}."
        )
    fields = OPTIONAL | given
    for name in (*REQUIRED, *OPTIONAL):
        if wanted := _fault(name, fields.get(name)):
            raise UsageError(f"{place}: {name} must be {wanted}, not {fields.get(name)!r}.")
    return fields


def _fault(name: str, value: Any) -> str:
    """What the field should have been; nothing where it is."""
    if name in CHOICES:
        return "" if value in CHOICES[name] else f"one of {', '.join(CHOICES[name])}"
    if name == "id":
        own = isinstance(value, str) and value.isprintable() and value.strip() and value not in RECOGNIZERS
        return "" if own else "a name of its own"
    if name == "size":
        right = isinstance(value, int) and not isinstance(value, bool) and SIZES[0] <= value <= SIZES[1]
        return "" if right else f"a whole number of pixels from {SIZES[0]} to {SIZES[1]}"
    if name == "threshold":
        return "" if _is_number(value) and value > 0 else "a number above 0"
    right = isinstance(value, list) and len(value) == 3 and all(map(_is_number, value))
    if name == "deviation":
        return "" if right and all(value) else "three numbers other than 0"
    return "" if right else "three numbers"


def _is_number(value: Any) -> bool:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    return math.isfinite(value) and abs(value) < 1e6
