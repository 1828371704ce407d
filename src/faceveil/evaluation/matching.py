"""All probes against all of a gallery, in blocks, so that memory does not grow with their product.

One pass gives what every figure needs: each probe's distance to its own person, how many people are nearer (its
rank), and histograms of the distances per person. Cost: probes × gallery × dimension multiplications and a few
passes over the distances; 13,000 × 13,000 takes seconds. Memory: one block of `BLOCK` distances and one
coarse histogram per person.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from faceveil.evaluation.rates import Curve, Distances, area, curve, equal_error

Embeddings = NDArray[np.float32]
Ids = NDArray[np.intp]
Floats = NDArray[np.float64]
Measure = Callable[[Embeddings, Embeddings], NDArray[np.float32]]

BLOCK = 8_000_000  # distances at a time, 32 MB
FINE, COARSE = 1 << 16, 1 << 10  # bins: of the figures, and of the bootstrap per person


@dataclass(frozen=True, eq=False)
class Templates:
    """Embeddings with the person and the photo each came from. A row of NaN was not acquired."""

    embeddings: Embeddings
    person: Ids
    photo: Ids

    @property
    def acquired(self) -> NDArray[np.bool_]:
        return np.isfinite(self.embeddings[:, 0])

    def __len__(self) -> int:
        return len(self.person)


@dataclass(frozen=True, eq=False)
class Matches:
    """What one attack found. Arrays are per probe unless said otherwise."""

    probe_person: Ids  # index into `people`
    people: int
    gallery_people: int  # people that could be enrolled
    acquired: NDArray[np.bool_]
    possible: NDArray[
        np.bool_
    ]  # a genuine comparison exists: the person is in the gallery with another photo
    nearest_own: (
        Floats  # distance to the nearest template of the own person; infinity if none could be compared
    )
    better: Ids  # people in the gallery that are nearer than the own one
    tied: Ids  # people at exactly that distance, the own one included; 0 when nothing could be compared
    top_person: Ids  # the nearest person (the first of those tied), -1 when nothing could be compared
    genuine: Distances
    impostor: Distances
    genuine_by_person: Floats  # people × (COARSE + 1): counts per bin, the last one of failed comparisons
    impostor_by_person: Floats
    scale: float  # the largest distance of a histogram

    @property
    def curve(self) -> Curve:
        """The trade-off with failed comparisons counted as not matching."""
        return curve(self.genuine, self.impostor)

    @property
    def curve_acquired(self) -> Curve | None:
        """The trade-off over the comparisons that took place, or None where there is none."""
        genuine, impostor = self.genuine.finite(), self.impostor.finite()
        return curve(genuine, impostor) if genuine.total and impostor.total else None

    def hits(self, rank: int) -> Floats:
        """The chance that the own person is among the first `rank`; ties are broken by a fair draw."""
        inside = np.clip((rank - self.better) / np.maximum(self.tied, 1), 0, 1)
        return np.where(self.tied > 0, inside, 0.0)

    def ranks(self) -> Floats:
        """The expected rank; where nothing could be compared, that of a guess."""
        guess = (self.gallery_people + 1) / 2
        return np.where(self.tied > 0, self.better + (self.tied + 1) / 2, guess)

    def samples(self, drawn: NDArray[np.float32]) -> tuple[Floats, Floats]:
        """EER and AUC of bootstrap samples of people (draws × people)."""
        fmr, fnmr = self._sampled(drawn)
        return equal_error(fmr, fnmr), area(fmr, fnmr)

    def _sampled(self, drawn: NDArray[np.float32]) -> tuple[Floats, Floats]:
        def shares(counts: Floats) -> Floats:
            summed = np.cumsum(drawn @ counts.astype(np.float32), axis=1, dtype=np.float64)
            start = np.zeros((len(drawn), 1))
            return np.concatenate([start, summed / np.maximum(summed[:, -1:], 1e-12)], axis=1)

        return shares(self.impostor_by_person), 1 - shares(self.genuine_by_person)


def match(
    probes: Templates,
    gallery: Templates,
    measure: Measure | None = None,
    *,
    scale: float = 2.0,
    euclidean: bool = False,
    skip_same_photo: bool = False,
) -> Matches:
    """Match every probe with every gallery template.

    `measure(a, b)` broadcasts over all but the last axis; without it the distance is 1 - cosine of unit vectors,
    or Euclidean. `scale` bounds the histogram; larger distances share its last bin. `skip_same_photo` leaves out
    a photo against itself, where both sets hold the same files.
    """
    people, codes = np.unique(np.concatenate([probes.person, gallery.person]), return_inverse=True)
    probe_code, gallery_code = codes[: len(probes)], codes[len(probes) :]
    distance = _measure(measure, euclidean)
    order = np.argsort(gallery_code, kind="stable")
    usable = order[gallery.acquired[order]]
    state = _Pass(probes, gallery, probe_code, gallery_code, usable, len(people), scale, skip_same_photo)
    rows = np.flatnonzero(probes.acquired)
    step = max(1, BLOCK // max(1, len(usable)))
    if len(usable):
        rows = rows[np.argsort(probe_code[rows], kind="stable")]
        for start in range(0, len(rows), step):
            block = rows[start : start + step]
            state.add(block, distance(probes.embeddings[block], gallery.embeddings[usable]))
    return state.result()


def distances(one: Embeddings, other: Embeddings, *, euclidean: bool) -> NDArray[np.float32]:
    """The distance of each row of the one to each of the other; without Euclid 1 - cosine of unit vectors."""
    return _euclidean(one, other) if euclidean else _cosine(one, other)


def _measure(
    measure: Measure | None, euclidean: bool
) -> Callable[[Embeddings, Embeddings], NDArray[np.float32]]:
    if measure is not None:
        return lambda a, b: measure(a[:, None], b[None])
    return _euclidean if euclidean else _cosine


def _cosine(a: Embeddings, b: Embeddings) -> NDArray[np.float32]:
    product = a @ b.T
    np.subtract(1, product, out=product)
    return np.asarray(np.maximum(product, 0, out=product), np.float32)


def _euclidean(a: Embeddings, b: Embeddings) -> NDArray[np.float32]:
    # In float64 where it cancels: the squares are large against the difference of near-equal faces.
    squares = np.sum(a.astype(np.float64) ** 2, 1)[:, None] + np.sum(b.astype(np.float64) ** 2, 1)[None]
    squares -= 2 * (a.astype(np.float64) @ b.T.astype(np.float64))
    return np.asarray(np.sqrt(np.maximum(squares, 0)), np.float32)


class _Pass:
    """Collects the figures while blocks of distances go by."""

    def __init__(
        self, probes: Templates, gallery: Templates, probe_code: Ids, gallery_code: Ids, usable: Ids, people: int,
        scale: float, skip: bool,
    ) -> None:  # fmt: skip
        count = len(probes)
        self.probes, self.gallery, self.skip, self.scale = probes, gallery, skip, scale
        self.probe_code, self.gallery_code, self.people = probe_code, gallery_code, people
        self.photo, self.code = gallery.photo[usable], gallery_code[usable]
        self.enrolled, self.starts = np.unique(self.code, return_index=True)
        self.column = np.full(people, -1)
        self.column[self.enrolled] = np.arange(len(self.enrolled))
        self.nearest = np.full(count, np.inf)
        self.better, self.tied = np.zeros(count, np.intp), np.zeros(count, np.intp)
        self.top = np.full(count, -1, np.intp)
        self.genuine_raw: list[NDArray[np.float32]] = []
        self.impostor_fine = np.zeros(FINE, np.float64)
        self.genuine_coarse = np.zeros((people, COARSE + 1), np.float64)
        self.impostor_coarse = np.zeros((people, COARSE + 1), np.float64)

    def add(self, rows: Ids, distances: NDArray[np.float32]) -> None:
        same = self.probe_code[rows][:, None] == self.code[None]
        itself = self.probes.photo[rows][:, None] == self.photo[None] if self.skip else None
        if itself is not None:
            distances = np.where(itself, np.float32(np.inf), distances)
            same &= ~itself
        self._rank(rows, distances)
        self._count(rows, distances, same, itself)

    def _rank(self, rows: Ids, distances: NDArray[np.float32]) -> None:
        per_person = np.minimum.reduceat(distances, self.starts, axis=1)
        column = self.column[self.probe_code[rows]]
        own = np.where(column >= 0, per_person[np.arange(len(rows)), column], np.inf)
        self.nearest[rows] = own
        self.better[rows] = np.count_nonzero(per_person < own[:, None], axis=1)
        self.tied[rows] = np.where(np.isfinite(own), np.count_nonzero(per_person == own[:, None], axis=1), 0)
        self.top[rows] = self.enrolled[np.argmin(per_person, axis=1)]

    def _count(
        self,
        rows: Ids,
        distances: NDArray[np.float32],
        same: NDArray[np.bool_],
        itself: NDArray[np.bool_] | None,
    ) -> None:
        own_row, own_column = np.nonzero(same)
        genuine = distances[own_row, own_column]
        self.genuine_raw.append(genuine)
        bins = np.minimum(distances * np.float32(FINE / self.scale), np.float32(FINE - 1)).astype(np.int32)
        per_row = np.bincount(
            (np.arange(len(rows), dtype=np.int32)[:, None] * COARSE + bins // (FINE // COARSE)).ravel(),
            minlength=len(rows) * COARSE,
        ).reshape(len(rows), COARSE)
        self.impostor_fine += np.bincount(bins.ravel(), minlength=FINE)
        own_bins = bins[own_row, own_column]
        self.impostor_fine -= np.bincount(own_bins, minlength=FINE)
        own = np.bincount(own_row * COARSE + own_bins // (FINE // COARSE), minlength=len(rows) * COARSE)
        own = own.reshape(len(rows), COARSE)
        others = per_row - own
        if itself is not None:  # a photo against itself fell into the last bin
            self.impostor_fine[-1] -= np.count_nonzero(itself)
            others[:, -1] -= np.count_nonzero(itself, axis=1)
        people, first = np.unique(self.probe_code[rows], return_index=True)  # rows come sorted by person
        self.genuine_coarse[people, :COARSE] += np.add.reduceat(own, first, axis=0)
        self.impostor_coarse[people, :COARSE] += np.add.reduceat(others, first, axis=0)

    def result(self) -> Matches:
        possible, genuine_pairs, impostor_pairs = self._planned()
        genuine = np.concatenate([*self.genuine_raw, np.zeros(0, np.float32)])
        self.genuine_coarse[:, -1] = np.maximum(genuine_pairs - self.genuine_coarse[:, :-1].sum(1), 0)
        self.impostor_coarse[:, -1] = np.maximum(impostor_pairs - self.impostor_coarse[:, :-1].sum(1), 0)
        failed_genuine = self.genuine_coarse[:, -1].sum()
        failed_impostor = self.impostor_coarse[:, -1].sum()
        return Matches(
            self.probe_code, self.people, len(np.unique(self.gallery_code)), self.probes.acquired, possible,
            self.nearest, self.better, self.tied, self.top,
            _with_failed(Distances.of(_snapped(genuine, self.scale)), failed_genuine),
            _with_failed(_histogram(self.impostor_fine, self.scale), failed_impostor),
            self.genuine_coarse, self.impostor_coarse, self.scale,
        )  # fmt: skip

    def _planned(self) -> tuple[NDArray[np.bool_], Floats, Floats]:
        """Whether each probe has a genuine comparison, and per person how many there are, failed ones included."""
        sizes = np.bincount(self.gallery_code, minlength=self.people)
        own = sizes[self.probe_code].astype(np.float64)
        itself = np.zeros(len(self.probes))
        if self.skip:
            order = np.argsort(self.gallery.photo)
            ids = self.gallery.photo[order]
            left = np.searchsorted(ids, self.probes.photo)
            itself = (np.searchsorted(ids, self.probes.photo, side="right") - left).astype(np.float64)
        genuine = np.bincount(self.probe_code, weights=own - itself, minlength=self.people)
        impostor = np.bincount(self.probe_code, weights=len(self.gallery_code) - own, minlength=self.people)
        return own - itself > 0, genuine.astype(np.float64), impostor.astype(np.float64)


def _snapped(distances: NDArray[np.float32], scale: float) -> Floats:
    """Distances at the middle of their fine bin, as the impostors' are, so that equal ones stay equal."""
    bins = np.minimum(distances * np.float32(FINE / scale), np.float32(FINE - 1)).astype(np.int64)
    return np.asarray((bins + 0.5) * (scale / FINE), np.float64)


def _histogram(counts: Floats, scale: float) -> Distances:
    filled = np.flatnonzero(counts > 0)
    return Distances(np.asarray((filled + 0.5) * (scale / FINE), np.float64), counts[filled])


def _with_failed(distances: Distances, failed: float) -> Distances:
    if failed <= 0:
        return distances
    return Distances(np.append(distances.values, np.inf), np.append(distances.counts, failed))
