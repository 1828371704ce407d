"""faceveil encode: the faces of photos as latents."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from faceveil.api.latents import Encoded


def encode(
    photos: Annotated[
        list[Path], typer.Argument(help="Files and folders; folders are searched recursively.")
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="The .npz to write.")],
    refine: Annotated[
        int, typer.Option(min=0, help="Steps of gradient descent after the encoder; 20 come much nearer.")
    ] = 2,
    detector: Annotated[str, typer.Option(help="yunet, blazeface, centerface or haar.")] = "yunet",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file if it exists.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for a program to read.")] = False,
) -> None:
    """Find the W+ of every face in photos, for `faceveil render`.

    Exit code 0: every photo had a face; 3: some had none or could not be read; 1: failure; 2: usage.
    """
    from faceveil.api.latents import encode as encode_photos
    from faceveil.cli.render import counted
    from faceveil.errors import OutputError
    from faceveil.photos import find_photos

    if output.exists() and not overwrite:
        raise OutputError(f"{output} exists. Choose another name, or say --overwrite.")
    with counted("encoding", len(find_photos(photos).photos)) as advance:
        encoded = encode_photos(photos, refine=refine, detector=detector, progress=advance)
    encoded.save(output, overwrite=overwrite)
    skipped = [{"file": str(file.path), "reason": file.reason} for file in encoded.skipped]
    _print(encoded, output, skipped, as_json)
    unseen = any(file.unseen for file in encoded.skipped)
    raise typer.Exit(3 if encoded.without or unseen else 0)


def _print(encoded: "Encoded", output: Path, skipped: list[dict[str, str]], as_json: bool) -> None:
    from faceveil.cli.render import print_json
    from faceveil.photos import shown

    if as_json:
        print_json(
            {
                "output": str(output),
                "faces": encoded.faces,
                "without_a_face": encoded.without,
                "skipped": skipped,
            }
        )
        return
    for photo in encoded.without:
        print(shown(f"{photo['file']}: {photo['reason']}"), file=sys.stderr)
    for file in skipped:
        print(shown(f"skipped: {file['file']} ({file['reason']})"), file=sys.stderr)
    mean = sum(face["lpips"] for face in encoded.faces) / max(1, len(encoded.faces))
    error = f", mean LPIPS {mean:.3f}" if encoded.faces else ""
    typer.echo(f"{len(encoded.faces)} faces encoded{error}: {shown(output)}")
