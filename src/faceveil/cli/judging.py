"""What evaluate and certify share: their options, the run with its bar, the files they write."""

import inspect
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from faceveil.evaluation import Options, Results, Verdict
    from faceveil.report import Picture

Originals = Annotated[Path, typer.Argument(help="The folder of original photos.")]
Anonymised = Annotated[Path, typer.Argument(help="The folder of released photos, with the same names.")]
Report = Annotated[Path | None, typer.Option(help="Write the page here, outside both folders.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace existing results.")]
Subjects = Annotated[
    str,
    typer.Option(help="Who is who: folder, name (Name_0001), each, faces, a CSV (photo, person), or auto."),
]
Only = Annotated[
    list[str] | None,
    typer.Option("--recognizer", help="Attack with this one only (repeatable); open or all: several."),
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


def shared_options(
    subjects: Subjects = "auto",
    recognizer: Only = None,
    attack_model: Own = None,
    used_by_method: Used = None,
    method_command: Command = None,
    attacker_faces: Faces = None,
    clusters: Clusters = None,
    cache: CacheFile = None,
    workers: Workers = None,
) -> "Options":
    """The library's options, from those that both commands have."""
    from faceveil.evaluation import Options
    from faceveil.evaluation.trained import command

    return Options(
        subjects=subjects, recognizers=tuple(recognizer or ()), own_models=tuple(attack_model or ()),
        used_by_method=tuple(used_by_method or ()), method=command(method_command) if method_command else None,
        attacker_faces=attacker_faces, clusters=clusters, cache=cache, workers=workers,
    )  # fmt: skip


def with_shared_options(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the shared options added to its own; it gets them made up as `options`."""
    own, shared = inspect.signature(command).parameters, inspect.signature(shared_options).parameters

    @wraps(command)
    def wrapped(**given: Any) -> None:
        options = shared_options(**{name: given.pop(name) for name in shared})
        command(options=options, **given)

    together = [one for name, one in own.items() if name != "options"] + list(shared.values())
    together = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in together]
    wrapped.__signature__ = inspect.Signature(together)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {one.name: one.annotation for one in together}
    return wrapped


def run(originals: Path, anonymised: Path, options: "Options") -> "Results":
    """Evaluate, with a live line on a terminal."""
    from faceveil.cli.render import counted
    from faceveil.evaluation import evaluate

    with counted("looking at photos", None) as advance:
        return evaluate(originals, anonymised, options, lambda _, done, total: advance(done, total))


def write_page(
    results: "Results",
    verdict: "Verdict | None",
    place: Path | None,
    pictures: "list[Picture] | None" = None,
    *,
    overwrite: bool = False,
) -> None:
    """The page, whole or not at all, if one was asked for."""
    from faceveil.photos import write_bytes
    from faceveil.report import page

    if place is not None:
        write_bytes(page(results, verdict, pictures or ()).encode(), place, overwrite=overwrite)
