"""Groups that share a released face: cluster-level and database-level re-identification, homogeneity, diversity.

Definitions: AnonFACES (Le et al. 2020), sections 3.3.1, 3.4 and 5.1; identity diversity: StyleID (Le & Carlsson
2022), section 7.3.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from faceveil.evaluation.acquire import Look, Looks
from faceveil.evaluation.attackers import Attacker
from faceveil.evaluation.intervals import mean_by_person, share_by_person
from faceveil.evaluation.people import PhotoPair
from faceveil.evaluation.results import ClusterLevel, Exposed

Floats = NDArray[np.float64]

SAME_FACE = 0.05  # of the threshold: released faces this near are one face, but for compression
UNCHANGED = 0.25  # of the threshold: an original this near to its release was not changed
MOST = 3000  # people in a diversity count, which needs all pairs


def own_distances(looks: Looks, attacker: Attacker) -> Floats:
    """Each original's distance to its own released face; NaN where one of them was not acquired."""
    values = np.full(len(looks.looks), np.nan)
    for row, look in enumerate(looks.looks):
        one, other = (look.vectors.get((view, attacker.id)) for view in ("original", "anonymised"))
        if one is not None and other is not None:
            values[row] = float(attacker.recognizer.distance(one, other))
    return values


def exposed(looks: Looks, attackers: Sequence[Attacker]) -> list[Exposed]:
    """Released faces that a recogniser takes for their own original, the most certain first.

    Of faces too small to tell anyone by, only those that stand unchanged.
    """
    found = _exposed(looks, attackers)
    if looks.small is not None:
        found += [row for row in _exposed(looks.small, attackers) if row[1].unchanged]
    return [one for _, one in sorted(found, key=lambda row: (-len(row[1].recognizers), row[0]))]


def _exposed(looks: Looks, attackers: Sequence[Attacker]) -> list[tuple[float, Exposed]]:
    """Each with its mean distance in thresholds."""
    distances = {one.id: own_distances(looks, one) for one in attackers}
    strict = {
        one.id: one.recognizer.operating.at_rate.get(1e-3, one.recognizer.threshold) for one in attackers
    }
    rows = []
    for row, pair in enumerate(looks.pairs.pairs):
        near = [name for name in distances if distances[name][row] < strict[name]]
        if near:
            ratios = [distances[one.id][row] / one.recognizer.threshold for one in attackers]
            rows.append(
                (float(np.nanmean(ratios)), _named(pair, looks.looks[row], near, max(ratios) < UNCHANGED))
            )
    return rows


def _named(pair: PhotoPair, look: Look, near: list[str], unchanged: bool) -> Exposed:
    box = None if look.original is None else [round(value) for value in look.original.box_xyxy.tolist()]
    return Exposed(pair.name, pair.person, near, bool(unchanged), look.number, look.faces, box)


@dataclass(frozen=True, eq=False)
class Groups:
    """A group number per face; -1 for faces in none."""

    of_photo: NDArray[np.intp]

    @property
    def members(self) -> list[NDArray[np.intp]]:
        return [
            np.flatnonzero(self.of_photo == group) for group in range(int(self.of_photo.max(initial=-1)) + 1)
        ]


