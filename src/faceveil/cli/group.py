"""faceveil group: vectors or a table in, groups of at least k people out."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from faceveil.privacy.criteria import Criterion


class Stay(StrEnum):
    """Where several photos of one person go."""

    together = "together"
    apart = "apart"


def group(
    vectors: Annotated[Path, typer.Argument(help="Vectors: .npy, .npz, or .csv with one row per photo.")],
    k: Annotated[int, typer.Option("-k", help="People in the smallest group.")],
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Where the groups go (CSV).")] = None,
    grouper: Annotated[str, typer.Option(help="Which algorithm; see docs/grouping.md.")] = "best",
    subjects: Annotated[Path | None, typer.Option(help="Who each row shows: a CSV, last column.")] = None,
    stay: Annotated[Stay, typer.Option(help="Photos of one person stay together or apart.")] = Stay.together,
    seed: Annotated[int | None, typer.Option(help="Makes the result repeatable.")] = None,
    columns: Annotated[
        str,
        typer.Option(help="Of a table: columns that could point at a person, as AGE,ZIP:code,SEX:category."),
    ] = "",
    unified: Annotated[Path | None, typer.Option(help="Of a table: where the unified table goes.")] = None,
    attributes: Annotated[Path | None, typer.Option(help="A CSV of attributes, one row per photo.")] = None,
    l_diversity: Annotated[
        list[str] | None, typer.Option(help="column=l, column=l:entropy or column=l:recursive.")
    ] = None,
    t_closeness: Annotated[list[str] | None, typer.Option(help="column=t; repeat for more.")] = None,
    suppress: Annotated[float, typer.Option(help="People that may be left out, number or share.")] = 0,
    option: Annotated[
        list[str] | None, typer.Option("--set", help="What the grouper takes: effort=4, linkage=average…")
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Write a page about the groups (HTML).")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace output files that exist.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Divide vectors into groups of at least k people, losing as little as possible."""
    import time

    from faceveil.cli.outputs import check_outputs
    from faceveil.errors import UsageError
    from faceveil.grouping import files, tables
    from faceveil.grouping import group as divide
    from faceveil.grouping.summary import summarize
    from faceveil.photos import write_bytes

    check_outputs([output, unified, report], [vectors, subjects, attributes], overwrite)

    if unified and not columns:
        raise UsageError("A unified table needs to know which columns to unify. Name them with --columns.")
    table = files.read_table(vectors) if columns else {}
    kinds = files.parse_columns(columns, table) if columns else {}
    X = tables.vectors_of(table, kinds) if columns else files.read_vectors(vectors)
    who = files.read_subjects(subjects) if subjects else None
    rules = _criteria(attributes, l_diversity or [], t_closeness or [])
    begin = time.perf_counter()
    partition = divide(
        X,
        k,
        grouper,
        who,
        seed,
        stay=stay.value,
        criteria=rules,
        suppress=suppress,
        **files.parse_options(option or []),
    )
    seconds = time.perf_counter() - begin
    verdicts = [str(rule.judge(partition)) for rule in rules]
    summary = summarize(X, partition, grouper, seconds, verdicts)
    if output:
        write_bytes(files.groups_csv(partition, who), output, overwrite=overwrite)
    if unified:
        table_csv = files.table_csv(tables.unify(table, partition, kinds))
        write_bytes(table_csv, unified, overwrite=overwrite)
    if report:
        from faceveil.grouping.page import page

        write_bytes(page(X, partition, summary).encode(), report, overwrite=overwrite)
    _print(summary.as_json(), as_json)


def _criteria(attributes: Path | None, diverse: list[str], close: list[str]) -> "list[Criterion]":
    if not diverse and not close:
        return []
    from faceveil.errors import UsageError
    from faceveil.grouping import files
    from faceveil.privacy.criteria import LDiversity, TCloseness

    if attributes is None:
        raise UsageError("Criteria need columns of attributes. Name the file with --attributes.")
    table = files.read_table(attributes)
    found: list[Criterion] = []
    for rule in diverse:
        column, wanted, kind = files.parse_rule(rule, table)
        found.append(LDiversity(table[column], wanted, kind or "distinct", column=column))  # type: ignore[arg-type]
    for rule in close:
        column, wanted, kind = files.parse_rule(rule, table)
        found.append(TCloseness(files.typed(table[column]), wanted, kind, column=column))  # type: ignore[arg-type]
    return found


def _print(figures: dict[str, Any], as_json: bool) -> None:
    import json

    if as_json:
        typer.echo(json.dumps(figures, indent=2))
        return
    for name, value in figures.items():
        if value is None or value == []:
            continue
        text = f"{value:.4f}" if isinstance(value, float) else value
        typer.echo(f"{name.replace('_', ' '):<18} {text}")
