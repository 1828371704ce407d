"""Exchange of profiles: age, gender and beard of a new face are those of one of several people, each as likely.

People are grouped by likeness into groups of at least PEOPLE, and in each group the profiles are dealt out anew by
chance. So the profiles of the set stay what they were, and one of them tells no more than the group: l-diversity
(Machanavajjhala et al. 2006) of whose profile it is, with l = PEOPLE.
"""

from dataclasses import astuple

import numpy as np
from numpy.typing import NDArray

from faceveil.errors import GroupingError
from faceveil.grouping import group
from faceveil.methods.company import Profile
from faceveil.privacy.criteria import LDiversity

PEOPLE = 3
UNITS = np.array(astuple(Profile(age=8.0, female=0.25, shade=0.1)))  # what counts as equally unlike


def exchanged(
    profiles: NDArray[np.float64], subjects: NDArray[np.int64], rng: np.random.Generator
) -> tuple[Profile, ...]:
    """Of each person the profile to take on; `profiles` has a row per face, NaN where it could not be measured."""
    own = _of_people(profiles, subjects)
    if len(own) < PEOPLE:
        raise GroupingError(
            f"--privacy high exchanges profiles among at least {PEOPLE} people; this set shows {len(own)}. "
            "Use --privacy medium, or add photos."
        )
    labels = group(own / UNITS, PEOPLE, seed=int(rng.integers(1 << 31))).labels
    donors = np.arange(len(own))
    for number in np.unique(labels):
        donors[labels == number] = rng.permutation(donors[labels == number])
    verdict = LDiversity(donors, PEOPLE, column="profiles").judge(labels)
    if not verdict.holds:
        raise GroupingError(f"{verdict} Nothing is released.")
    return tuple(Profile(*own[donor].tolist()) for donor in donors)


def _of_people(profiles: NDArray[np.float64], subjects: NDArray[np.int64]) -> NDArray[np.float64]:
    """The mean over the faces of each person; who could not be measured gets the mean of all."""
    measured = ~np.isnan(profiles[:, 0])
    whole = profiles[measured].mean(axis=0) if measured.any() else np.zeros(profiles.shape[1])
    rows = [measured & (subjects == person) for person in range(int(subjects.max()) + 1)]
    return np.array([profiles[those].mean(axis=0) if those.any() else whole for those in rows])
