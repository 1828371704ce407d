"""faceveil analyze: look into the generator as the papers do."""

import json
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="Analyses of the generator's latent space.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Analyses of the generator's latent space."""


@app.command("layers")
def layers(
    output: Annotated[Path, typer.Option("--output", "-o", help="A folder for layers.csv and layers.svg.")],
    pairs: Annotated[int, typer.Option(min=1, help="Pairs of generated faces; about 30 s each.")] = 6,
    seed: Annotated[int, typer.Option(help="Which faces.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Which slots of the code hold the identity: every window of slots, scored (StyleID, figure 3a)."""
    from dataclasses import asdict

    from faceveil.methods.styleid.figure import draw
    from faceveil.methods.styleid.layers import RECOGNIZERS_OF_SEARCH, search, write_table
    from faceveil.photos import write_bytes

    windows = search(pairs, seed, RECOGNIZERS_OF_SEARCH)
    output.mkdir(parents=True, exist_ok=True)
    write_table(windows, output / "layers.csv")
    write_bytes(draw(windows).encode(), output / "layers.svg", overwrite=True)
    best = sorted(windows, key=lambda window: -window.score)[:5]
    if as_json:
        print(json.dumps([asdict(window) for window in windows], indent=2))
        return
    for window in best:
        last = window.first + window.width - 1
        print(f"slots {window.first}-{last}: score {window.score:.3f}, identity {window.identity:.2f}, "
              f"attributes {window.attributes:.2f}")  # fmt: skip
    print(f"All {len(windows)} windows: {output / 'layers.csv'}, drawn in {output / 'layers.svg'}")


@app.command("channels")
def channels(
    output: Annotated[Path, typer.Option("--output", "-o", help="A folder for channels.csv.")],
    pairs: Annotated[int, typer.Option(min=1, help="Pairs of generated faces; about 20 s each.")] = 4,
    seed: Annotated[int, typer.Option(help="Which faces.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Which blocks of channels hold the identity, and how far the best ones together lead (figures 3b and 5)."""
    from dataclasses import asdict

    from faceveil.methods.styleid.channels import curve, search, write_table
    from faceveil.methods.styleid.layers import RECOGNIZERS_OF_SEARCH

    blocks = search(pairs, seed, RECOGNIZERS_OF_SEARCH)
    output.mkdir(parents=True, exist_ok=True)
    write_table(blocks, output / "channels.csv")
    counts = (512, 1024, 2048, 2560, 3584, 4608)
    distances = curve(blocks, counts, pairs, seed + 1, RECOGNIZERS_OF_SEARCH)
    if as_json:
        rows = [asdict(block) for block in blocks]
        print(json.dumps({"blocks": rows, "curve": dict(zip(counts, distances, strict=True))}, indent=2))
        return
    for count, distance in zip(counts, distances, strict=True):
        print(f"{count} channels swapped: identity distance {distance:.2f}")
    print(f"All {len(blocks)} blocks: {output / 'channels.csv'}")
