"""Prove it: attack a release, hold it against a limit, check what it claims."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypedDict, Unpack

from faceveil.api.options import names_of, pixels_of, refuse_unknown
from faceveil.api.places import check_results
from faceveil.evaluation import Options, Results, Verdict
from faceveil.evaluation import certify as judge
from faceveil.evaluation import evaluate as attack
from faceveil.evaluation.gate import check_limit
from faceveil.evaluation.trained import command
from faceveil.pipeline.engines import engine
from faceveil.privacy.verify import Verdict as ReleaseVerdict
from faceveil.privacy.verify import verify as check

Paths = Path | str | Iterable[Path | str]


class JudgingOptions(TypedDict, total=False):
    """How attacks are made, by the names of the command line."""

    subjects: str | Path
    recognizer: str | Iterable[str]
    attack_model: Paths
    used_by_method: str | Iterable[str]
    method_command: str | None
    attacker_faces: Path | str | None
    clusters: Path | str | None
    cache: Path | str | None
    workers: int | None
    progress: Callable[[str, int, int], None]  # called with the stage, how many are done, and of how many


class EvaluationOptions(JudgingOptions, total=False):
    """What evaluate takes besides."""

    groups: Path | str | None
    pairs: Path | str | None
    utility: bool
    restoration: bool
    inception: Path | str | None


def evaluate(
    originals: Path | str,
    anonymized: Path | str,
    *,
    report: Path | str | None = None,
    overwrite: bool = False,
    **options: Unpack[EvaluationOptions],
) -> Results:
    """Attack released photos, whoever made them, with every recogniser at hand; `report` writes the page."""
    refuse_unknown("evaluate", options, {*EvaluationOptions.__annotations__, "report", "overwrite"})
    chosen = options_of(options)
    check_results(Path(originals), Path(anonymized), chosen, (_path(report),), overwrite=overwrite)
    results = attack(Path(originals), Path(anonymized), chosen, options.get("progress"))
    _write_page(report, results, None, overwrite)
    return results


def certify(
    originals: Path | str,
    anonymized: Path | str,
    max_risk: float,
    *,
    report: Path | str | None = None,
    overwrite: bool = False,
    **options: Unpack[JudgingOptions],
) -> Verdict:
    """Whether the worst attack finds at most this share of the people, at the upper end of its interval.

    The verdict is true where it holds, so that `if not faceveil.certify(…)` stops a release.
    """
    refuse_unknown("certify", options, {*JudgingOptions.__annotations__, "max_risk", "report", "overwrite"})
    check_limit(max_risk)
    chosen = replace(options_of(options), utility=report is not None)
    check_results(Path(originals), Path(anonymized), chosen, (_path(report),), overwrite=overwrite)
    results = attack(Path(originals), Path(anonymized), chosen, options.get("progress"))
    verdict = judge(results, max_risk)
    _write_page(report, results, verdict, overwrite)
    return verdict


def verify(released: Path | str, *, workers: int = 1, max_megapixels: int = 200) -> ReleaseVerdict:
    """Compare a released folder, or one photo, with its run.json, and derive its claim of k again.

    The verdict is true where all of it is so.
    """
    chosen = engine("serial" if workers == 1 else "threads", workers)
    return check(released, engine=chosen, max_pixels=pixels_of(max_megapixels))


def options_of(given: Mapping[str, Any]) -> Options:
    """The library's options, from those by the names of the command line."""
    method = given.get("method_command")
    places = {name: _path(given.get(name)) for name in ("groups", "pairs", "clusters", "inception", "cache")}
    return Options(
        subjects=str(given.get("subjects") or "auto"),
        recognizers=names_of(given.get("recognizer")),
        own_models=tuple(map(Path, names_of(given.get("attack_model")))),
        used_by_method=names_of(given.get("used_by_method")),
        utility=given.get("utility", True),
        restoration=given.get("restoration", True),
        method=command(method) if method else None,
        attacker_faces=_path(given.get("attacker_faces")),
        workers=given.get("workers"),
        **places,
    )


def _path(place: Path | str | None) -> Path | None:
    return None if place is None else Path(place)


def _write_page(
    report: Path | str | None, results: Results, verdict: Verdict | None, overwrite: bool
) -> None:
    from faceveil.photos import write_bytes
    from faceveil.report import page

    if report is not None:
        write_bytes(page(results, verdict).encode(), Path(report), overwrite=overwrite)
