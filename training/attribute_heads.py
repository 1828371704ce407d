"""AttrNet's linear heads: logistic regressions on frozen features.

They see the principal axes of MobileNetV2's maps and, beside them, the recogniser's last two layers. How strict
a head is and how much the recogniser weighs in it is chosen by cross-validation among the training photos; copies of
one photo are always on the same side of it.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedGroupKFold, cross_val_score

from faceveil.models.torch.attrnet import MAPS

Floats = NDArray[np.float32]

AXES = 600
SPREAD = 10.0  # of the first axis
FLOORS = (0.05, 0.001)  # of the spread of a map's and of a recogniser's feature
COSTS = (0.0003, 0.001, 0.003, 0.01, 0.1)
EMPHASES = (0.0, 0.3, 1.0)  # of the recogniser's features, as a factor of their scale
FOLDS = 3
MOST = 5000  # faces that the choice is made on


@dataclass(frozen=True, eq=False)
class Axes:
    """From features to what the heads see."""

    mean: Floats
    scale: Floats
    maps: Floats  # AXES × MAPS

    @classmethod
    def of(cls, sample: Floats) -> "Axes":
        """As these faces' features vary."""
        floors = np.repeat(np.float32(FLOORS), (MAPS, sample.shape[1] - MAPS))
        mean, scale = sample.mean(axis=0), sample.std(axis=0) + floors
        found = PCA(AXES, svd_solver="randomized", iterated_power=2, random_state=0)
        found.fit(((sample - mean) / scale)[:, :MAPS])
        return cls(mean, scale, found.components_ * (SPREAD / np.sqrt(found.explained_variance_[0])))

    def codes(self, features: Floats) -> Floats:
        """N × (AXES + the recogniser's features)."""
        scaled = (features - self.mean) / self.scale
        return np.concatenate([scaled[:, :MAPS] @ self.maps.T, scaled[:, MAPS:]], axis=1)

    def emphasised(self, emphasis: float) -> Floats:
        """A factor for each column of the codes."""
        return np.repeat(np.float32([1, emphasis]), (AXES, len(self.mean) - MAPS))

    def on_features(self, slopes: Floats) -> Floats:
        """Slopes on the codes as slopes on the scaled features."""
        return np.concatenate([slopes[:, :AXES] @ self.maps, slopes[:, AXES:]], axis=1)


@dataclass(frozen=True, eq=False)
class Head:
    """One logistic regression on codes, and what was chosen for it."""

    slopes: Floats
    intercept: Floats
    cost: float
    emphasis: float


def fit_head(axes: Axes, codes: Floats, classes: NDArray[np.int64], photos: NDArray[np.str_]) -> Head:
    """The regression whose cost and, given that, whose emphasis foretells photos best that it has not seen."""
    some = np.random.default_rng(0).permutation(len(codes))[:MOST]

    def error(cost: float, emphasis: float) -> float:
        seen = codes[some] * axes.emphasised(emphasis) if emphasis else codes[some, :AXES]
        folds = StratifiedGroupKFold(FOLDS)
        found = cross_val_score(
            _regression(cost), seen, classes[some], groups=photos[some], cv=folds, scoring="neg_log_loss"
        )
        return -float(found.mean())

    cost = min(COSTS, key=lambda cost: error(cost, EMPHASES[-1]))
    emphasis = min(EMPHASES, key=lambda emphasis: error(cost, emphasis))
    factor = axes.emphasised(emphasis)
    found = _regression(cost).fit(codes * factor, classes)
    return Head(found.coef_ * factor, found.intercept_, cost, emphasis)


def _regression(cost: float) -> LogisticRegression:
    return LogisticRegression(C=cost, max_iter=500, tol=1e-3)
