"""The command line: one file per command; each parses, calls the library, renders.

Command modules import only typer at the top, so that `faceveil --help` stays fast; the library is imported
inside the command.
"""

import gc
import os
import sys
from contextlib import suppress
from typing import Annotated

import typer

from faceveil.cli import (
    analyze,
    anonymize,
    attributes,
    certify,
    doctor,
    encode,
    evaluate,
    group,
    leaks,
    methods,
    models,
    render_latents,
    sample,
    tune,
    verify,
)

IMPORTING = 50_000  # objects: imports make a great many, and none of them is garbage
IDLE = "20"  # NumPy's threads wait 2^20 ticks of the processor for work and then sleep; by default 2^26, which costs

app = typer.Typer(
    name="faceveil",
    help="Replace the faces in photos, state what the result guarantees, prove it by attack.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
)
app.command("anonymize")(anonymize.anonymize)
app.command("evaluate")(evaluate.evaluate)
app.command("certify")(certify.certify)
app.command("verify")(verify.verify)
app.command("methods")(methods.methods)
app.add_typer(models.app, name="models")
app.command("group")(group.group)
app.command("leaks")(leaks.leaks)
app.command("attributes")(attributes.attributes)
app.command("doctor")(doctor.doctor)
app.command("tune")(tune.tune)
app.add_typer(analyze.app, name="analyze")
app.command("sample")(sample.sample)
app.command("encode")(encode.encode)
app.command("render")(render_latents.render)


def _version(wanted: bool) -> None:
    if wanted:
        from faceveil import __version__

        print(__version__)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Replace the faces in photos, state what the result guarantees, prove it by attack."""


def main() -> None:
    """Run the program; a FaceveilError becomes one line on stderr and its exit code."""
    from faceveil.errors import FaceveilError

    gc.set_threshold(IMPORTING)
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", IDLE)  # read when NumPy is imported
    try:
        app()
    except FaceveilError as error:
        print(f"faceveil: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        print("faceveil: interrupted.", file=sys.stderr)
        sys.exit(130)


def program() -> None:
    """The program itself: `main`, and then the end at once, for the system frees networks and modules sooner."""
    code = 0
    try:
        main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    with suppress(OSError):  # such as a pipe that was closed: Python's own way out says so
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)
