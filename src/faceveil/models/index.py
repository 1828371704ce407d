"""Find a distribution's file on the user's own package indexes, and fetch it.

Only files are looked up and read: nothing is installed and no code of a distribution runs.
"""

import logging
import ssl
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.request import getproxies, proxy_bypass

import httpx2

from faceveil.errors import WeightsUnavailable
from faceveil.models.cards import Distribution
from faceveil.models.pip_settings import PipSettings, read_pip_settings

if TYPE_CHECKING:
    from unearth import Link
    from unearth.fetchers import PyPIClient

Progress = Callable[[str, int, int], None]  # what, bytes so far, bytes in all

ATTEMPTS = 4
IDENTITY = {"Accept-Encoding": "identity"}  # a Range counts the bytes of the file, not of a compressed answer


@dataclass(frozen=True)
class Location:
    """Where a distribution's file lies: on this machine, or behind a URL."""

    url: str
    shown: str  # the URL without its password
    path: Path | None = None


class Fetcher(ABC):
    """Where files are looked up and fetched from."""

    def __init__(self, session: httpx2.Client) -> None:
        self.session = session
        self.reasons: list[str] = []  # why a source had nothing, for the error message
        self.mismatches: list[str] = []

    def close(self) -> None:
        self.session.close()

    @abstractmethod
    def locate(self, wanted: Distribution) -> Iterator[Location]:
        """Every place that offers the file, local ones first."""

    def download(self, where: Location, wanted: Distribution, part: Path, progress: Progress | None) -> None:
        """Fetch the file into `part`, going on where an earlier attempt stopped."""
        for attempt in range(ATTEMPTS):
            try:
                self._stream(where, wanted, part, progress)
                return
            except (httpx2.HTTPError, httpx2.InvalidURL) as error:
                passing = isinstance(error, httpx2.TransportError)
                if not passing or attempt + 1 == ATTEMPTS:
                    raise WeightsUnavailable(f"{where.shown}: {error or type(error).__name__}") from error
                time.sleep(0.2 * 2**attempt)

    def _stream(self, where: Location, wanted: Distribution, part: Path, progress: Progress | None) -> None:
        done = part.stat().st_size if part.exists() else 0
        if done > wanted.size:
            part.unlink()
            done = 0
        if done == wanted.size:
            return
        headers = IDENTITY | ({"Range": f"bytes={done}-"} if done else {})
        with self.session.stream("GET", where.url, headers=headers) as answer:
            if answer.status_code >= 400:
                raise WeightsUnavailable(f"{where.shown}: HTTP {answer.status_code}")
            if done and not _continues_at(answer, done):
                done = 0  # the server sends the whole file again
            with part.open("ab" if done else "wb") as file:
                for chunk in answer.iter_raw():  # as it arrives, so that a break loses nothing
                    done += len(chunk)
                    if done > wanted.size:
                        part.unlink()
                        raise WeightsUnavailable(
                            f"{where.shown} is larger than the {wanted.size} bytes pinned"
                        )
                    file.write(chunk)
                    if progress:
                        progress(wanted.filename, done, wanted.size)
        if done < wanted.size:
            raise httpx2.ReadError(f"the connection ended after {done} of {wanted.size} bytes")


