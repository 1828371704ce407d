"""Who is like whom: a recogniser's embedding, and beside it what strikes the eye: gender, age and origin.

A recogniser may lay a man beside a woman or a child beside a grown man; they would get one face, and in the photo of
one of them it would look wrong. So what classifiers see is set beside the embedding, with as much say as COUNTS.
"""

import numpy as np
from numpy.typing import NDArray

from faceveil.methods.styleid.targets import ORIGINS
from faceveil.spaces.attribute import AttributeSpace

Floats = NDArray[np.float32]
LABELLED = (*ORIGINS, "age under 18", "age 60 and over")  # a second word on age: either network errs at times
WORN = ("glasses", "facial hair")  # not grouped by: few would share them
LOOKS = AttributeSpace(("age", "gender", "female", *LABELLED, *WORN))
# Of a whole step from 0 to 1, where the embeddings' spread around their mean is 1: 50 years, or another gender, count
# about as much as being another person. Chosen on 300 people of LFW whom no reported figure is of.
COUNTS = np.array([2.0, 0.7, 0.7, *[0.5] * len(LABELLED), *[0.0] * len(WORN)], np.float32)


def beside(embeddings: Floats, looks: Floats, weight: float) -> Floats:
    """What groups are formed by: embeddings and, `weight` times, looks; 0 leaves the embeddings as they are."""
    if weight == 0:
        return embeddings
    spread = float(np.sqrt(((embeddings - embeddings.mean(axis=0)) ** 2).sum(axis=1).mean()))
    return np.asarray(np.hstack([embeddings / (spread or 1.0), weight * COUNTS * looks]), np.float32)
