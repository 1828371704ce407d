"""People who do not exist and suit a group: of its gender, near its age and origin, with glasses and beards where its
members have them, in the colours of its mix.

They come from the pool of generated faces that ships for StyleID, each measured once and embedded by each
recogniser, so nobody is proposed whom a recogniser would take for a member. Which of the likest are taken is
left to chance.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from faceveil.faces.attributes import OLDEST
from faceveil.methods.likeness import LABELLED, WORN
from faceveil.methods.styleid.targets import LABELS, ORIGINS, SURE, Pool, pool
from faceveil.models.mobilestylegan import SLOTS
from faceveil.spaces.embedding import EmbeddingSpace

Floats = NDArray[np.float32]
LIKEST = 12  # of the pool, from which strangers are drawn
COLOUR_SLOTS = 13  # from here on W+ styles colour, skin and light
# Years, probability and degrees that count as one step of unlikeness.
AGE_UNIT, TURN_UNIT = 8.0, 15.0
LABEL_UNITS = np.array([0.15 if name in ORIGINS else 0.3 for name in (*LABELLED, *WORN)])
KNOWN = [LABELS.index(name) for name in (*LABELLED, *WORN)]
CLEAR = 0.1  # of a threshold: a stranger this far beyond it stays beyond it in other colours
TOO_LIKE = 1e3  # unlikeness: after all others of the gender
# Of a threshold: who is nearer to a member than FAR suits less, a step for each FAR_UNIT; so that a recogniser which
# does not watch seldom takes a stranger for a member (docs/benchmarks/anonfaces.md).
FAR, FAR_UNIT = 0.3, 0.05


def strangers_like(
    looks: Floats, margins: Floats, latent: Floats, count: int, rng: np.random.Generator
) -> Floats:
    """`count` codes of people who do not exist, like the members as classifiers see them.

    `looks` has a row of LOOKS for each member, `margins` says of each in the pool how far beyond the recognisers'
    thresholds it is from the nearest member.
    """
    chosen = rng.choice(likest(looks, margins), count, replace=False)
    codes = pool().codes[chosen]
    codes[:, COLOUR_SLOTS:] = latent.reshape(SLOTS, -1)[COLOUR_SLOTS:]
    return np.asarray(codes.reshape(count, -1), np.float32)


def likest(looks: Floats, margins: Floats) -> NDArray[np.int64]:
    """The places in the pool from which strangers are drawn."""
    unlike = _unlikeness(looks, pool())
    unlike += (np.maximum(FAR - margins, 0) / FAR_UNIT) ** 2
    unlike[margins < CLEAR] += TOO_LIKE
    return np.argsort(unlike, kind="stable")[:LIKEST]


def margins_of_pool(known: Mapping[str, Floats]) -> Floats:
    """How far beyond the thresholds each of the pool is from the nearest member; `known`: recogniser → embeddings."""
    made_up = pool()
    worst = np.full(len(made_up), np.inf, np.float32)
    for name, members in known.items():
        network = EmbeddingSpace(name).network
        far = network.distance(made_up.embeddings[name][:, None], members[None])
        worst = np.minimum(worst, far.min(axis=1) / network.threshold - 1)
    return worst


def _unlikeness(looks: Floats, made_up: Pool) -> NDArray[np.float64]:
    """How badly each of the pool suits the members' mean: who looks straight ahead suits any head, the other gender
    never suits."""
    age, gender, female, *labels = looks.mean(axis=0)
    total = ((made_up.age - age * OLDEST) / AGE_UNIT) ** 2
    total += (((made_up.labels[:, KNOWN] - labels) / LABEL_UNITS) ** 2).sum(axis=1)
    total += ((made_up.looks[:, :2] / TURN_UNIT) ** 2).sum(axis=1)  # yaw and pitch
    same = made_up.female > SURE if gender + female > 1 else made_up.female < 1 - SURE
    return np.where(same, total, np.inf)
