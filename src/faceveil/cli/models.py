"""faceveil models: list, pull and verify the weights."""

import typer

app = typer.Typer(help="The networks' weights: list, pull, verify.", no_args_is_help=True)


@app.command("list")
def list_() -> None:
    """Every card: what it is for, its licence, whether it is here."""
