"""People who do not exist and suit a group: of its gender, near its age and origin, in the colours of its mix.

They come from the pool of generated faces that ships for StyleID, each measured once and embedded by each
recogniser, so nobody is proposed whom a recogniser would take for a member. Which of the likest are taken is
left to chance.
"""

import numpy as np
from numpy.typing import NDArray

from faceveil.faces import FaceSet
from faceveil.faces.attributes import OLDEST
from faceveil.methods.sets import one_each
from faceveil.methods.styleid.targets import LABELS, ORIGINS, SURE, Pool, pool
from faceveil.models.generator import as_wplus
from faceveil.models.mobilestylegan import SLOTS
from faceveil.spaces.attribute import AttributeSpace

Floats = NDArray[np.float32]
LIKEST = 24  # of the pool, from which strangers are drawn
COLOUR_SLOTS = 13  # from here on W+ styles colour, skin and light
# Years, probability and degrees that count as one step of unlikeness.
AGE_UNIT, LABEL_UNIT, TURN_UNIT = 8.0, 0.3, 15.0
CLEAR = 0.15  # of a threshold: a stranger this far beyond it stays beyond it in other colours
TOO_LIKE = 1e3  # unlikeness: after all others of the gender

LABELLED = (*ORIGINS, "age under 18", "age 60 and over")  # a second word on age: either network errs at times
LOOKS = AttributeSpace(("age", "gender", *LABELLED))


def strangers_like(
    members: FaceSet, margins: NDArray[np.float32], latent: Floats, count: int, rng: np.random.Generator
) -> Floats:
    """`count` codes of people who do not exist, like these members as classifiers see them.

    `margins` says of each in the pool how far beyond the recognisers' thresholds it is from the nearest member.
    """
    made_up = pool()
    unlike = _unlikeness(members, made_up)
    unlike[margins < CLEAR] += TOO_LIKE
    likest = np.argsort(unlike, kind="stable")[:LIKEST]
    chosen = rng.choice(likest, count, replace=False)
    codes = as_wplus(made_up.w[chosen]).reshape(count, SLOTS, -1).copy()
    codes[:, COLOUR_SLOTS:] = latent.reshape(SLOTS, -1)[COLOUR_SLOTS:]
    return np.asarray(codes.reshape(count, -1), np.float32)


def _unlikeness(members: FaceSet, made_up: Pool) -> NDArray[np.float64]:
    """How badly each of the pool suits the members' mean: who looks straight ahead suits any head, the other gender
    never suits."""
    age, female, *labels = one_each(LOOKS.encode(members), members.subjects).mean(axis=0)
    total = ((made_up.age - age * OLDEST) / AGE_UNIT) ** 2
    known = made_up.labels[:, [LABELS.index(name) for name in LABELLED]]
    total += (((known - labels) / LABEL_UNIT) ** 2).sum(axis=1)
    total += ((made_up.looks[:, :2] / TURN_UNIT) ** 2).sum(axis=1)  # yaw and pitch
    same = made_up.female > SURE if female > 0.5 else made_up.female < 1 - SURE
    return np.where(same, total, np.inf)
