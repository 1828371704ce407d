"""The gate: does the upper bound of the worst attack stay under the limit?"""

from dataclasses import dataclass

from faceveil.errors import UsageError
from faceveil.evaluation.results import Results


@dataclass(frozen=True)
class Verdict:
    """Passed or not, and why, in one sentence."""

    passed: bool
    sentence: str
    limit: float


def certify(results: Results, max_risk: float) -> Verdict:
    """Judge results by the share of people that the worst attack may find, at the upper end of its interval."""
    if not 0 < max_risk < 1:
        raise UsageError(f"--max-risk is a share between 0 and 1, such as 0.05; {max_risk} is not.")
    worst, limit = results.worst, f"the limit is {100 * max_risk:g} %"
    if not results.independent:
        sentence = "every recogniser that attacked took part in making the result; add another one"
        return Verdict(False, sentence, max_risk)
    unchanged = [found for found in results.exposed if found.unchanged]
    if worst.found.high > max_risk:
        sentence = f"{worst.sentence}; {limit}"
        if worst.chance > max_risk:
            sentence += (
                f" (a guess among {worst.gallery_people} people alone finds {100 * worst.chance:.1f} %)"
            )
        elif worst.found.value <= max_risk:
            sentence += " (too few people to be sure: the interval reaches over it)"
        return Verdict(False, sentence, max_risk)
    if unchanged:
        first = unchanged[0].where
        sentence = f"the released photo still shows the original face: {first}"
        if len(unchanged) > 1:
            sentence = f"{len(unchanged)} released faces are still the original ones, the first in {first}"
        return Verdict(False, sentence, max_risk)
    return Verdict(True, f"the worst attack, {worst.sentence}, stays under it: {limit}", max_risk)
