"""faceveil tune: which k, for this set and these methods."""

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from faceveil.evaluation.choose_k import Choice
    from faceveil.evaluation.trials import Trial
    from faceveil.faces import FaceSet

KS = "2,3,5,8,12,16,20"


def tune(
    photos: Annotated[list[Path], typer.Argument(help="Files and folders of the set.")],
    methods: Annotated[str, typer.Option(help="Methods to try, by comma.")] = "anonfaces",
    k: Annotated[str, typer.Option("-k", "--k", help="Values of k to try, by comma.")] = KS,
    max_risk: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="The share of people that may be found, at its upper bound."),
    ] = None,
    subjects: Annotated[
        str, typer.Option(help="Who is who: auto, folder, each, or a CSV (photo, subject).")
    ] = "auto",
    refine: Annotated[
        int | None,
        typer.Option(
            min=0, help="miku, anonfaces: steps of gradient descent after the encoder; 20 is a good number."
        ),
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Write a page with the curves here.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing page.")] = False,
    seed: Annotated[int | None, typer.Option(help="Make random draws repeatable.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Try methods at several k on a set and recommend one. Nothing is released; the photos are looked at once."""
    from faceveil.api.places import check_places
    from faceveil.evaluation.choose_k import choose_k
    from faceveil.pipeline import Settings
    from faceveil.pipeline.engines import engine
    from faceveil.pipeline.look import surveyed_set

    table = [Path(subjects)] if Path(subjects).is_file() else []
    check_places([report], [*photos, *table], overwrite=overwrite)
    values, names = _numbers(k), [name.strip() for name in methods.split(",") if name.strip()]
    first = _set_method(names[0], values[0], refine)
    for name in names[1:]:
        _set_method(name, values[0], refine)
    settings = Settings(method=first, subjects=subjects)
    with _bar() as (begin, step):
        begin("looking at photos", None)
        with surveyed_set(photos, settings, engine=engine("auto"), progress=step) as (faces, unread):
            begin("trying", len(values) * len(names))
            trials = _try_all(faces, names, values, refine, seed, step)
            choices = [choose_k([row for row in trials if row.method == name], max_risk) for name in names]
            bounds, tree = _tree(faces, choices)
    if report is not None:
        from faceveil.photos import write_bytes
        from faceveil.report.tune_page import tune_page

        write_bytes(tune_page(trials, choices, tree, bounds).encode(), report, overwrite=overwrite)
    _say(trials, choices, bounds, unread, as_json)


def _numbers(text: str) -> list[int]:
    from faceveil.errors import UsageError

    try:
        values = sorted({int(part) for part in text.split(",")})
    except ValueError as error:
        raise UsageError(f"-k takes whole numbers by comma, such as {KS}; {text!r} is not.") from error
    if values[0] < 2:
        raise UsageError(f"k is at least 2; {values[0]} is not.")
    return values


def _set_method(name: str, k: int, refine: int | None) -> Any:
    from faceveil.errors import UsageError
    from faceveil.methods import METHODS, SetMethod, method

    chosen = method(name, k=k, refine=refine)
    if not isinstance(chosen, SetMethod):
        offered = ", ".join(id_ for id_, entry in METHODS.items() if isinstance(entry, SetMethod))
        raise UsageError(f"{name} forms no groups, so it has no k. Tune one of: {offered}.")
    return chosen


def _try_all(
    faces: "FaceSet",
    names: Sequence[str],
    values: Sequence[int],
    refine: int | None,
    seed: int | None,
    step: Any,
) -> list["Trial"]:
    from faceveil.evaluation.trials import Originals, try_release
    from faceveil.pipeline.settings import rng_for

    originals, trials = Originals(faces), []
    for name in names:
        for k in values:
            start = time.perf_counter()
            chosen = _set_method(name, k, refine)
            released = chosen.release(faces, rng_for(seed, f"{name}\0{k}"))
            spent = time.perf_counter() - start
            used = [card for card in chosen.cards if card in originals.judges]
            trials.append(replace(try_release(originals, released, name, k, used), seconds=round(spent, 2)))
            step(None)
    return trials


def _tree(faces: "FaceSet", choices: Sequence["Choice"]) -> tuple[str, str]:
    """What the dendrogram says about k, and its picture, for the first recommended k."""
    from faceveil.evaluation.trials import LOSS_BY
    from faceveil.grouping import group
    from faceveil.grouping.dendrogram import dendrogram, good_k
    from faceveil.spaces.embedding import EmbeddingSpace

    people = len(set(faces.subjects.tolist()))
    k = min(next((choice.k for choice in choices if choice.k), 2), people)
    if people < 2:
        return "One person makes no tree.", ""
    vectors = EmbeddingSpace(LOSS_BY).encode(faces)
    cuts = good_k(vectors)
    partition = group(vectors, k, "hierarchical", faces.subjects.tolist(), 0)
    span = f"{cuts.k_min} to {cuts.k_max}" if cuts.k_max > cuts.k_min else str(cuts.k_min)
    said = (
        "The tree of the set, cut where half and where nine in ten of the faces have company, shows natural groups "
        f"of {span} (AnonFACES section 4.4)."
    )
    return said, dendrogram(vectors, partition)


@contextmanager
def _bar() -> Iterator[tuple[Any, Any]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as bar:
        tasks: list[Any] = []

        def begin(name: str, total: int | None) -> None:
            tasks.append(bar.add_task(name, total=total))

        def step(total: int | None) -> None:
            bar.update(tasks[-1], advance=1, total=total or bar.tasks[-1].total)

        yield begin, step


def _say(
    trials: Sequence["Trial"], choices: Sequence["Choice"], bounds: str, unread: dict[str, str], as_json: bool
) -> None:
    if as_json:
        content = {
            "trials": [asdict(row) for row in trials], "recommended": [asdict(one) for one in choices],
            "dendrogram": bounds, "not_read": unread,
        }  # fmt: skip
        print(json.dumps(_without_nan(content), indent=2))
        return
    print(f"{'method':<18}{'k':>4}{'released':>10}{'loss':>8}  found (95 %)            by")
    for row in trials:
        print(
            f"{row.method:<18}{row.k:>4}{row.released:>10.1%}{row.information_loss:>8.3f}  "
            f"{row.found!s:<22}  {row.judge}"
        )
    for one in choices:
        print(f"{one.method}: {f'k = {one.k}' if one.k else 'no k'}: {one.reason}")
    print(bounds)
    from faceveil.photos import shown

    for name, reason in unread.items():
        print(shown(f"not read: {name}: {reason}"))


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nan(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(part) for part in value]
    return None if isinstance(value, float) and value != value else value
