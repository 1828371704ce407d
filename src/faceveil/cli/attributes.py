"""faceveil attributes: what networks read in the faces of photos."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from faceveil.faces import Face
    from faceveil.faces.face import Image
    from faceveil.models.attrnet import AttrNet
    from faceveil.photos.find import Found

ANGLES = ("yaw", "pitch", "roll")
SHOWN, PLAIN = 3, 0.3  # of the blendshapes, how many are shown, and from which strength


def attributes(
    photos: Annotated[
        list[Path], typer.Argument(help="Files and folders; folders are searched recursively.")
    ],
    attrnet: Annotated[
        Path | None, typer.Option(help="Your own attribute network, as training/celeba.py writes it.")
    ] = None,
    thorough: Annotated[
        bool, typer.Option("--thorough", help="Scan longer, for faces under 24 px in large photos.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for a program to read.")] = False,
) -> None:
    """Read age, gender (as a classifier sees it), expression, pose, skin tone, labels and movements of every face.

    Exit code: 0 a face in every photo; 1 a photo could not be read; 2 wrong usage; 3 a photo shows no face.
    """
    from faceveil.models.attrnet import WEIGHTS, AttrNet
    from faceveil.photos import find_photos

    found = find_photos(photos)
    net = AttrNet(attrnet or WEIGHTS)
    records = _read_all(found, net, thorough)
    unreadable = any("error" in record for record in records) or any(file.unseen for file in found.skipped)
    faceless = any(record.get("faces") == [] for record in records)
    skipped = [{"file": str(file.path), "reason": file.reason} for file in found.skipped]
    if as_json:
        from faceveil.cli.render import print_json

        print_json({"labels": net.labels, "photos": records, "skipped": skipped})
    else:
        _print(records, skipped)
    raise typer.Exit(1 if unreadable else 3 if faceless else 0)


def _read_all(found: "Found", net: "AttrNet", thorough: bool) -> list[dict[str, Any]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from faceveil.errors import PhotoError
    from faceveil.faces import find_faces
    from faceveil.photos import read_photo

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    records: list[dict[str, Any]] = []
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as bar:
        for photo in bar.track(found.photos, description="reading faces"):
            try:
                pixels = read_photo(photo.path).pixels
            except PhotoError as error:
                records.append({"file": str(photo.path), "error": str(error)})
                continue
            faces = [_read(pixels, face, net) for face in find_faces(pixels, thorough=thorough)]
            records.append({"file": str(photo.path), "faces": faces})
    return records


def _read(pixels: "Image", face: "Face", net: "AttrNet") -> dict[str, Any]:
    """One face as a program reads it; every number but age, angles and box lies between 0 and 1."""
    import math

    from faceveil.faces import blendshapes, pose
    from faceveil.faces.attributes import attribute_vector, skin_angle
    from faceveil.faces.attributes import attributes as read
    from faceveil.models.attributes import EXPRESSIONS

    seen, head, skin = read(pixels, face), pose(face), skin_angle(pixels, face)
    return {
        "box_xyxy": [round(float(v), 1) for v in face.box_xyxy],
        "age": round(seen.age, 1),
        "female": _short(seen.female),
        "expression": EXPRESSIONS[int(seen.expression.argmax())],
        "expressions": dict(zip(EXPRESSIONS, map(_short, seen.expression), strict=True)),
        "pose": {name: round(getattr(head, name), 1) for name in ANGLES},
        "skin_angle": None if math.isnan(skin) else round(skin, 1),
        "labels": dict(
            zip(net.labels, map(_short, attribute_vector(pixels, face, net.labels, net)), strict=True)
        ),
        "blendshapes": {name: _short(value) for name, value in blendshapes(pixels, face).named.items()},
    }


def _short(value: float) -> float:
    return round(float(value), 4)


def _print(records: list[dict[str, Any]], skipped: list[dict[str, str]]) -> None:
    from faceveil.cli.render import print_table
    from faceveil.photos import shown

    head = ("photo", "face", "age", "gender seen", "expression", *ANGLES, "skin", "shows", "does")
    rows = [
        _row(record["file"], number, face)
        for record in records
        for number, face in enumerate(record.get("faces", ()), start=1)
    ]
    if rows:
        print_table(head, rows)
    for record in records:
        if "error" in record:
            print(shown(f"unreadable: {record['error']}"), file=sys.stderr)
        elif not record["faces"]:
            print(shown(f"no face: {record['file']}"), file=sys.stderr)
    for file in skipped:
        print(shown(f"skipped: {file['file']} ({file['reason']})"), file=sys.stderr)


def _row(file: str, number: int, face: dict[str, Any]) -> tuple[str, ...]:
    gender = "female" if face["female"] > 0.5 else "male"
    angles = [f"{face['pose'][axis]:+.0f}" for axis in ANGLES]
    skin = "" if face["skin_angle"] is None else f"{face['skin_angle']:.0f}"
    shows = ", ".join(label for label, probability in face["labels"].items() if probability > 0.5)
    does = ", ".join(_strongest(face["blendshapes"]))
    return file, str(number), f"{face['age']:.0f}", gender, face["expression"], *angles, skin, shows, does


def _strongest(blendshapes: dict[str, float]) -> list[str]:
    """The few that are plainly there."""
    order = sorted(blendshapes, key=lambda name: -blendshapes[name])
    return [f"{name} {blendshapes[name]:.1f}" for name in order[:SHOWN] if blendshapes[name] >= PLAIN]
