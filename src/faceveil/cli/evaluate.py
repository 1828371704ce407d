"""faceveil evaluate: attack a result, whoever made it, and say what was found."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from faceveil.evaluation import Options, Results, Verdict
    from faceveil.evaluation.trained import Method
    from faceveil.report import Picture

Originals = Annotated[Path, typer.Argument(help="The folder of original photos.")]
Anonymised = Annotated[Path, typer.Argument(help="The folder of released photos, with the same names.")]
Subjects = Annotated[
    str, typer.Option(help="Who is who: folder, name (Name_0001), each, a CSV (photo, person), or auto.")
]
Only = Annotated[
    list[str] | None, typer.Option("--recognizer", help="Attack with this one only (repeatable).")
]
Own = Annotated[
    list[Path] | None, typer.Option("--attack-model", help="Your own ONNX recogniser, card beside it.")
]
Used = Annotated[list[str] | None, typer.Option(help="A recogniser that took part in making the result.")]
Command = Annotated[
    str | None,
    typer.Option(help="The method as a command with {input} and {output}, for the trained attack."),
]
Faces = Annotated[Path | None, typer.Option(help="Photos of the attacker's own, to train on.")]
Clusters = Annotated[Path | None, typer.Option(help="CSV (photo, cluster): who shares a released face.")]
CacheFile = Annotated[
    Path | None, typer.Option(help="Keep embeddings in this file. They are biometric data.")
]
Workers = Annotated[int | None, typer.Option(min=1, help="Threads; the number of cores by default.")]


def evaluate(
    originals: Originals,
    anonymised: Anonymised,
    report: Annotated[Path | None, typer.Option(help="Write the page here.")] = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write the results here; '-' prints them.")
    ] = None,
    subjects: Subjects = "auto",
    recognizer: Only = None,
    attack_model: Own = None,
    used_by_method: Used = None,
    method_command: Command = None,
    attacker_faces: Faces = None,
    groups: Annotated[Path | None, typer.Option(help="CSV: photo, then one column per attribute.")] = None,
    clusters: Clusters = None,
    pairs: Annotated[Path | None, typer.Option(help="A pairs.txt as LFW's: run its protocol too.")] = None,
    utility: Annotated[bool, typer.Option(help="Measure what is left of the photos' use.")] = True,
    restoration: Annotated[bool, typer.Option(help="Also attack after undoing blur and pixels.")] = True,
    max_risk: Annotated[float | None, typer.Option(help="Show on the page whether this limit holds.")] = None,
    with_pictures: Annotated[bool, typer.Option("--with-pictures", help="Show samples on the page.")] = False,
    cache: CacheFile = None,
    workers: Workers = None,
) -> None:
    """Attack released photos with every recogniser at hand; every rate comes with its interval."""
    from faceveil.evaluation import Options, certify

    options = Options(
        subjects=subjects, recognizers=tuple(recognizer or ()), own_models=tuple(attack_model or ()),
        used_by_method=tuple(used_by_method or ()), utility=utility, restoration=restoration, groups=groups,
        clusters=clusters, pairs=pairs, method=method_of(method_command), attacker_faces=attacker_faces, cache=cache,
        workers=workers,
    )  # fmt: skip
    results = run(originals, anonymised, options)
    verdict = certify(results, max_risk) if max_risk is not None else None
    write(results, verdict, report, json_file, (originals, anonymised) if with_pictures else None)
    if json_file != Path("-"):
        _print(results)


def method_of(words: str | None) -> "Method | None":
    """The method's command, if there is one."""
    from faceveil.evaluation.trained import command

    return command(words) if words else None


def run(originals: Path, anonymised: Path, options: "Options") -> "Results":
    """Evaluate, with a bar on a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from faceveil.evaluation import evaluate as run_evaluation

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as bar:
        task = bar.add_task("looking at photos", total=None)
        return run_evaluation(
            originals,
            anonymised,
            options,
            lambda _, done, total: bar.update(task, completed=done, total=total),
        )


def write(
    results: "Results", verdict: "Verdict | None", report: Path | None, json_file: Path | None,
    folders: tuple[Path, Path] | None,
) -> None:  # fmt: skip
    """The page and the JSON, each whole or not at all."""
    from faceveil.photos import write_bytes
    from faceveil.report import page

    if report is not None:
        html = page(results, verdict, _samples(*folders) if folders else ())
        write_bytes(html.encode(), report, overwrite=True)
    if json_file == Path("-"):
        print(results.to_json(), end="")
    elif json_file is not None:
        write_bytes(results.to_json().encode(), json_file, overwrite=True)


def _samples(originals: Path, anonymised: Path, count: int = 12) -> "list[Picture]":
    """A few pairs, spread over the set, as small JPEGs."""
    import io

    from PIL import Image

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
    step = max(1, len(pairs) // count)
    return [Picture(name, small(before), small(after)) for name, before, after in pairs[::step][:count]]


def _print(results: "Results") -> None:
    from faceveil.cli.render import print_table

    rows = [
        [
            one.attack, one.recognizer + (" (used by the method)" if one.used_by_method else ""), str(one.found),
            f"{one.mean_rank.value:.1f}", f"{100 * one.eer.value:.1f} %", f"{one.auc.value:.3f}",
            str(one.fta), str(one.fte),
        ]
        for one in (*results.attacks, *results.baseline)
    ]  # fmt: skip
    print_table(("attack", "recogniser", "found", "mean rank", "EER", "AUC", "FTA", "FTE"), rows)
    for text in results.warnings:
        print(f"warning: {text}", file=sys.stderr)
    unchanged = [one.photo for one in results.exposed if one.unchanged]
    if unchanged:
        named = ", ".join(unchanged[:5]) + (" …" if len(unchanged) > 5 else "")
        print(f"{len(unchanged)} released photos still show the original face: {named}")
    print(
        f"{results.people} people, {results.released} released photos. The worst attack: {results.worst.sentence}."
    )
    print("Seconds: " + ", ".join(f"{name} {value:g}" for name, value in results.seconds.items()) + ".")
