"""The IA score: how much of the identity a change took, less how much of the rest (StyleID, equation 3).

score = α · h(Δ_identity) − β · h(Δ_attributes),   α = 1, β = 1.25, h: max–min scaling over what is compared

IdNet is any set of recognisers, AttrNet the attribute space of `faces.attributes`: labels and expressions, 0 to 1.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from faceveil.faces.attributes import attribute_vector
from faceveil.faces.face import Image
from faceveil.methods.styleid.check import embeddings
from faceveil.methods.styleid.looks import face_in_crop

ALPHA, BETA = 1.0, 1.25
Floats = NDArray[np.float64]
Embeddings = Mapping[str, NDArray[np.float32]]  # recogniser → embedding of one face


@dataclass(frozen=True, eq=False)
class Reading:
    """What the networks see in one face."""

    identity: Embeddings
    attributes: NDArray[np.float32]


def read(crop: Image, recognizers: Sequence[str]) -> Reading:
    """Look at an aligned face."""
    face = face_in_crop(crop)
    return Reading(embeddings(crop, face, recognizers), attribute_vector(crop, face))


def gaps(one: Reading, other: Reading) -> tuple[float, float]:
    """The distances of identity and of attributes."""
    return identity_distance(one.identity, other.identity), attribute_distance(
        one.attributes, other.attributes
    )


def identity_distance(one: Embeddings, other: Embeddings) -> float:
    """Euclidean distance of embeddings of length one, the mean over the recognisers."""
    distances = [np.linalg.norm(_unit(one[name]) - _unit(other[name])) for name in one]
    return float(np.mean(distances))


def attribute_distance(one: NDArray[np.float32], other: NDArray[np.float32]) -> float:
    """Euclidean distance of attributes as numbers from 0 to 1."""
    return float(np.linalg.norm(one - other))


def ia_scores(identity: Floats, attributes: Floats, alpha: float = ALPHA, beta: float = BETA) -> Floats:
    """One score for each change; both distances are scaled over all of them."""
    return np.asarray(alpha * _scaled(identity) - beta * _scaled(attributes))


def _scaled(values: Floats) -> Floats:
    low, high = float(np.min(values)), float(np.max(values))
    return np.asarray((values - low) / (high - low)) if high > low else np.zeros_like(values)


def _unit(embedding: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.asarray(embedding / max(float(np.linalg.norm(embedding)), 1e-12), np.float32)
