"""The user's own pip settings: which indexes, folders, proxy and certificates to use.

Read from pip's files and variables rather than from pip, which need not be installed beside us. The order is
pip's own: global files, the user's files, the environment's file, PIP_CONFIG_FILE, then PIP_* variables; and
inside the files [global], then [install], then [download].
"""

import configparser
import locale
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from faceveil.errors import UsageError

SECTIONS = ("global", "install", "download")
CONFIG_NAME = "pip.ini" if sys.platform == "win32" else "pip.conf"


@dataclass(frozen=True)
class PipSettings:
    """What the user told pip about where distributions come from."""

    index_urls: tuple[str, ...]
    find_links: tuple[str, ...] = ()
    trusted_hosts: tuple[str, ...] = ()
    cert: str | None = None
    client_cert: str | None = None
    proxy: str | None = None
    timeout: float = 15.0


def read_pip_settings(environ: Mapping[str, str] = os.environ) -> PipSettings:
    """The settings that pip itself would use here and now."""
    values = _values(environ)
    extra = values.get("extra-index-url", "").split()
    indexes = [values.get("index-url") or default_index_url(), *extra]
    bundle = values.get("cert") or environ.get("REQUESTS_CA_BUNDLE") or environ.get("CURL_CA_BUNDLE")
    return PipSettings(
        index_urls=() if _is_true(values.get("no-index", "")) else tuple(dict.fromkeys(indexes)),
        find_links=tuple(dict.fromkeys(values.get("find-links", "").split())),
        trusted_hosts=tuple(values.get("trusted-host", "").split()),
        cert=bundle or None,
        client_cert=values.get("client-cert"),
        proxy=values.get("proxy"),
        timeout=float(values.get("timeout") or values.get("default-timeout") or 15),
    )


def default_index_url() -> str:
    """The public index, as the library that searches it knows it."""
    from unearth import PackageFinder

    return str(PackageFinder().sources[0]["url"])


def config_files(environ: Mapping[str, str] = os.environ) -> Iterator[Path]:
    """pip's settings files, weakest first; the ones that do not exist are simply empty."""
    named = environ.get("PIP_CONFIG_FILE")
    if named == os.devnull:  # pip's own way to switch every file off
        return
    yield from _global_files(environ)
    if not (named and Path(named).exists()):
        yield from _user_files()
    yield Path(sys.prefix) / CONFIG_NAME
    if named:
        yield Path(named)


def _global_files(environ: Mapping[str, str]) -> Iterator[Path]:
    if sys.platform in ("win32", "darwin"):
        yield Path(platformdirs.site_data_dir("pip", appauthor=False)) / CONFIG_NAME
        return
    for folder in environ.get("XDG_CONFIG_DIRS", "/etc/xdg").split(os.pathsep):
        yield Path(folder) / "pip" / CONFIG_NAME
    yield Path("/etc") / CONFIG_NAME


def _user_files() -> Iterator[Path]:
    yield Path.home() / ("pip" if sys.platform == "win32" else ".pip") / CONFIG_NAME
    folder = Path(platformdirs.user_config_dir("pip", appauthor=False, roaming=True))
    if sys.platform == "darwin" and not folder.is_dir():
        folder = Path.home() / ".config" / "pip"
    yield folder / CONFIG_NAME


def _values(environ: Mapping[str, str]) -> dict[str, str]:
    in_files: dict[tuple[str, str], str] = {}
    for path in config_files(environ):
        in_files.update(_read(path))
    values = {
        key: value
        for section in SECTIONS
        for (owner, key), value in in_files.items()
        if owner == section and value  # pip ignores an empty value
    }
    for name, value in environ.items():
        if name.startswith("PIP_") and value:
            values[_normal(name[4:])] = value
    return values


def _read(path: Path) -> dict[tuple[str, str], str]:
    parser = configparser.RawConfigParser()
    try:
        parser.read(path, encoding=locale.getencoding())
    except (configparser.Error, UnicodeDecodeError) as error:
        raise UsageError(
            f"pip's settings file {path} cannot be read: {error}. Mend it or move it away."
        ) from error
    return {
        (section, _normal(key)): value
        for section in parser.sections()
        for key, value in parser.items(section)
    }


def _normal(name: str) -> str:
    return name.lower().replace("_", "-").removeprefix("--")


def _is_true(value: str) -> bool:
    return value.strip().lower() in ("y", "yes", "t", "true", "on", "1")
