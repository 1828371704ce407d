"""The user's own npm settings: which registry to ask, and what to show it.

Read as npm reads them: `npm_config_*` variables before the user's .npmrc, and that before a global file that they
name.
"""

import base64
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

DEFAULT_REGISTRY = "https://registry.npmjs.org/"  # npm's documented default of `registry`
PREFIX = "npm_config_"


@dataclass(frozen=True)
class NpmSettings:
    """What the user told npm about where packages come from."""

    registry: str = DEFAULT_REGISTRY
    proxy: str | None = None
    cafile: str | None = None
    strict_ssl: bool = True
    values: Mapping[str, str] = field(default_factory=dict, repr=False)  # may hold passwords

    def authorization(self, url: str) -> str | None:
        """The header for an address: that of the longest part of it for which there is a token or password."""
        parts = urlsplit(url)
        place = f"//{parts.netloc.rpartition('@')[2]}{parts.path}"
        while len(place) > 2:
            place = place[: place.rstrip("/").rfind("/") + 1]
            if found := self._authorization_of(place):
                return found
        return None

    def _authorization_of(self, place: str) -> str | None:
        token, basic, user, password = (
            self.values.get(f"{place}:{name}") for name in ("_authToken", "_auth", "username", "_password")
        )
        if token:
            return f"Bearer {token}"
        if user and password:
            plain = f"{user}:".encode() + base64.b64decode(password)
            basic = base64.b64encode(plain).decode()
        return f"Basic {basic}" if basic else None


def read_npm_settings(package: str, environ: Mapping[str, str] = os.environ) -> NpmSettings:
    """The settings that npm itself would use for a package here and now."""
    variables = _variables(environ)
    user = Path(variables.get("userconfig") or Path.home() / ".npmrc")
    named = [Path(variables["globalconfig"])] if "globalconfig" in variables else []
    values: dict[str, str] = {}
    for path in (*named, user):
        values.update(_read(path, environ))
    values.update(variables)
    scope = package.partition("/")[0] if package.startswith("@") else ""
    registry = values.get(f"{scope}:registry") or values.get("registry") or DEFAULT_REGISTRY
    return NpmSettings(
        registry=registry.rstrip("/") + "/",
        proxy=values.get("https-proxy") or values.get("proxy") or None,
        cafile=values.get("cafile") or None,
        strict_ssl=values.get("strict-ssl", "true") != "false",
        values=values,
    )


def _variables(environ: Mapping[str, str]) -> dict[str, str]:
    found = {}
    for name, value in environ.items():
        if name.lower().startswith(PREFIX) and value:
            key = name[len(PREFIX) :]
            found[key if key.startswith(("//", "@")) else key.lower().replace("_", "-")] = value
    return found


def _read(path: Path, environ: Mapping[str, str]) -> dict[str, str]:
    try:
        lines = path.expanduser().read_text("utf-8").splitlines()
    except FileNotFoundError:
        return {}
    pairs = [
        line.partition("=") for line in lines if "=" in line and not line.lstrip().startswith((";", "#"))
    ]
    return {
        key.strip(): re.sub(
            r"\$\{(\w+)\}", lambda name: environ.get(name[1], name[0]), value.strip().strip('"')
        )
        for key, _, value in pairs
    }
