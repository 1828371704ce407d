"""The gate: does the upper bound of the worst attack stay under the limit?"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from faceveil.errors import UsageError
from faceveil.evaluation.results import Results
from faceveil.show import Displayed, Table


@dataclass(frozen=True, repr=False)
class Verdict(Displayed):
    """Passed or not, and why, in one sentence. It is true where it passed."""

    passed: bool
    sentence: str
    limit: float

    def __bool__(self) -> bool:
        return self.passed

    def table(self) -> Table:
        """The sentence."""
        return Table(f"{'passed' if self.passed else 'failed'}: {self.sentence}.")


def certify(results: Results, max_risk: float) -> Verdict:
    """Judge results by the share of people that the worst attack may find, at the upper end of its interval."""
    check_limit(max_risk)
    if not results.independent:
        sentence = "every recogniser that attacked took part in making the result; add another one"
        return Verdict(False, sentence, max_risk)
    limit = f"the limit is {100 * max_risk:g} %"
    over = f"{_worst(results)}; {limit}{_excuse(results, max_risk)}" if results.risk > max_risk else ""
    failures = [one for one in (over, _still_bare(results), *failures_at_any_limit(results)) if one]
    if failures:
        return Verdict(False, "; ".join(failures), max_risk)
    said = [f"the worst attack, {_worst(results)}, stays under it: {limit}", *left_out(results)]
    return Verdict(True, "; ".join(said), max_risk)


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


def failures_at_any_limit(results: Results) -> Iterator[str]:
    """Original faces under any name, and what was released but could not be judged."""
    if results.shown:
        first, pictures = results.shown[0].sentence, len({one.released for one in results.shown})
        count = "a released picture shows" if pictures == 1 else f"{pictures} released pictures show"
        yield f"{count} an original face that does not belong there, the first: {first}"
    if results.unreadable:
        reason = results.unreadable[0].rstrip(".")
        yield f"{_files(results.unreadable)} cannot be read, the first: {reason}"
    if results.unpaired:
        yield f"{_files(results.unpaired, 'has', 'have')} no original, the first: {results.unpaired[0]}"
    if results.uncompared:
        first = results.uncompared[0]
        yield f"{_files(results.uncompared, 'has', 'have')} an original that cannot be read, the first: {first}"


def left_out(results: Results) -> Iterator[str]:
    """What nothing is said about, in numbers."""
    if results.withheld:
        verb = "was" if results.withheld == 1 else "were"
        yield f"{results.withheld} of {results.photos} originals {verb} not released"
    if results.not_found_in_original:
        yield f"in {results.not_found_in_original} no face was found, so nothing is said of them"
    if results.other_files:
        yield f"{_files(results.other_files, 'is no picture', 'are no pictures')} and not looked at"


def _files(names: Sequence[str], one: str = "", several: str = "") -> str:
    """So many files of the release, and the verb that goes with the number."""
    files, verb = ("file", one) if len(names) == 1 else ("files", several)
    return f"{len(names)} {files} of the release {verb}".rstrip()


def check_limit(max_risk: float) -> None:
    """Refuse what is no share, before hours of work."""
    if not 0 < max_risk < 1:
        raise UsageError(f"--max-risk is a share between 0 and 1, such as 0.05; {max_risk} is not.")
