"""faceveil doctor: what is installed, which weights are here, what is missing and how to get it."""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from faceveil.models import Store

Verdict = Literal["ok", "missing", "broken"]  # only what is broken makes the exit code 1


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at, and the command that mends it."""

    what: str
    verdict: Verdict
    detail: str
    remedy: str = ""


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for a program to read.")] = False,
) -> None:
    """Say what is installed, which weights are here, what is missing and how to get it."""
    from faceveil.cli.render import print_json, print_table

    findings = [*_machine(), *_requirements(), _cache_folder(), *_weights(), *_extras()]
    broken = [finding for finding in findings if finding.verdict == "broken"]
    if as_json:
        print_json({"ok": not broken, "findings": [asdict(finding) for finding in findings]})
    else:
        print_table(
            ["what", "state", "detail", "remedy"],
            [[finding.what, finding.verdict, finding.detail, finding.remedy] for finding in findings],
        )
        typer.echo("Something needed is broken; see its remedy." if broken else "faceveil is ready to work.")
    if broken:
        raise typer.Exit(1)


def _machine() -> list[Finding]:
    import os
    import platform

    import faceveil

    return [
        Finding("faceveil", "ok", faceveil.__version__),
        Finding("python", "ok", platform.python_version()),
        Finding("platform", "ok", platform.platform()),
        Finding("cores", "ok", str(os.cpu_count())),
    ]


def _requirements() -> list[Finding]:
    """Every dependency with its version; those with native code are imported, where they fail first."""
    from importlib.metadata import PackageNotFoundError, requires, version

    from packaging.requirements import Requirement

    native = {"opencv-python-headless": "cv2", "dlib-bin": "dlib", "openvino": "openvino", "numpy": "numpy"}
    findings = []
    for line in requires("faceveil") or []:
        requirement = Requirement(line)
        if requirement.marker and not requirement.marker.evaluate({"extra": ""}):
            continue
        remedy = f"pip install '{requirement}'"
        try:
            found = version(requirement.name)
            if requirement.name in native:
                _import(native[requirement.name])
        except PackageNotFoundError:
            findings.append(Finding(requirement.name, "broken", "not installed", remedy))
        except Exception as error:
            findings.append(Finding(requirement.name, "broken", f"cannot be imported: {error}", remedy))
        else:
            fits = requirement.specifier.contains(found, prereleases=True)
            detail = found if fits else f"{found}, but {requirement.specifier} is needed"
            findings.append(
                Finding(requirement.name, "ok" if fits else "broken", detail, "" if fits else remedy)
            )
    return findings


def _import(name: str) -> None:
    from importlib import import_module

    from faceveil.models.runtime import openvino

    if name == "openvino":
        openvino()
    else:
        import_module(name)


def _cache_folder() -> Finding:
    import tempfile

    from faceveil.models import Store
    from faceveil.pipeline import Settings

    home = Store().home
    try:
        home.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=home):
            pass
    except OSError as error:
        complete = all(Store().has(card) for card in Settings().cards)
        remedy = "set FACEVEIL_HOME to a folder that can be written"
        # A read-only folder that already holds the weights works.
        return Finding("weights folder", "ok" if complete else "broken", f"{home}: {error.strerror}", remedy)
    return Finding("weights folder", "ok", str(home))


def _weights() -> list[Finding]:
    from faceveil.models import Store, cards

    store = Store()
    return [_weight(entry.id, store) for entry in cards()]


def _weight(card_id: str, store: "Store") -> Finding:
    entry = store.card(card_id)
    if store.has(card_id):
        return Finding(card_id, "ok", str(store.folder(entry)))
    if any((store.folder(entry) / member.name).exists() for member in entry.members):
        return Finding(card_id, "broken", "damaged", f"faceveil models pull {card_id}")
    return Finding(card_id, "missing", f"{entry.size / 1e6:.1f} MB", f"faceveil models pull {card_id}")


def _extras() -> list[Finding]:
    return [
        _extra("torch", "needed only for training and StyleGAN2", "torch"),
        _extra("pillow-heif", "needed only for HEIC, as iPhones write it", "heic"),
    ]


def _extra(distribution: str, purpose: str, extra: str) -> Finding:
    from importlib.metadata import PackageNotFoundError, version

    what = f"{distribution} (optional)"
    try:
        return Finding(what, "ok", version(distribution))
    except PackageNotFoundError:
        return Finding(what, "missing", purpose, f"pip install 'faceveil[{extra}]'")
