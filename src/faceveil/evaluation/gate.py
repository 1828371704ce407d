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
    check_limit(max_risk)
    if not results.independent:
        sentence = "every recogniser that attacked took part in making the result; add another one"
        return Verdict(False, sentence, max_risk)
    limit, bare = f"the limit is {100 * max_risk:g} %", _still_bare(results)
    if results.risk > max_risk:
        sentence = f"{_worst(results)}; {limit}{_excuse(results, max_risk)}"
        return Verdict(False, f"{sentence}; {bare}" if bare else sentence, max_risk)
    if bare:
        return Verdict(False, bare, max_risk)
    return Verdict(True, f"the worst attack, {_worst(results)}, stays under it: {limit}", max_risk)


def _worst(results: Results) -> str:
    worst, everyone = results.worst, max(one.people for one in results.attacks)
    some = f" with two released photos, of {everyone} in all" if worst.people < everyone else ""
    return worst.sentence + some


def _excuse(results: Results, max_risk: float) -> str:
    """Why a limit may fail although nobody was found."""
    worst = results.worst
    if worst.chance > max_risk:
        return f" (a guess among {worst.gallery_people} people alone finds {100 * worst.chance:.1f} %)"
    if worst.found.value <= max_risk:
        return " (too few people to be sure: the interval reaches over it)"
    return ""


def _still_bare(results: Results) -> str:
    """The faces that were not changed at all, or nothing."""
    unchanged = [found.where for found in results.exposed if found.unchanged]
    if len(unchanged) > 1:
        return f"{len(unchanged)} released faces are still the original ones, the first in {unchanged[0]}"
    return f"one released face is still the original one, in {unchanged[0]}" if unchanged else ""


def check_limit(max_risk: float) -> None:
    """Refuse what is no share, before hours of work."""
    if not 0 < max_risk < 1:
        raise UsageError(f"--max-risk is a share between 0 and 1, such as 0.05; {max_risk} is not.")
