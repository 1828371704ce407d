"""faceveil leaks: what a file carries besides its pixels."""

from pathlib import Path
from typing import Annotated

import typer


def leaks(
    files: Annotated[list[Path], typer.Argument(help="Photos, or folders of photos.", metavar="FILE...")],
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object for machines.")] = False,
) -> None:
    """List what each file carries besides its pixels.

    Exit code: 0 nothing found, 3 something found, 1 a file could not be read, 2 wrong usage.
    """
    from dataclasses import asdict

    from faceveil.errors import PhotoError
    from faceveil.photos import find_photos, scan_leaks

    reports: list[dict[str, object]] = []
    skipped: list[dict[str, str]] = []
    found = unreadable = False
    for listing in [find_photos([file]) for file in files]:
        skipped += [{"file": str(file.path), "reason": file.reason} for file in listing.skipped]
        unreadable |= any(file.unseen for file in listing.skipped)
        for photo in listing.photos:
            try:
                entries = scan_leaks(photo.path)
            except PhotoError as error:
                unreadable = True
                reports.append({"file": str(photo.path), "error": str(error)})
                continue
            found |= bool(entries)
            reports.append({"file": str(photo.path), "leaks": [asdict(leak) for leak in entries]})
    if json:
        _print_json({"files": reports, "skipped": skipped})
    else:
        _print_text(reports, skipped)
    raise typer.Exit(1 if unreadable else 3 if found else 0)


def _print_json(report: dict[str, object]) -> None:
    import json

    typer.echo(json.dumps(report, indent=2))


def _print_text(reports: list[dict[str, object]], skipped: list[dict[str, str]]) -> None:
    from faceveil.photos import shown

    for report in reports:
        if "error" in report:
            typer.echo(shown(f"unreadable: {report['error']}"), err=True)
            continue
        leaks = report["leaks"]
        assert isinstance(leaks, list)
        typer.echo(
            f"{shown(report['file'])}: {'nothing besides pixels' if not leaks else f'{len(leaks)} found'}"
        )
        for leak in leaks:
            line = f"{leak['kind']:<14} {leak['name']} ({leak['size']:,} bytes): {leak['description']}"
            typer.echo(f"  {shown(line)}")
    for file in skipped:
        typer.echo(shown(f"skipped: {file['file']} ({file['reason']})"), err=True)
