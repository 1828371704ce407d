"""The command line: one file per command; each parses, calls the library, renders.

Command modules import only typer at the top, so that `faceveil --help` stays fast; the library is imported
inside the command. Where a command is asked for, no other is imported: all of them take longer than many a photo.
"""

import gc
import os
import signal
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from types import FrameType
from typing import Annotated, Any, TextIO

import typer

COMMANDS = {  # where each is, in the order of the help: a function, or `app` with commands of its own
    "anonymize": "anonymize:anonymize",
    "evaluate": "evaluate:evaluate",
    "certify": "certify:certify",
    "verify": "verify:verify",
    "methods": "methods:methods",
    "models": "models:app",
    "group": "group:group",
    "leaks": "leaks:leaks",
    "attributes": "attributes:attributes",
    "doctor": "doctor:doctor",
    "tune": "tune:tune",
    "analyze": "analyze:app",
    "sample": "sample:sample",
    "encode": "encode:encode",
    "render": "render_latents:render",
}
IMPORTING = 50_000  # objects: imports make a great many, and none of them is garbage
IDLE = "20"  # NumPy's threads wait 2^20 ticks of the processor for work and then sleep; by default 2^26, which costs

SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")  # that end a run: what it leaves is cleared up or named


class Stopped(BaseException):
    """A signal asks for the end."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def __getattr__(name: str) -> Any:
    if name == "app":
        return make_app(COMMANDS)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def make_app(names: Iterable[str]) -> typer.Typer:
    """The program with these commands."""
    app = typer.Typer(
        name="faceveil",
        help="Replace the faces in photos, state what the result guarantees, prove it by attack.",
        invoke_without_command=True,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
    )
    app.callback()(_options)
    for name in names:
        module, _, what = COMMANDS[name].partition(":")
        command = getattr(import_module(f"{__name__}.{module}"), what)
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name)
        else:
            app.command(name)(command)
    return app


def _version(wanted: bool) -> None:
    if wanted:
        from faceveil.cli.start import print_version

        print_version()
        raise typer.Exit


def _options(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Print the version and those of the weights."
        ),
    ] = False,
) -> None:
    """Replace the faces in photos, state what the result guarantees, prove it by attack."""
    if context.invoked_subcommand is None:
        from faceveil.cli.start import print_next_steps

        print_next_steps()


def main() -> None:
    """Run the program; a FaceveilError becomes one line on stderr and its exit code."""
    from faceveil.errors import FaceveilError

    for stream in (sys.stdout, sys.stderr):
        _print_any_name(stream)
    gc.set_threshold(IMPORTING)
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", IDLE)  # read when NumPy is imported
    asked = sys.argv[1:2]
    try:
        with _signals_end_the_run():
            make_app(asked if asked and asked[0] in COMMANDS else COMMANDS)()
    except FaceveilError as error:
        from faceveil.photos import shown

        print(shown(f"faceveil: {error}"), file=sys.stderr)
        sys.exit(error.exit_code)
    except Stopped as end:
        print(f"faceveil: stopped by {signal.Signals(end.number).name}.", file=sys.stderr)
        sys.exit(128 + end.number)


def _print_any_name(stream: TextIO) -> None:
    """Names may hold bytes that are no text: no line of output may fail for that."""
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(errors="backslashreplace")


@contextmanager
def _signals_end_the_run() -> Iterator[None]:
    """Each of SIGNALS raises Stopped, once; one that was ignored from the start (nohup) stays ignored."""
    numbers = [getattr(signal, name) for name in SIGNALS if hasattr(signal, name)]
    ours = [one for one in numbers if signal.getsignal(one) in (signal.SIG_DFL, signal.default_int_handler)]

    def stop(number: int, frame: FrameType | None) -> None:
        for one in ours:  # the next must not cut off the clearing up
            signal.signal(one, signal.SIG_IGN)
        raise Stopped(number)

    before = {}
    with suppress(ValueError):  # not the main thread
        before = {one: signal.signal(one, stop) for one in ours}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


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
