"""faceveil attributes: what networks read in the faces of photos."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from faceveil.models.attrnet import AttrNet
    from faceveil.photos.find import Found


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
    from faceveil.api.faces import attributes
    from faceveil.cli.render import counted
    from faceveil.errors import PhotoError

    records: list[dict[str, Any]] = []
    with counted("reading faces", len(found.photos)) as advance:
        for photo in found.photos:
            try:
                faces = attributes(photo.path, thorough=thorough, attrnet=net)
            except PhotoError as error:
                records.append({"file": str(photo.path), "error": str(error)})
            else:
                records.append({"file": str(photo.path), "faces": list(faces)})
            advance()
    return records


def _print(records: list[dict[str, Any]], skipped: list[dict[str, str]]) -> None:
    from faceveil.api.faces import ATTRIBUTE_COLUMNS, attribute_row
    from faceveil.cli.render import print_table
    from faceveil.photos import shown

    head = ("photo", "face", *ATTRIBUTE_COLUMNS)
    rows = [
        (record["file"], str(number), *attribute_row(face))
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
