"""Sources for StyleID's tests."""

import numpy as np

from faceveil.methods.styleid.targets import Person, pool


def like(target: int) -> Person:
    """Somebody of the same kind as a target."""
    those = pool()
    return Person(
        those.looks[target],
        those.age[target],
        those.female[target],
        those.skin[target],
        those.expression[target].astype(np.float32),
        those.shade[target],
        those.labels[target].astype(np.float32),
    )
