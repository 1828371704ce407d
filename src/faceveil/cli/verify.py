"""faceveil verify: is what a released folder claims so?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from faceveil.privacy.verify import Verdict


def verify(
    released: Annotated[
        Path, typer.Argument(help="A folder that faceveil wrote, or one photo.", metavar="OUT")
    ],
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes; the number of cores by default.")
    ] = None,
    max_megapixels: Annotated[int, typer.Option(min=1, help="Refuse larger photos.")] = 200,
    as_json: Annotated[bool, typer.Option("--json", help="Print a machine-readable verdict.")] = False,
) -> None:
    """Compare a release with its run.json, and derive its claim of k again. Exit code 0: all is so; 3: it is not."""
    from dataclasses import asdict

    from faceveil.cli.render import print_json
    from faceveil.models import weights
    from faceveil.models.runtime import usable_cores
    from faceveil.pipeline.engines import engine
    from faceveil.privacy.verify import needed
    from faceveil.privacy.verify import verify as check

    for card in needed(released):
        weights(card)
    workers = workers or usable_cores()
    chosen = engine("serial" if workers == 1 else "processes", workers)
    verdict = check(released, engine=chosen, max_pixels=max_megapixels * 1_000_000)
    if as_json:
        print_json({"holds": verdict.holds, **asdict(verdict)})
    else:
        _print(verdict)
    raise typer.Exit(0 if verdict.holds else 3)


def _print(verdict: "Verdict") -> None:
    for finding in verdict.findings:
        print(f"{finding.kind}: {finding.where}: {finding.reason}")
    for note in verdict.notes:
        print(f"note: {note}")
    print(verdict.sentence.replace(". ", ".\n"))
