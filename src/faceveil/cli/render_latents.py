"""faceveil render: latents back to faces."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from faceveil.models.latents import Latents


def render(
    latents: Annotated[
        Path, typer.Argument(help="A .npz of `faceveil encode` or `faceveil sample --latents`.")
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="The folder to write to.")],
    size: Annotated[int, typer.Option(help="Side in pixels: 64, 128, 256, 512 or 1024.")] = 1024,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace files that exist.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for a program to read.")] = False,
) -> None:
    """Render each latent to a PNG named after the photo it came from."""
    from faceveil.models.generator import check_size
    from faceveil.models.latents import read_latents

    check_size(size)
    print_written(write_faces(read_latents(latents), output, size, overwrite), as_json)


def write_faces(drawn: "Latents", output: Path, size: int, overwrite: bool) -> Iterator[Path]:
    """Render and write one face after another; yields each file that is written."""
    from faceveil.errors import OutputError
    from faceveil.models.generator import Generator
    from faceveil.photos import Photo, write_photo

    paths = [output / f"{name}.png" for name in drawn.names]
    taken = [path for path in paths if path.exists()]
    if taken and not overwrite:  # said before the first face is rendered
        raise OutputError(f"{taken[0]} exists. Choose another folder, or say --overwrite.")
    for path in paths:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"the folder {path.parent} cannot be made: {error.strerror}.") from error
    images = Generator(threads=_cores()).render_each(drawn.latents, size)
    for path, image in zip(paths, images, strict=True):
        write_photo(Photo(image), path, overwrite=overwrite)
        yield path


def print_written(paths: Iterator[Path], as_json: bool) -> None:
    from faceveil.cli.render import print_json

    written = [str(path) for path in paths]
    if as_json:
        print_json({"files": written})
    else:
        typer.echo(
            f"{len(written)} faces written, the last to {written[-1]}" if written else "no latents, no faces"
        )


def _cores() -> int:
    import os

    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1
