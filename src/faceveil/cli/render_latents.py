"""faceveil render: latents back to faces."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from faceveil.models.generator import Images


def render(
    latents: Annotated[Path, typer.Argument(help="A .npz of `faceveil encode` or `sample --latents`.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The folder to write to.")],
    size: Annotated[int, typer.Option(help="Side in pixels: 64, 128, 256, 512 or 1024.")] = 1024,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace files that exist.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for a program to read.")] = False,
) -> None:
    """Render each latent to a PNG named after the photo it came from."""
    from faceveil.models.generator import open_generator
    from faceveil.models.latents import read_latents

    stored = read_latents(latents)
    paths = free_paths(stored.names, output, overwrite)
    images = open_generator().render_each(stored.latents, size)
    print_written(write_faces(paths, images, overwrite), as_json)


def free_paths(names: Sequence[str], output: Path, overwrite: bool) -> list[Path]:
    """Where the faces go; refused before the first one is rendered if a file is there."""
    from faceveil.errors import OutputError

    paths = [output / f"{name}.png" for name in names]
    taken = [path for path in paths if path.exists()]
    if taken and not overwrite:
        raise OutputError(f"{taken[0]} exists. Choose another folder, or say --overwrite.")
    return paths


def write_faces(paths: list[Path], images: Iterator["Images"], overwrite: bool) -> Iterator[Path]:
    """Write one face after another as it is rendered; yields each file that is written."""
    from faceveil.errors import OutputError
    from faceveil.photos import Photo, write_photo

    for path, image in zip(paths, images, strict=True):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"the folder {path.parent} cannot be made: {error.strerror}.") from error
        write_photo(Photo(image), path, overwrite=overwrite)
        yield path


def print_written(paths: Iterator[Path], as_json: bool) -> None:
    from faceveil.cli.render import print_json
    from faceveil.photos import shown

    written = [str(path) for path in paths]
    if as_json:
        print_json({"files": written})
    else:
        typer.echo(
            f"{len(written)} faces written, the last to {shown(written[-1])}"
            if written
            else "no latents, no faces"
        )
