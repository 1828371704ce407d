"""faceveil anonymize: photos in, protected photos out."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from faceveil.pipeline import Plan, Settings, Summary


def anonymize(
    photos: Annotated[
        list[Path], typer.Argument(help="Files and folders; folders are searched recursively.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="A folder, or a file for one photo.")],
    method: Annotated[str, typer.Option(help="See 'faceveil methods'.")] = "blackout",
    strength: Annotated[int | None, typer.Option(help="What it means depends on the method.")] = None,
    shape: Annotated[str | None, typer.Option(help="Cover the 'box' or the 'face' shape.")] = None,
    privacy: Annotated[str | None, typer.Option(help="styleid: low, medium or high.")] = None,
    fallback: Annotated[
        str | None, typer.Option(help="styleid: 'blackout' or 'refuse' a face whose check fails.")
    ] = None,
    layers: Annotated[str | None, typer.Option(help="styleid-layers: the slots to swap, as in 4-12.")] = None,
    channels: Annotated[int | None, typer.Option(help="styleid-channels: how many to swap.")] = None,
    region: Annotated[str | None, typer.Option(help="styleid-mask: the region to begin with.")] = None,
    detector: Annotated[
        str, typer.Option(help="yunet, blazeface or haar; another one checks the result.")
    ] = "yunet",
    thorough: Annotated[
        bool, typer.Option("--thorough", help="Scan longer, for faces under 24 px in large photos.")
    ] = False,
    keep_metadata: Annotated[
        list[str] | None, typer.Option(help="Keep this metadata, by name (repeatable); all else is dropped.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Make random draws repeatable.")] = None,
    engine: Annotated[str, typer.Option(help="'processes' or 'serial'.")] = "processes",
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes; the number of cores by default.")
    ] = None,
    max_megapixels: Annotated[int, typer.Option(min=1, help="Refuse larger photos.")] = 200,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a run that was cut off.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace existing output files.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done and write nothing.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print a machine-readable summary.")] = False,
) -> None:
    """Replace every face in photos. Exit code 0: all protected; 1: failure; 2: usage; 3: some quarantined."""
    from faceveil.methods import method as make_method
    from faceveil.pipeline import Settings, make_plan

    settings = Settings(
        method=make_method(
            method,
            strength=strength,
            shape=shape,
            privacy=privacy,
            fallback=fallback,
            layers=layers,
            channels=channels,
            region=region,
        ),
        detector=detector,
        thorough=thorough,
        keep=tuple(keep_metadata or ()),
        max_pixels=max_megapixels * 1_000_000,
        seed=seed,
    )
    plan = make_plan(photos, output)
    if dry_run:
        _print_plan(plan, settings, as_json)
        return
    summary = _run(plan, settings, engine, workers, resume, overwrite)
    _print_summary(summary, as_json)
    raise typer.Exit(summary.exit_code)


def _run(
    plan: "Plan", settings: "Settings", engine: str, workers: int | None, resume: bool, overwrite: bool
) -> "Summary":
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from faceveil.models import weights
    from faceveil.pipeline import run
    from faceveil.pipeline.engines import engine as make_engine

    for card in settings.cards:  # before the workers start, so that each file is fetched once
        weights(card)
    chosen = make_engine(engine, workers)
    if len(plan.jobs) == 1:  # starting processes would take longer than the work
        chosen = make_engine("serial")
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as bar:
        task = bar.add_task("protecting", total=len(plan.jobs))
        return run(
            plan, settings, engine=chosen, resume=resume, overwrite=overwrite,
            progress=lambda outcome: bar.advance(task),
        )  # fmt: skip


def _print_plan(plan: "Plan", settings: "Settings", as_json: bool) -> None:
    pairs = [{"photo": str(job.source), "output": str(job.target)} for job in plan.jobs]
    skipped = [{"file": str(file.path), "reason": file.reason} for file in plan.skipped]
    if as_json:
        print(json.dumps({"would_do": settings.describe(), "photos": pairs, "skipped": skipped}, indent=2))
        return
    for pair in pairs:
        print(f"{pair['photo']} -> {pair['output']}")
    for file in skipped:
        print(f"{file['file']} skipped: {file['reason']}")
    print(f"{len(pairs)} photos would be protected with {settings.method.id}; nothing was written.")


def _print_summary(summary: "Summary", as_json: bool) -> None:
    sources = {job.name: str(job.source) for job in summary.plan.jobs}
    quarantined = [{"file": sources[o.name], "reason": o.reason} for o in summary.quarantined]
    skipped = [{"file": str(file.path), "reason": file.reason} for file in summary.plan.skipped]
    notes = [{"file": sources[o.name], "note": note} for o in summary.outcomes for note in o.notes]
    if as_json:
        print(json.dumps({
            "output": str(summary.plan.output), "manifest": str(summary.plan.manifest),
            **summary.settings.describe(), "guarantee": summary.settings.method.guarantee.sentence,
            "counts": summary.counts(), "quarantined": quarantined, "skipped": skipped, "notes": notes,
            "seconds": round(summary.seconds, 3),
        }, indent=2))  # fmt: skip
        return
    counts = summary.counts()
    for entry in quarantined:
        print(f"quarantined: {entry['file']}: {entry['reason']}", file=sys.stderr)
    for entry in notes:
        print(f"note: {entry['file']}: {entry['note']}", file=sys.stderr)
    print(
        f"{counts['faces']} faces in {counts['protected']} photos protected with {summary.settings.method.id}, "
        f"{counts['without_a_face']} photos without a face, {counts['quarantined']} quarantined, "
        f"{counts['skipped_files']} other files skipped: {summary.plan.output}"
    )
    print(summary.settings.method.guarantee.sentence)