def shared_faces(looks: Looks, attackers: Sequence[Attacker]) -> Groups:
    """Groups of faces of several people whose released faces are one face to every recogniser."""
    from scipy.cluster.hierarchy import fcluster, linkage

    count = len(looks.looks)
    seen = [
        row
        for row, look in enumerate(looks.looks)
        if all(("anonymised", one.id) in look.vectors for one in attackers)
    ]
    of_photo = np.full(count, -1, np.intp)
    if len(seen) < 2 or len(seen) > MOST:
        return Groups(of_photo)
    distance: Floats = np.zeros(len(seen) * (len(seen) - 1) // 2)
    for one in attackers:
        rows = np.array([looks.looks[row].vectors["anonymised", one.id] for row in seen])
        distance = np.maximum(distance, _all_pairs(rows, one) / one.recognizer.threshold)
    label = fcluster(linkage(distance, "single"), SAME_FACE, "distance")
    person, number = looks.pairs.person_index, 0
    for group in np.unique(label):
        members = np.array(seen)[label == group]
        if len(np.unique(person[members])) > 1:
            of_photo[members] = number
            number += 1
    return Groups(of_photo)


def cluster_level(looks: Looks, attacker: Attacker, groups: Groups) -> ClusterLevel | None:
    """Who is re-identified inside the groups, and over the whole set; None where no face was acquired at all."""
    distances, person = own_distances(looks, attacker), looks.pairs.person_index
    released = np.array([pair.anonymised is not None for pair in looks.pairs.pairs])
    if not np.isfinite(distances).any():
        return None
    threshold = attacker.recognizer.threshold
    below = np.where(np.isfinite(distances), distances < threshold, False)
    members = groups.members
    rates = [below[rows].mean() for rows in members]
    means = [np.nanmean(distances[rows]) for rows in members if np.isfinite(distances[rows]).any()]
    smallest = min((len(np.unique(person[rows])) for rows in members), default=1)
    return ClusterLevel(
        attacker.id, len(members), smallest,
        float(np.mean(rates)) if rates else float("nan"), float(np.max(rates)) if rates else float("nan"),
        int(sum(mean < threshold for mean in means)),
        share_by_person(below, person, released),
        mean_by_person(distances, person), 1 / smallest,
    )  # fmt: skip


def information_loss(originals: Floats, released: Floats) -> float:
    """Definition 3.2: the mean Euclidean distance of original and de-identified vectors."""
    return float(np.linalg.norm(originals - released, axis=1).mean())


def homogeneity(groups: Groups, labels: Sequence[str | None]) -> float:
    """The share of groups in which an attribute has entropy zero: every known member has the same value."""
    known = [[label for row in rows if (label := labels[row]) is not None] for rows in groups.members]
    known = [values for values in known if values]
    return float(np.mean([entropy(values) == 0 for values in known])) if known else float("nan")


def entropy(values: Sequence[str]) -> float:
    """Shannon's, in bits."""
    _, counts = np.unique(np.array(values), return_counts=True)
    share = counts / counts.sum()
    return float(-(share * np.log2(share)).sum()) + 0.0


def identities(rows: NDArray[np.float32], attacker: Attacker) -> int:
    """How many people a recogniser sees in these faces: groups by average linkage under its threshold."""
    from scipy.cluster.hierarchy import fcluster, linkage

    if len(rows) < 2:
        return len(rows)
    tree = linkage(_all_pairs(rows, attacker), "average")
    return int(fcluster(tree, attacker.recognizer.threshold, "distance").max())


def _all_pairs(rows: NDArray[np.float32], attacker: Attacker) -> Floats:
    """The distance of each two rows, in the order that scipy's linkage wants, one row at a time."""
    parts = [attacker.recognizer.distance(rows[i], rows[i + 1 :]) for i in range(len(rows) - 1)]
    return np.maximum(np.concatenate(parts), 0).astype(np.float64)


def diversity(looks: Looks, attacker: Attacker) -> dict[str, float]:
    """Identities among the released faces and among the originals, one photo per person acquired in both."""
    chosen: dict[int, int] = {}
    for row, (person, look) in enumerate(zip(looks.pairs.person_index, looks.looks, strict=True)):
        if ("original", attacker.id) in look.vectors and ("anonymised", attacker.id) in look.vectors:
            chosen.setdefault(int(person), row)
    picked = list(chosen.values())[:MOST]
    before, after = (
        identities(np.array([looks.looks[row].vectors[view, attacker.id] for row in picked]), attacker)
        for view in ("original", "anonymised")
    )
    return {
        "people": len(picked),
        "originals": before,
        "released": after,
        "ratio": after / before if before else 0.0,
    }
