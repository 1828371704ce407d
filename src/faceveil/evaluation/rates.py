"""Verification error rates from distances: FMR, FNMR, EER, DET, ROC, AUC.

Two faces match when their distance is *below* the threshold. A comparison that could not take place, because one
face was not acquired, has the distance infinity: it never matches, and it is counted. With such comparisons the
rates are the generalised ones of ISO/IEC 19795-1 (GFAR, GFRR); without them they are FMR and FNMR.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Distances:
    """Distances with how often each occurred, ascending; a histogram is the same thing with many per value."""

    values: Floats
    counts: Floats

    @classmethod
    def of(cls, raw: NDArray[np.floating]) -> "Distances":
        """Every distance that occurred; NaN is refused."""
        if np.isnan(raw).any():
            raise ValueError("a distance is not a number; a failed comparison has the distance infinity")
        values, counts = np.unique(np.asarray(raw, np.float64), return_counts=True)
        return cls(values, counts.astype(np.float64))

    @property
    def total(self) -> float:
        return float(self.counts.sum())

    def below(self, thresholds: NDArray[np.floating] | float) -> Floats:
        """The share of comparisons below each threshold."""
        cumulated = np.concatenate([[0.0], np.cumsum(self.counts)])
        share: Floats = cumulated[np.searchsorted(self.values, thresholds, side="left")] / self.total
        return share

    def finite(self) -> "Distances":
        """Without the comparisons that did not take place."""
        kept = np.isfinite(self.values)
        return Distances(self.values[kept], self.counts[kept])


@dataclass(frozen=True, eq=False)
class Curve:
    """FMR and FNMR at every threshold that makes a difference, from "nothing matches" to "everything does"."""

    thresholds: Floats
    fmr: Floats
    fnmr: Floats

    @property
    def auc(self) -> float:
        """The area under the ROC: how often a genuine pair is nearer than an impostor pair (a tie is half)."""
        return float(area(self.fmr, self.fnmr))

    @property
    def eer(self) -> float:
        """Where FMR and FNMR are equal, on the straight line between the two neighbouring thresholds."""
        return float(equal_error(self.fmr, self.fnmr))

    def fnmr_at_fmr(self, rate: float) -> float:
        """The smallest FNMR whose FMR does not exceed the rate."""
        return float(self.fnmr[np.searchsorted(self.fmr, rate, side="right") - 1])

    def thinned(self, points: int = 400) -> "Curve":
        """At most so many points, evenly spread over both axes' logarithms, for drawing."""
        if len(self.fmr) <= points:
            return self
        grid = np.concatenate([np.geomspace(1e-6, 1, points // 2), 1 - np.geomspace(1e-6, 1, points // 2)])
        by_fmr = np.searchsorted(self.fmr, grid, side="right") - 1
        by_fnmr = np.searchsorted(-self.fnmr, -grid)
        ends = [0, len(self.fmr) - 1]
        kept = np.unique(np.clip(np.concatenate([by_fmr, by_fnmr, ends]), 0, len(self.fmr) - 1))
        return Curve(self.thresholds[kept], self.fmr[kept], self.fnmr[kept])


def curve(genuine: Distances, impostor: Distances) -> Curve:
    """The trade-off over all thresholds. Cost: one sort of both, linear afterwards."""
    if genuine.total == 0 or impostor.total == 0:
        raise ValueError("a curve needs genuine and impostor comparisons; one of them has none")
    values = np.union1d(genuine.values, impostor.values)
    # A threshold just above each value; the last one lets everything match, also what was never acquired.
    thresholds = np.concatenate([values[:1], np.nextafter(values, np.inf)])
    fmr = np.concatenate([[0.0], _cumulated(impostor, values)])
    fnmr = 1 - np.concatenate([[0.0], _cumulated(genuine, values)])
    return Curve(thresholds, fmr, np.clip(fnmr, 0, 1))


def _cumulated(distances: Distances, values: Floats) -> Floats:
    cumulated = np.concatenate([[0.0], np.cumsum(distances.counts)])
    share: Floats = cumulated[np.searchsorted(distances.values, values, side="right")] / distances.total
    return share


def equal_error(fmr: Floats, fnmr: Floats) -> Floats:
    """The equal error rate of curves along the last axis (FMR rising from 0, FNMR falling to 0)."""
    gap = fmr - fnmr
    after = np.argmax(gap >= 0, axis=-1)[..., None]
    before = np.maximum(after - 1, 0)

    def at(array: Floats, index: NDArray[np.intp]) -> Floats:
        return np.take_along_axis(array, index, -1)[..., 0]

    low, high = at(gap, before), at(gap, after)
    step = np.where(high > low, -low / np.where(high > low, high - low, 1), 0.0)
    rate: Floats = at(fmr, before) + step * (at(fmr, after) - at(fmr, before))
    return rate


def area(fmr: Floats, fnmr: Floats) -> Floats:
    """The area under the ROC of curves along the last axis."""
    hit = 1 - fnmr
    return np.asarray(np.sum(np.diff(fmr, axis=-1) * (hit[..., 1:] + hit[..., :-1]) / 2, axis=-1))


def probit(rate: Floats | float) -> Floats:
    """The axis of a DET plot: the quantile of the normal distribution."""
    from scipy.special import ndtri

    return np.asarray(ndtri(rate), np.float64)
