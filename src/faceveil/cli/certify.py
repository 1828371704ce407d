"""faceveil certify: the gate of a release pipeline."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from faceveil.cli.judging import (
    Anonymised,
    Originals,
    Overwrite,
    Report,
    run,
    with_shared_options,
    write_page,
)

if TYPE_CHECKING:
    from faceveil.evaluation import Options


@with_shared_options
def certify(
    originals: Originals,
    anonymised: Anonymised,
    max_risk: Annotated[float, typer.Option(help="The share of people that the worst attack may find.")],
    options: "Options",
    report: Report = None,
    overwrite: Overwrite = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the verdict as JSON.")] = False,
) -> None:
    """Compare the upper bound of the worst attack with a limit. Exit code 0: it holds; 3: it does not."""
    from dataclasses import asdict, replace

    from faceveil.api.places import check_results
    from faceveil.cli.render import painted, print_json
    from faceveil.evaluation.gate import certify as judge
    from faceveil.evaluation.gate import check_limit

    check_limit(max_risk)
    check_results(originals, anonymised, options, (report,), overwrite=overwrite)
    results = run(originals, anonymised, replace(options, utility=report is not None))
    verdict = judge(results, max_risk)
    write_page(results, verdict, report, overwrite=overwrite)
    if as_json:
        worst = results.worst
        print_json({
            "passed": verdict.passed, "reason": verdict.sentence, "max_risk": max_risk, "attack": worst.attack,
            "recognizer": worst.recognizer, "found": worst.found.value, "found_high": worst.found.high,
            "risk": results.risk, "shown": [asdict(one) for one in results.shown],
            "unreadable": results.unreadable, "unpaired": results.unpaired, "uncompared": results.uncompared,
            "withheld": results.withheld, "not_found_in_original": results.not_found_in_original,
        })  # fmt: skip
    else:
        word, stream = ("passed", sys.stdout) if verdict.passed else ("failed", sys.stderr)
        colour = "green" if verdict.passed else "red"
        print(f"{painted(f'{word}:', colour, stream)} {verdict.sentence}.", file=stream)
    raise typer.Exit(0 if verdict.passed else 3)
