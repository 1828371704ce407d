"""faceveil encode: the faces of photos as latents."""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Callable

    from faceveil.models.mobilestylegan import Floats
    from faceveil.photos import FoundPhoto
    from faceveil.spaces.inversion import Inversion


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
    from faceveil.errors import OutputError
    from faceveil.models.generator import cores
    from faceveil.models.runtime import allow_threads
    from faceveil.photos import find_photos, write_bytes

    if output.exists() and not overwrite:
        raise OutputError(f"{output} exists. Choose another name, or say --overwrite.")
    found = find_photos(photos)
    encoded = _Encoded()
    allow_threads(cores())
    look = partial(_look_at, detector=detector, refine=refine)
    with _bar(len(found.photos)) as advance, ThreadPoolExecutor(cores()) as pool:
        for photo, outcome in zip(found.photos, pool.map(look, found.photos), strict=True):
            encoded.add(photo, outcome)
            advance()
    write_bytes(encoded.to_bytes(), output, overwrite=overwrite)
    skipped = [{"file": str(file.path), "reason": file.reason} for file in found.skipped]
    _print(encoded, output, skipped, as_json)
    unseen = any(file.unseen for file in found.skipped)
    raise typer.Exit(3 if encoded.without or unseen else 0)


def _look_at(photo: "FoundPhoto", detector: str, refine: int) -> "Inversion | str":
    """The codes of a photo's faces, or why there are none."""
    from faceveil.errors import PhotoError
    from faceveil.faces import find_faces
    from faceveil.photos import read_photo
    from faceveil.pipeline.work import without_path
    from faceveil.spaces.inversion import invert

    try:
        image = read_photo(photo.path).pixels
    except PhotoError as error:
        return without_path(str(error), photo.path)
    faces = find_faces(image, detector)
    return invert(image, faces, refine) if faces else "no face was found"


@dataclass
class _Encoded:
    """What came of the photos so far."""

    codes: "list[Floats]" = field(default_factory=list)
    faces: list[dict[str, Any]] = field(default_factory=list)
    without: list[dict[str, str]] = field(default_factory=list)  # photos that gave no face, and why

    def add(self, photo: "FoundPhoto", outcome: "Inversion | str") -> None:
        if isinstance(outcome, str):
            self.without.append({"file": str(photo.path), "reason": outcome})
            return
        self.codes += list(outcome.wplus)
        errors = zip(outcome.errors, outcome.pixel_errors, strict=True)
        for number, (look, pixels) in enumerate(errors, start=1):
            taken = {face["name"] for face in self.faces}
            name = _name(photo.relative, number, len(outcome.wplus), taken)
            figures = {"lpips": round(float(look), 4), "pixels": round(float(pixels), 2)}
            self.faces.append({"photo": str(photo.path), "name": name, **figures})

    def to_bytes(self) -> bytes:
        import numpy as np

        from faceveil.models.latents import Latents
        from faceveil.models.mobilestylegan import SLOTS, STYLE_DIM

        codes = np.stack(self.codes) if self.codes else np.zeros((0, SLOTS, STYLE_DIM), np.float32)
        errors = np.array([face["lpips"] for face in self.faces], np.float32)
        return Latents(codes, tuple(face["name"] for face in self.faces), errors).to_bytes()


def _name(relative: Path, number: int, count: int, taken: set[str]) -> str:
    """The photo's name without suffix, and the face's number where there are several."""
    name = relative.with_suffix("").as_posix() + ("" if count == 1 else f".face-{number}")
    same = 1
    unique = name
    while unique in taken:  # a.jpg beside a.png
        same += 1
        unique = f"{name}.{same}"
    return unique


@contextmanager
def _bar(total: int) -> "Iterator[Callable[[], None]]":
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as bar:
        task = bar.add_task("encoding", total=total)
        yield lambda: bar.advance(task)


def _print(encoded: _Encoded, output: Path, skipped: list[dict[str, str]], as_json: bool) -> None:
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
