"""Attackers: the recognisers at hand, and a reviewer's own network with a small card.

    id = "my-net"
    size = 112
    template = "arcface-112"            # or "dlib-150"
    distance = "cosine"                 # or "euclidean"
    threshold = 0.7                     # below it two faces count as one person
    mean = [127.5, 127.5, 127.5]        # optional, of red, green, blue; 0 by default
    deviation = [127.5, 127.5, 127.5]   # optional; 1 by default
    layout = "NCHW"                     # optional, or "NHWC"
    channels = "RGB"                    # optional, or "BGR"

The card lies beside the network under the same name: my.onnx and my.toml.
"""

import hashlib
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faceveil.errors import UsageError
from faceveil.models import card
from faceveil.models.recognizers import (
    RECOGNIZERS,
    TEMPLATES,
    WATCHING,
    Crops,
    Embeddings,
    Operating,
    Recognizer,
    recognizer,
)
from faceveil.models.runtime import Network, load

LETTERS = {"mobilenet.facelib": "A", "dlib-resnet.v1": "B", "mobilefacenet.facesdk": "C"}
REQUIRED = {"id": str, "size": int, "template": str, "distance": str, "threshold": float}


@dataclass(frozen=True)
class Attacker:
    """A recogniser that attacks, what its weights are, and whether it took part in making the result."""

    recognizer: Recognizer
    sha256: str
    used_by_method: bool = False

    @property
    def id(self) -> str:
        return self.recognizer.id

    @property
    def name(self) -> str:
        """How sentences call it."""
        letter = LETTERS.get(self.id)
        return f"recogniser {letter} ({self.id})" if letter else f"recogniser {self.id}"

    @property
    def euclidean(self) -> bool:
        if isinstance(self.recognizer, OwnNetwork):
            return self.recognizer.euclidean
        return self.id == "dlib-resnet.v1"


def attackers(
    ids: Sequence[str] = (), own: Sequence[Path] = (), used_by_method: Sequence[str] = ()
) -> list[Attacker]:
    """The recognisers of these ids (by default those that watch over new faces), then the reviewer's own; some took
    part in the method."""
    chosen = [recognizer(name) for name in (ids or WATCHING)]
    every: list[tuple[Recognizer, str]] = [(one, card(one.id).members[0].sha256) for one in chosen]
    every += [(OwnNetwork(path), _sha256(path)) for path in own]
    known = {one.id for one, _ in every}
    if len(known) < len(every):
        raise UsageError("two recognisers have the same id; give each card an id of its own.")
    strangers = [name for name in used_by_method if name not in known and name not in RECOGNIZERS]
    if strangers:
        raise UsageError(f"no recogniser is named {strangers[0]!r}. There are: {', '.join(sorted(known))}.")
    return [Attacker(one, sha256, one.id in used_by_method) for one, sha256 in every]


class OwnNetwork(Recognizer):
    """A reviewer's network (ONNX, TFLite or OpenVINO IR) with its card."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.is_file():
            raise UsageError(f"{path} is not a file; give the attack model as an ONNX, TFLite or IR file.")
        fields = _read_card(path)
        self.id = fields["id"]
        self.size = fields["size"]
        self.template = fields["template"]
        self.euclidean: bool = fields["distance"] == "euclidean"
        self.operating = Operating(
            fields["threshold"], float("nan"), float("nan"), float("nan"), {}, float("nan")
        )
        self.mean = np.array(fields.get("mean", [0, 0, 0]), np.float32)
        self.deviation = np.array(fields.get("deviation", [1, 1, 1]), np.float32)
        self.planes = fields.get("layout", "NCHW") == "NCHW"
        self.reversed = fields.get("channels", "RGB") == "BGR"

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


def _read_card(path: Path) -> dict[str, Any]:
    place = path.with_suffix(".toml")
    if not place.is_file():
        raise UsageError(f"{path} needs a card: {place} with {', '.join(REQUIRED)}.")
    try:
        fields = tomllib.loads(place.read_text("utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{place} is not TOML: {error}.") from error
    for name, kind in REQUIRED.items():
        value = fields.get(name)
        if not isinstance(value, (int, float) if kind is float else kind) or isinstance(value, bool):
            raise UsageError(f"{place}: {name} must be given as {kind.__name__}, not {value!r}.")
    if fields["template"] not in TEMPLATES:
        raise UsageError(
            f"{place}: template must be one of {', '.join(TEMPLATES)}, not {fields['template']!r}."
        )
    if fields["distance"] not in ("cosine", "euclidean"):
        raise UsageError(f"{place}: distance must be cosine or euclidean, not {fields['distance']!r}.")
    return fields


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
