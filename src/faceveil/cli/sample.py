"""faceveil sample: faces of nobody."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from faceveil.models.mobilestylegan import Floats


def sample(
    count: Annotated[int, typer.Argument(min=1, help="How many faces.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The folder to write to.")],
    seed: Annotated[
        int | None,
        typer.Option(min=0, help="The same seed draws the same faces; without one, nobody can."),
    ] = None,
    size: Annotated[
        int | None, typer.Option(help="Side in pixels: 64, 128, 256, 512 or 1024 (the default).")
    ] = None,
    truncation: Annotated[
        float, typer.Option(min=0, max=1, help="1: every face the generator knows; less: more usual faces.")
    ] = 0.7,
    latents: Annotated[
        Path | None, typer.Option(help="Also write the faces' W+ to this .npz, for `faceveil render`.")
    ] = None,
    generator: Annotated[str, typer.Option(help="mobilestylegan, or stylegan2 with --weights.")] = (
        "mobilestylegan"
    ),
    weights: Annotated[
        Path | None, typer.Option(help="Your StyleGAN2 checkpoint: the authors' .pkl, or a .pt with g_ema.")
    ] = None,
    device: Annotated[str, typer.Option(help="Where stylegan2 runs: cpu or cuda.")] = "cpu",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace files that exist.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for a program to read.")] = False,
) -> None:
    """Write faces of people who do not exist, as PNG files."""
    from faceveil.api.latents import drawn, face_names
    from faceveil.cli.render_latents import free_paths, print_written, write_faces
    from faceveil.models.generator import open_generator

    names = face_names(count)
    paths = free_paths(names, output, overwrite)
    drawing = open_generator(generator, weights, device)
    w, images = drawn(drawing, count, seed, size, truncation)
    if latents is not None:
        _write_latents(latents, w, names, generator, overwrite)
    print_written(write_faces(paths, images, overwrite), as_json)


def _write_latents(path: Path, w: "Floats", names: list[str], generator: str, overwrite: bool) -> None:
    import numpy as np

    from faceveil.errors import UsageError
    from faceveil.models.generator import as_wplus
    from faceveil.models.latents import Latents
    from faceveil.photos import write_bytes

    if generator != "mobilestylegan":
        raise UsageError("--latents holds codes of mobilestylegan, which is what `faceveil render` renders.")
    nothing = np.full(len(names), np.nan, np.float32)
    write_bytes(Latents(as_wplus(w), tuple(names), nothing).to_bytes(), path, overwrite=overwrite)
