"""The IA score: how much of the identity a change took, less how much of the rest (StyleID, equation 3).

score = α · h(Δ_identity) − β · h(Δ_attributes),   α = 1, β = 1.25, h: max–min scaling over what is compared
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from faceveil.faces.attributes import Attributes

ALPHA, BETA = 1.0, 1.25
Floats = NDArray[np.float64]
Embeddings = Mapping[str, NDArray[np.float32]]  # recogniser → embedding of one face


def identity_distance(one: Embeddings, other: Embeddings) -> float:
    """Euclidean distance of embeddings of length one, the mean over the recognisers."""
    gaps = [np.linalg.norm(_unit(one[name]) - _unit(other[name])) for name in one]
    return float(np.mean(gaps))


def attribute_distance(one: Attributes, other: Attributes) -> float:
    """Euclidean distance of attributes as numbers from 0 to 1: age, gender, seven expressions."""
    return float(np.linalg.norm(_vector(one) - _vector(other)))


def ia_scores(identity: Floats, attributes: Floats, alpha: float = ALPHA, beta: float = BETA) -> Floats:
    """One score for each change; both distances are scaled over all of them."""
    return np.asarray(alpha * _scaled(identity) - beta * _scaled(attributes))


def _scaled(values: Floats) -> Floats:
    low, high = float(np.min(values)), float(np.max(values))
    return np.asarray((values - low) / (high - low)) if high > low else np.zeros_like(values)


def _vector(seen: Attributes) -> Floats:
    return np.append([seen.age / 80, seen.female], seen.expression)


def _unit(embedding: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.asarray(embedding / max(float(np.linalg.norm(embedding)), 1e-12), np.float32)
