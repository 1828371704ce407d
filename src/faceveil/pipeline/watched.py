"""Watched: recognisers look again at a photo that a set's new faces were put into.

A mix that they take for nobody may be taken for a member once it stands among that member's hair, ears and chin, is
scaled and compressed. Such a photo is withheld; its group loses a member by it, and may be mixed anew.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from faceveil.faces import Face, FaceSet
from faceveil.faces.crops import aligned_face
from faceveil.faces.face import Floats, Image
from faceveil.faces.replace import is_replaced
from faceveil.methods.method import WatchedMethod
from faceveil.models.npz import mapped
from faceveil.pipeline.settings import Settings
from faceveil.privacy.record import COVERED, ReplacedFace
from faceveil.privacy.watch import Watch
from faceveil.spaces.embedding import EmbeddingSpace

AT_RISK = (
    "a recogniser that watches takes a face, as it stands in this photo, for a member of its group. "
    "Another run or a larger k mixes other faces, and --method blackout covers it."
)


def watch_of(settings: Settings) -> Watch | None:
    """Who looks again, if the method has somebody watch and faces are put into photos."""
    method = settings.method
    return method.watch if isinstance(method, WatchedMethod) and settings.release == "photos" else None


def keep_known(settings: Settings, faces: FaceSet, rows: NDArray[np.int64], count: int, folder: Path) -> None:
    """Keep what the watching recognisers see in the originals: of `count` faces these rows, NaN for the others."""
    watch = watch_of(settings)
    for name in watch.recognizers if watch else ():
        known = EmbeddingSpace(name).encode(faces)
        whole = np.full((count, known.shape[1]), np.nan, np.float32)
        whole[rows] = known
        np.save(_file(folder, name), whole)


def is_at_risk(
    image: Image,
    record: Sequence[ReplacedFace],
    groups: Sequence[tuple[int, ...]],
    seen: Sequence[Face],
    settings: Settings,
    folder: Path,
) -> bool:
    """Whether a face that was put in is recognised; `groups` has the rows of each one's group, `seen` what detectors
    found in the photo."""
    watch = watch_of(settings)
    if watch is None or not watch.recognizers:
        return False
    known = {name: mapped(_file(folder, name)) for name in watch.recognizers}
    for face, rows in zip(record, groups, strict=True):
        if face.group == COVERED:
            continue
        asked = np.arange(len(known[watch.recognizers[0]])) if watch.everyone else np.array(rows, np.int64)
        originals = {name: np.asarray(table[asked]) for name, table in known.items()}
        looked = watch.look(image, _points(image, face, seen))
        if (watch.margins(looked, originals, np.isin(asked, rows)) < 0).any():
            return True
    return False


def _points(image: Image, face: ReplacedFace, seen: Sequence[Face]) -> Floats:
    """Where a detector sees the features of a replaced face; where none does, where the mesh network does."""
    for found in seen:
        if is_replaced(found, [face.place]):
            return found.points
    crop = face.place.crop(image)
    return face.place.points_to_photo(aligned_face(crop).points)


def _file(folder: Path, recognizer: str) -> Path:
    return folder / f"known-{recognizer}.npy"
