"""Subjects: which faces of a set show one person. k counts people, so several photos of one count once.

auto    faces that a recogniser takes for one person (average linkage under its threshold)
folder  everybody in a folder counts as one; right where nobody is in two folders
each    every face is a person of its own; right where nobody is in two photos
a file  a CSV with the columns photo and subject; everybody in a photo counts as its subject

Taking two people for one is the safe mistake: k then counts fewer than there are. So the threshold of auto is
one at which few people are divided (3 of 60 with several photos in LFW) and some are joined.
"""

import csv
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

import numpy as np
from numpy.typing import NDArray

from faceveil.errors import UsageError
from faceveil.faces.align import Alignment, similarity
from faceveil.faces.face import Floats, Image
from faceveil.models.recognizers import TEMPLATES, recognizer
from faceveil.pipeline.settings import SUBJECT_RECOGNIZER

Ints = NDArray[np.int64]
Embeddings = NDArray[np.float32]
FALSE_MATCHES = 1e-3  # the recogniser's threshold at this false-match rate bounds a person's mean distance


def subjects_of(how: str, photos: Ints, names: Sequence[str], embeddings: Embeddings) -> Ints:
    """One number per face, 0…m−1 in the order of first appearance; `photos` says in which of `names` each is."""
    if how == "auto":
        threshold = recognizer(SUBJECT_RECOGNIZER).operating.at_rate[FALSE_MATCHES]
        return numbered(same_person(embeddings, photos, threshold).tolist())
    if how == "each":
        return np.arange(len(photos))
    if how == "folder":
        parents = [PurePosixPath(name).parent.as_posix() for name in names]
        return numbered([parents[photo] for photo in photos])
    table = _read(Path(how))
    lacking = [names[photo] for photo in photos if names[photo] not in table]
    if lacking:
        raise UsageError(f"{how} names no subject for {lacking[0]}. Give each photo a line: photo,subject.")
    return numbered([table[names[photo]] for photo in photos])


def embed_for_subjects(crop: Image, points: Floats) -> Embeddings:
    """What `auto` compares: the recogniser's numbers for one aligned face (five points in the crop's pixels)."""
    chosen = recognizer(SUBJECT_RECOGNIZER)
    aligned = Alignment(similarity(points, TEMPLATES[chosen.template]), chosen.size)
    return np.asarray(chosen.embed(aligned.crop(crop)[None])[0])


def same_person(embeddings: Embeddings, photos: Ints, threshold: float) -> Ints:
    """Average linkage on cosine distance, cut at the threshold; two faces in one photo are never joined.

    The mean distance of two groups of unit vectors is 1 − (mean of one · mean of the other), so their means are
    enough: O(n·d) memory; O(n²·d) time by chains of nearest neighbours (Murtagh 1983).
    """
    count = len(embeddings)
    means = np.array(embeddings, np.float32)
    sizes = np.ones(count, np.float32)
    alive = np.ones(count, bool)
    group = np.arange(count)  # of each face: the row that stands for its group
    company = [{int(photo)} for photo in photos]  # photos of each group
    in_photo: dict[int, set[int]] = {}  # groups of each photo
    for face, photo in enumerate(photos.tolist()):
        in_photo.setdefault(photo, set()).add(face)
    chain: list[int] = []
    waiting = list(range(count - 1, -1, -1))
    while waiting or chain:
        if not chain:
            chain.append(waiting.pop())
            if not alive[chain[-1]]:
                chain.pop()
                continue
        here = chain[-1]
        distance = 1 - means @ means[here]
        distance[~alive] = np.inf
        distance[here] = np.inf
        distance[[other for photo in company[here] for other in in_photo[photo]]] = np.inf
        nearest = int(distance.argmin())
        # Ties, and rounding that makes a chain bite its tail, go to the one before.
        if len(chain) > 1 and (distance[chain[-2]] <= distance[nearest] or nearest in chain):
            nearest = chain[-2]
        if distance[nearest] >= threshold:  # nothing on this chain can be joined to this one any more
            chain.pop()
            alive[here] = False
            continue
        if len(chain) < 2 or nearest != chain[-2]:
            chain.append(nearest)
            continue
        chain = chain[:-2]
        total = sizes[here] + sizes[nearest]
        means[nearest] = (means[nearest] * sizes[nearest] + means[here] * sizes[here]) / total
        sizes[nearest], alive[here] = total, False
        group[group == here] = nearest
        for photo in company[here]:
            in_photo[photo].discard(here)
            in_photo[photo].add(nearest)
        company[nearest] |= company[here]
        waiting.append(nearest)
    return group


def numbered(labels: Sequence[object]) -> Ints:
    """Labels as 0…m−1 in the order of first appearance."""
    seen: dict[object, int] = {}
    return np.array([seen.setdefault(label, len(seen)) for label in labels], np.int64)


def _read(path: Path) -> dict[str, str]:
    try:
        # Bytes that are no text are kept as they are: names of files are bytes too.
        with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
            reader = csv.DictReader(file)
            rows, columns = list(reader), reader.fieldnames or ()
    except (OSError, csv.Error) as error:
        raise UsageError(f"{path} cannot be read as a CSV file: {error}.") from error
    who = "subject" if "subject" in columns else "person"  # as `faceveil evaluate` names it
    if "photo" not in columns or who not in columns:
        raise UsageError(f"{path} needs the columns photo and subject; it has {', '.join(columns)}.")
    return {row["photo"]: row[who] for row in rows}