class Index(Fetcher):
    """The user's package indexes and find-links folders, searched as pip would."""

    def __init__(self, settings: PipSettings | None = None) -> None:
        self.settings = settings or read_pip_settings()
        super().__init__(_session(self.settings))

    def locate(self, wanted: Distribution) -> Iterator[Location]:
        """Every place that offers the file, local ones first; not those that publish another hash."""
        with _collected_warnings(self.reasons):
            for source in self._sources():
                try:
                    yield from self._search(source, wanted)
                except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError) as error:
                    self.reasons.append(f"{_shown(source)}: {error or type(error).__name__}")

    def _sources(self) -> Iterator[dict[str, list[str]]]:
        sources = [
            {"find_links": [str(Path(link).expanduser())]}
            for link in self.settings.find_links
            if "://" not in link
        ]
        remote = [{"find_links": [link]} for link in self.settings.find_links if "://" in link]
        remote += [{"index_urls": [url]} for url in self.settings.index_urls]
        # Places on this machine answer at once and need no network, so they come first.
        yield from sources
        yield from sorted(remote, key=lambda source: not _shown(source).startswith("file:"))

    def _search(self, source: dict[str, list[str]], wanted: Distribution) -> Iterator[Location]:
        from unearth import PackageFinder

        # ignore_compatibility: we want the file whatever Python or platform it was made for.
        finder = PackageFinder(self.session, ignore_compatibility=True, **source)  # type: ignore[arg-type]
        for package in finder.find_all_packages(wanted.name, allow_yanked=True):
            link = package.link
            if link.filename != wanted.filename:
                continue
            published = (link.hash_option or {}).get("sha256", [wanted.sha256])
            if wanted.sha256 not in published:
                self.mismatches.append(f"{link.redacted} is published with another sha256 than the card pins")
                continue
            yield _location(link)


def _continues_at(answer: httpx2.Response, offset: int) -> bool:
    content_range = answer.headers.get("Content-Range", "")
    return answer.status_code == 206 and content_range.startswith(f"bytes {offset}-")


def _location(link: "Link") -> Location:
    return Location(link.url_without_fragment, link.redacted, link.file_path if link.is_file else None)


def _shown(source: dict[str, list[str]]) -> str:
    url = next(iter(source.values()))[0]
    return without_password(url) if "://" in url else url


def without_password(url: str) -> str:
    """An address as it may be shown."""
    from unearth import Link

    return Link(url).redacted


def _session(settings: PipSettings) -> "PyPIClient":
    from unearth.auth import MultiDomainBasicAuth
    from unearth.fetchers import PyPIClient

    try:
        session = PyPIClient(
            trusted_hosts=settings.trusted_hosts,
            verify=_ssl_context(settings),
            timeout=settings.timeout,
            proxy=settings.proxy,
            follow_redirects=True,
            mounts=_trusted_through_proxy(settings),
        )
    except (ValueError, httpx2.InvalidURL) as error:  # not shown: a proxy's address may hold a password
        raise WeightsUnavailable("pip's proxy or trusted-host setting is not an address") from error
    # Passwords come from the URL, netrc or the keyring; a prompt would hang a batch job.
    session.auth = MultiDomainBasicAuth(prompting=False, index_urls=settings.index_urls)
    return session


def _ssl_context(settings: PipSettings) -> ssl.SSLContext | bool:
    if settings.cert is None and settings.client_cert is None:
        return True  # the library's default: the system's certificates, or SSL_CERT_FILE
    where = Path(settings.cert) if settings.cert else None
    try:
        context = ssl.create_default_context(
            cafile=str(where) if where and not where.is_dir() else None,
            capath=str(where) if where and where.is_dir() else None,
        )
        if settings.client_cert:
            context.load_cert_chain(settings.client_cert)
    except OSError as error:
        raise WeightsUnavailable(
            f"pip's settings name an unreadable certificate ({settings.client_cert or settings.cert}: "
            f"{error}). Correct `cert` or `client-cert` there."
        ) from error
    return context


def _trusted_through_proxy(settings: PipSettings) -> dict[str, httpx2.BaseTransport]:
    """A trusted host is not checked, but it is still reached through the proxy."""
    mounts: dict[str, httpx2.BaseTransport] = {}
    for host in settings.trusted_hosts:
        proxy = settings.proxy or (None if proxy_bypass(host) else getproxies().get("https"))
        if proxy:
            mounts[f"all://{host}"] = httpx2.HTTPTransport(verify=False, proxy=proxy)
    return mounts


class _collected_warnings(logging.Handler):
    """Keep what the finder warns of (404, 401, an untrusted host) for our own message."""

    def __init__(self, into: list[str]) -> None:
        super().__init__(logging.WARNING)
        self.into = into

    def emit(self, record: logging.LogRecord) -> None:
        self.into.append(record.getMessage())

    def __enter__(self) -> None:
        logging.getLogger("unearth").addHandler(self)

    def __exit__(self, *_: object) -> None:
        logging.getLogger("unearth").removeHandler(self)
