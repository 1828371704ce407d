"""faceveil models: list, pull and verify the weights."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from faceveil.models import Store

app = typer.Typer(help="The networks' weights: list, pull, verify.", no_args_is_help=True)
Json = Annotated[bool, typer.Option("--json", help="Print JSON for a program to read.")]


@app.command("list")
def list_(
    commercial: Annotated[
        bool, typer.Option("--commercial", help="Only weights whose terms allow commercial use.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Every card: what it is for, its licence, whether it is here."""
    from faceveil.cli.render import megabytes, print_json, print_table
    from faceveil.models import Store, cards

    store = Store()
    shown = [card for card in cards() if card.commercial == "open" or not commercial]
    if as_json:
        print_json([_facts(card.id, store) for card in shown])
        return
    print_table(
        ["id", "role", "size", "here", "commercial", "licence", "what"],
        [
            [
                card.id,
                card.role,
                megabytes(card.size),
                "yes" if store.has(card.id) else "no",
                card.commercial,
                card.license,
                card.summary,
            ]
            for card in shown
        ],
    )


@app.command()
def pull(
    ids: Annotated[
        list[str] | None, typer.Argument(help="Card ids; `faceveil models list` shows them.")
    ] = None,
    all_: Annotated[bool, typer.Option("--all", help="Every card.")] = False,
) -> None:
    """Download weights, so that this machine can work without a network."""
    from faceveil.cli.render import download_bar
    from faceveil.errors import UsageError
    from faceveil.models import Store, card, cards

    if bool(ids) == all_:
        raise UsageError("name the cards to pull, or say --all. `faceveil models list` shows the ids.")
    wanted = [entry.id for entry in cards()] if all_ else [card(name).id for name in ids or []]
    store = Store()
    with download_bar() as progress:
        fetched = store.pull(wanted, progress)
    for entry in fetched:
        typer.echo(f"pulled {entry.id}")
    typer.echo(f"{len(wanted)} of {len(wanted)} cards are in {store.home}")


@app.command()
def verify(as_json: Json = False) -> None:
    """Hash every weight file that is here and compare it with its card."""
    from faceveil.cli.render import print_json, print_table
    from faceveil.models import Store

    results = Store().verify()
    damaged = [result.card.id for result in results if result.state == "damaged"]
    if as_json:
        print_json([{"id": result.card.id, "state": result.state} for result in results])
    else:
        print_table(["id", "state"], [[result.card.id, result.state] for result in results])
        if damaged:
            typer.echo(f"Replace what is damaged with: faceveil models pull {' '.join(damaged)}")
    if damaged:
        raise typer.Exit(1)


def _facts(card_id: str, store: "Store") -> dict[str, object]:
    from dataclasses import asdict

    from faceveil.models import card

    entry = card(card_id)
    return asdict(entry) | {
        "size": entry.size,
        "here": store.has(card_id),
        "folder": str(store.folder(entry)),
    }
