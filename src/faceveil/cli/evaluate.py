"""faceveil evaluate: attack a result, whoever made it, and say what was found."""

import sys
from contextlib import suppress
from pathlib import Path
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
    from faceveil.evaluation import Options, Results
    from faceveil.report import Picture

MOST_NAMES = 15


@with_shared_options
def evaluate(
    originals: Originals,
    anonymised: Anonymised,
    options: "Options",
    report: Report = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write the results here; '-' prints them.")
    ] = None,
    groups: Annotated[Path | None, typer.Option(help="CSV: photo, then one column per attribute.")] = None,
    pairs: Annotated[Path | None, typer.Option(help="A pairs.txt as LFW's: run its protocol too.")] = None,
    utility: Annotated[bool, typer.Option(help="Measure what is left of the photos' use.")] = True,
    restoration: Annotated[bool, typer.Option(help="Also attack after undoing blur and pixels.")] = True,
    inception: Annotated[
        Path | None, typer.Option(help="Weights of FID's InceptionV3 (.pth): give the true FID too.")
    ] = None,
    max_risk: Annotated[float | None, typer.Option(help="Show on the page whether this limit holds.")] = None,
    with_pictures: Annotated[bool, typer.Option("--with-pictures", help="Show samples on the page.")] = False,
    overwrite: Overwrite = False,
) -> None:
    """Attack released photos with every recogniser at hand; every rate comes with its interval."""
    from dataclasses import replace

    from faceveil.api.places import check_results
    from faceveil.evaluation.gate import certify, check_limit

    if max_risk is not None:
        check_limit(max_risk)
    options = replace(
        options, groups=groups, pairs=pairs, utility=utility, restoration=restoration, inception=inception
    )
    check_results(originals, anonymised, options, (report, json_file), overwrite=overwrite)
    results = run(originals, anonymised, options)
    verdict = certify(results, max_risk) if max_risk is not None else None
    samples = _samples(originals, anonymised) if with_pictures and report else None
    write_page(results, verdict, report, samples, overwrite=overwrite)
    if json_file == Path("-"):
        print(results.to_json(), end="")
        return
    if json_file is not None:
        from faceveil.photos import write_bytes

        write_bytes(results.to_json().encode(), json_file, overwrite=overwrite)
    _print(results)


def _samples(originals: Path, anonymised: Path, count: int = 12) -> "list[Picture]":
    """A few pairs, spread over the set, as small JPEGs."""
    import io

    from PIL import Image

    from faceveil.errors import PhotoError
    from faceveil.evaluation.people import pair_photos
    from faceveil.photos import read_photo
    from faceveil.report import Picture

    def small(path: Path) -> bytes:
        picture, out = Image.fromarray(read_photo(path).pixels), io.BytesIO()
        picture.thumbnail((260, 260))
        picture.save(out, "JPEG", quality=85)
        return out.getvalue()

    pairs = [
        (pair.name, pair.original, pair.anonymised)
        for pair in pair_photos(originals, anonymised, "each").pairs
        if pair.anonymised
    ]
    samples, step = [], max(1, len(pairs) // count)
    for name, before, after in pairs[::step][:count]:
        with suppress(PhotoError):  # those are named elsewhere
            samples.append(Picture(name, small(before), small(after)))
    return samples


def _print(results: "Results") -> None:
    from faceveil.cli.render import print_table
    from faceveil.evaluation.gate import failures_at_any_limit, left_out
    from faceveil.evaluation.results import ATTACK_COLUMNS

    print_table(ATTACK_COLUMNS, [one.row for one in (*results.attacks, *results.baseline)])
    for text in results.warnings:
        print(f"warning: {text}", file=sys.stderr)
    unchanged = [one.where for one in results.exposed if one.unchanged]
    if unchanged:
        named = ", ".join(unchanged[:5]) + (" …" if len(unchanged) > 5 else "")
        print(f"Released faces that are still the original ones: {len(unchanged)}, in {named}")
    for text in (*failures_at_any_limit(results), *left_out(results)):
        print(text[:1].upper() + text[1:] + ".")
    for one in results.shown[:MOST_NAMES]:
        print(f"  {one.sentence}")
    print(
        f"{results.people} people, {results.faces} faces, {results.released} released photos. "
        f"The worst attack: {results.worst.sentence}."
    )
    print("Seconds: " + ", ".join(f"{name} {value:g}" for name, value in results.seconds.items()) + ".")
