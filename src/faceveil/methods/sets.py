"""What the methods on whole sets share: people counted once, refusals, one picture for each group."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from faceveil.errors import UsageError
from faceveil.faces import FaceSet
from faceveil.faces.face_set import CROP_SIZE
from faceveil.faces.inner import inner_mask
from faceveil.faces.sharpness import detail, no_sharper
from faceveil.grouping import Partition
from faceveil.grouping.arrays import as_subjects
from faceveil.grouping.subjects import subject_means
from faceveil.methods.method import Release
from faceveil.privacy import Guarantee
from faceveil.spaces import SynthesisSpace

Floats = NDArray[np.float32]
DEFAULT_K = 5


def check_k(name: str, k: int) -> None:
    """A group of one hides nobody."""
    if isinstance(k, bool) or k != int(k) or k < 2:
        raise UsageError(
            f"{name}: k is the least number of people who share a face, 2 or more; {k!r} is not."
        )


def k_anonymity(k: int) -> Guarantee:
    """The claim of every partition whose members release identical faces."""
    others = "the other" if k == 2 else f"{k - 1} others"
    return Guarantee(
        "k-anonymity",
        f"k-anonymity with k = {k}: every released face is shared, to the last bit, by at least {k} people of this "
        f"set, so the face itself does not tell any of them from {others}.",
        k=k,
    )


def people_in(subjects: NDArray[np.int64]) -> int:
    """How many different people there are."""
    return len(np.unique(subjects))


def too_few(faces: FaceSet, k: int) -> Release | None:
    """The refusal of every face where there are fewer than k people; None where there are enough."""
    people = people_in(faces.subjects)
    if people >= k:
        return None
    shown = "1 person" if people == 1 else f"{people} people"
    reason = f"k={k} needs at least {k} people; this set shows {shown}. Lower k or add photos."
    none = np.full(len(faces), -1, np.int64)
    return Release(none, none.copy(), no_crops(), dict.fromkeys(range(len(faces)), reason))


def no_crops() -> NDArray[np.uint8]:
    """An empty array of pictures."""
    return np.zeros((0, CROP_SIZE, CROP_SIZE, 3), np.uint8)


def one_each(vectors: Floats, subjects: Iterable[int]) -> Floats:
    """One row per person: the mean of that person's rows, in order of first appearance."""
    who = as_subjects(list(subjects), len(vectors))
    if int(who.max(initial=-1)) + 1 == len(who):
        return vectors
    return np.asarray(subject_means(vectors, who), np.float32)


def find_once(space: SynthesisSpace, faces: FaceSet) -> None:
    """Let the set keep vectors that are dear to find: its groups then have them, and so has the next method."""
    if space.key is not None:
        space.encode(faces)


def mean_face(space: SynthesisSpace, faces: FaceSet) -> Floats:
    """The mean of the people of a group, each counted once, 1 × d."""
    people = one_each(space.encode(faces), faces.subjects)
    return np.asarray(people.mean(axis=0, dtype=np.float64, keepdims=True), np.float32)


def usual_detail(faces: FaceSet) -> float:
    """How strong fine detail is in the middle of a group's faces: the median of its people, one number for all."""
    middle = inner_mask(CROP_SIZE) > 0
    each = np.array([[detail(crop, middle)] for crop in faces.crops], np.float32)
    return float(np.median(one_each(each, faces.subjects)))


def draw(space: SynthesisSpace, vector: Floats, most_detail: float) -> NDArray[np.uint8]:
    """A group's face; where the space draws crisp ones, no sharper than the photos of its members usually are."""
    crop = space.decode(vector.reshape(1, -1))[0]
    return no_sharper(crop, most_detail, inner_mask(CROP_SIZE) > 0) if space.crisp else crop


def draw_means(space: SynthesisSpace, faces: FaceSet, partition: Partition) -> NDArray[np.uint8]:
    """One picture for each group. One group is in memory at a time."""
    find_once(space, faces)
    groups = (faces.take(rows) for rows in partition.groups)
    drawn = [draw(space, mean_face(space, group), usual_detail(group)) for group in groups]
    return np.array(drawn, np.uint8) if drawn else no_crops()


def shared(partition: Partition, crops: NDArray[np.uint8], **more: object) -> Release:
    """Every member of a group is replaced by the group's picture."""
    return Release(partition.labels.copy(), partition.labels.copy(), crops, **more)  # type: ignore[arg-type]


def seed_from(rng: np.random.Generator) -> int:
    """A seed for a grouper; as secret as the generator it comes from."""
    return int(rng.integers(2**63))
