"""faceveil analyze: look into the generator as the papers do."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

app = typer.Typer(help="Analyses of the generator's latent space.", no_args_is_help=True)

Output = Annotated[Path, typer.Option("--output", "-o", help="A folder for the tables and figures.")]
Pairs = Annotated[int, typer.Option(min=1, help="Pairs of generated faces.")]
Seed = Annotated[int, typer.Option(help="Which faces.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print as JSON.")]
Layers = Annotated[str, typer.Option(help="The slots that are swapped, as in 4-12.")]


@app.callback()
def _group() -> None:
    """Analyses of the generator's latent space."""


@app.command("layers")
def layers(output: Output, pairs: Pairs = 6, seed: Seed = 1, as_json: AsJson = False) -> None:
    """Which slots of the code hold the identity: every window of slots, scored (StyleID, figure 3a).

    About 10 s per pair.
    """
    from faceveil.methods.styleid.figure import draw
    from faceveil.methods.styleid.layers import RECOGNIZERS_OF_SEARCH, search

    windows = search(pairs, seed, RECOGNIZERS_OF_SEARCH)
    best = sorted(windows, key=lambda window: -window.score)[:5]
    lines = [
        f"slots {w.first}-{w.first + w.width - 1}: score {w.score:.3f}, identity {w.identity:.2f}, "
        f"attributes {w.attributes:.2f}"
        for w in best
    ]
    _keep(output, {"layers": windows}, {"layers": draw(windows)}, lines, as_json)


@app.command("channels")
def channels(output: Output, pairs: Pairs = 4, seed: Seed = 1, as_json: AsJson = False) -> None:
    """Which blocks of channels hold the identity, and how far the best ones together lead (figures 3b and 5).

    About 12 s per pair.
    """
    from faceveil.methods.styleid.channels import BLOCK, COUNTS, WIDER, curve, joined, search
    from faceveil.methods.styleid.figure import draw_blocks, draw_curve
    from faceveil.methods.styleid.layers import RECOGNIZERS_OF_SEARCH

    blocks = search(pairs, seed, RECOGNIZERS_OF_SEARCH)
    steps = [
        step
        for width in (BLOCK, *WIDER)
        for step in curve(joined(blocks, width), COUNTS, pairs, seed + 1, RECOGNIZERS_OF_SEARCH)
    ]
    figures = {"channels": draw_blocks(blocks), "curve": draw_curve(steps)}
    lines = [
        f"{s.channels} channels in blocks of {s.width}: identity {s.identity:.2f}, attributes {s.attributes:.2f}"
        for s in steps
    ]
    _keep(output, {"channels": blocks, "curve": steps}, figures, lines, as_json)


@app.command("attributes")
def attributes(
    output: Output, pairs: Pairs = 100, seed: Seed = 1, layers: Layers = "4-12", as_json: AsJson = False
) -> None:
    """How the identity hangs together with each attribute, over swaps of the identity slots (appendix A)."""
    from faceveil.methods.styleid.correlation import links
    from faceveil.methods.styleid.figure import bars
    from faceveil.methods.styleid.layers import RECOGNIZERS_OF_SEARCH
    from faceveil.methods.styleid.method import window

    found = links(pairs, seed, RECOGNIZERS_OF_SEARCH, window(layers))
    label = "correlation of its change with the identity's"
    figure = bars({link.attribute: link.correlation for link in found}, label)
    lines = [f"{link.attribute}: {link.correlation:+.2f}, moved by {link.change:.2f}" for link in found]
    _keep(output, {"attributes": found}, {"attributes": figure}, lines, as_json)


@app.command("regions")
def regions(
    output: Output, pairs: Pairs = 20, seed: Seed = 1, layers: Layers = "4-12", as_json: AsJson = False
) -> None:
    """How far swapping ever larger regions of the picture leads: eyes, nose, mouth, face, hair, all (table 1)."""
    from faceveil.methods.styleid.layers import RECOGNIZERS_OF_SEARCH
    from faceveil.methods.styleid.method import window
    from faceveil.methods.styleid.regions import table

    rows = table(pairs, seed, RECOGNIZERS_OF_SEARCH, window(layers))
    lines = [
        f"{row.region}: identity {row.identity:.2f} ± {row.spread:.2f}, attributes {row.attributes:.2f}"
        for row in rows
    ]
    _keep(output, {"regions": rows}, {}, lines, as_json)


def _keep(
    output: Path, tables: dict[str, Sequence[Any]], figures: dict[str, str], lines: list[str], as_json: bool
) -> None:
    """Write the tables and figures, and print what they hold."""
    from faceveil.methods.styleid.tables import write_table
    from faceveil.photos import write_bytes

    output.mkdir(parents=True, exist_ok=True)
    for name, rows in tables.items():
        write_table(rows, output / f"{name}.csv")
    for name, figure in figures.items():
        write_bytes(figure.encode(), output / f"{name}.svg", overwrite=True)
    if as_json:
        print(json.dumps({name: [asdict(row) for row in rows] for name, rows in tables.items()}, indent=2))
        return
    files = [*(f"{name}.csv" for name in tables), *(f"{name}.svg" for name in figures)]
    print("\n".join([*lines, f"Written to {output}: {', '.join(files)}"]))
