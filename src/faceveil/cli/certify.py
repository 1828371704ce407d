"""faceveil certify: the gate of a release pipeline."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from faceveil.cli.evaluate import (
    Anonymised,
    CacheFile,
    Clusters,
    Command,
    Faces,
    Only,
    Originals,
    Own,
    Subjects,
    Used,
    Workers,
    method_of,
    run,
    write,
)


def certify(
    originals: Originals,
    anonymised: Anonymised,
    max_risk: Annotated[float, typer.Option(help="The share of people that the worst attack may find.")],
    report: Annotated[Path | None, typer.Option(help="Write the page here.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the verdict as JSON.")] = False,
    subjects: Subjects = "auto",
    recognizer: Only = None,
    attack_model: Own = None,
    used_by_method: Used = None,
    method_command: Command = None,
    attacker_faces: Faces = None,
    clusters: Clusters = None,
    cache: CacheFile = None,
    workers: Workers = None,
) -> None:
    """Compare the upper bound of the worst attack with a limit. Exit code 0: it holds; 3: it does not."""
    from faceveil.cli.render import print_json
    from faceveil.errors import UsageError
    from faceveil.evaluation import Options
    from faceveil.evaluation import certify as judge

    if not 0 < max_risk < 1:
        raise UsageError(f"--max-risk is a share between 0 and 1, such as 0.05; {max_risk} is not.")
    options = Options(
        subjects=subjects, recognizers=tuple(recognizer or ()), own_models=tuple(attack_model or ()),
        used_by_method=tuple(used_by_method or ()), utility=report is not None, clusters=clusters,
        method=method_of(method_command), attacker_faces=attacker_faces, cache=cache, workers=workers,
    )  # fmt: skip
    results = run(originals, anonymised, options)
    verdict = judge(results, max_risk)
    write(results, verdict, report, None, None)
    if as_json:
        worst = results.worst
        print_json({
            "passed": verdict.passed, "reason": verdict.sentence, "max_risk": max_risk, "attack": worst.attack,
            "recognizer": worst.recognizer, "found": worst.found.value, "found_high": worst.found.high,
        })  # fmt: skip
    else:
        word, stream = ("passed", sys.stdout) if verdict.passed else ("failed", sys.stderr)
        print(f"{word}: {verdict.sentence}.", file=stream)
    raise typer.Exit(0 if verdict.passed else 3)
