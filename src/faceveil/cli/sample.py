"""faceveil sample: faces of nobody."""

from pathlib import Path
from typing import Annotated

import typer


def sample(
    count: Annotated[int, typer.Argument(min=1, help="How many faces.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The folder to write to.")],
    seed: Annotated[
        int | None,
        typer.Option(
            min=0, help="The same seed gives the same faces. Without one, nobody can draw them again."
        ),
    ] = None,
    size: Annotated[int, typer.Option(help="Side in pixels: 64, 128, 256, 512 or 1024.")] = 1024,
    truncation: Annotated[
        float, typer.Option(min=0, max=1, help="1: every face the generator knows; less: more usual faces.")
    ] = 0.7,
    latents: Annotated[
        Path | None, typer.Option(help="Also write the faces' W+ to this .npz, for `faceveil render`.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace files that exist.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for a program to read.")] = False,
) -> None:
    """Write faces of people who do not exist, as PNG files."""
    import numpy as np

    from faceveil.cli.render_latents import print_written, write_faces
    from faceveil.models.generator import Generator, as_wplus, check_size
    from faceveil.models.latents import Latents
    from faceveil.photos import write_bytes

    check_size(size)
    generator = Generator()
    # Without a seed numpy asks the operating system.
    z = generator.sample_z(count, np.random.default_rng(seed))
    wplus = as_wplus(generator.truncate(generator.mapping(z), truncation))
    names = tuple(f"face-{number:0{max(4, len(str(count - 1)))}d}" for number in range(count))
    drawn = Latents(wplus, names, np.full(count, np.nan, np.float32))
    if latents is not None:
        write_bytes(drawn.to_bytes(), latents, overwrite=overwrite)
    print_written(write_faces(drawn, output, size, overwrite), as_json)
