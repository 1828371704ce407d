"""Our reading of pip's settings, against pip's own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from faceveil.errors import UsageError
from faceveil.models.pip_settings import read_pip_settings

# pip's own parser of the `download` command, after it has read files and variables; one answer per scene.
PIP_SAYS = """
import json, os, sys
from pip._internal.commands import create_command
answers = []
for environ in json.load(sys.stdin):
    os.environ.clear()
    os.environ.update(environ)
    options, _ = create_command("download").parser.parse_args([])
    answers.append({
        "indexes": [] if options.no_index else [options.index_url, *options.extra_index_urls],
        "links": options.find_links, "hosts": options.trusted_hosts, "cert": options.cert,
        "client": options.client_cert, "proxy": options.proxy or None, "timeout": float(options.timeout),
    })
print(json.dumps(answers))
"""

GLOBAL, USER, LEGACY, NAMED = "etc/pip/pip.conf", "config/pip/pip.conf", ".pip/pip.conf", "named.conf"
SCENES = {
    "nothing": ({}, {}),
    "user over global": (
        {
            GLOBAL: "[global]\nindex-url = https://a.test/simple\ntimeout = 3",
            USER: "[global]\nindex-url=https://b.test/simple",
        },
        {},
    ),
    "user over legacy": (
        {LEGACY: "[global]\nproxy = http://old.test:1", USER: "[global]\nproxy = http://new.test:1"},
        {},
    ),
    "section of the command over global": (
        {
            USER: "[download]\nindex-url = https://d.test/simple\n"
            "[global]\nindex-url = https://g.test/simple\ntrusted-host = g.test\n  h.test"
        },
        {},
    ),
    "weaker file's command section over stronger file's global": (
        {
            GLOBAL: "[download]\nindex-url = https://d.test/simple",
            USER: "[global]\nindex-url = https://g.test/simple",
        },
        {},
    ),
    "variables over files": (
        {USER: "[global]\nextra_index_url = https://x.test/a https://x.test/b\nfind-links = /wheels"},
        {"PIP_EXTRA_INDEX_URL": "https://y.test/a", "PIP_DEFAULT_TIMEOUT": "7"},
    ),
    "an empty variable counts for nothing": (
        {USER: "[global]\nfind-links =\n  /wheels\n  /more"},
        {"PIP_FIND_LINKS": ""},
    ),
    "an empty value hides the weaker file's": (
        {GLOBAL: "[global]\nproxy = http://p.test:1", USER: "[global]\nproxy ="},
        {},
    ),
    "the named file replaces the user's": (
        {
            USER: "[global]\nindex-url = https://u.test/simple\nclient-cert = /c.pem",
            NAMED: "[global]\ncert = /x.pem",
        },
        {"PIP_CONFIG_FILE": NAMED},
    ),
    "a named file that is not there": (
        {USER: "[global]\nindex-url = https://u.test/simple"},
        {"PIP_CONFIG_FILE": "gone.conf"},
    ),
    "no files at all": (
        {USER: "[global]\nindex-url = https://u.test/simple"},
        {"PIP_CONFIG_FILE": os.devnull},
    ),
    "no index": ({USER: "[global]\nno-index = yes\nfind-links = /wheels"}, {}),
    "no index, denied": ({USER: "[global]\nno-index = true"}, {"PIP_NO_INDEX": "0"}),
}


def lay_out(scene: str, folder: Path) -> dict[str, str]:
    """Write a scene's files and give its environment."""
    files, variables = SCENES[scene]
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    named = variables.get("PIP_CONFIG_FILE", os.devnull)
    if named != os.devnull:
        variables = variables | {"PIP_CONFIG_FILE": str(folder / named)}
    return {
        "HOME": str(folder),
        "XDG_CONFIG_HOME": str(folder / "config"),
        "XDG_CONFIG_DIRS": str(folder / "etc"),
        "PATH": os.environ["PATH"],
        **variables,
    }


@pytest.fixture(scope="module")
def scenes(tmp_path_factory):
    """Each scene's environment, and what pip itself reads from it."""
    pytest.importorskip("pip")
    environs = [lay_out(scene, tmp_path_factory.mktemp("scene")) for scene in SCENES]
    command = [sys.executable, "-c", PIP_SAYS]
    done = subprocess.run(command, input=json.dumps(environs), capture_output=True, text=True, check=True)
    return dict(zip(SCENES, zip(environs, json.loads(done.stdout), strict=True), strict=True))


@pytest.mark.skipif(sys.platform != "linux", reason="the scenes lay out Linux's folders")
@pytest.mark.parametrize("scene", SCENES)
def test_settings_are_those_that_pip_would_use(scene, scenes, monkeypatch):
    environ, pip = scenes[scene]
    for name in os.environ:
        monkeypatch.delenv(name)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    ours = read_pip_settings()
    assert [url.rstrip("/") for url in ours.index_urls] == [url.rstrip("/") for url in pip["indexes"]]
    assert list(ours.find_links) == pip["links"]
    assert list(ours.trusted_hosts) == pip["hosts"]
    assert (ours.cert, ours.client_cert, ours.proxy) == (pip["cert"], pip["client"], pip["proxy"])
    assert ours.timeout == pip["timeout"]


def test_the_install_section_counts_too(tmp_path):
    (tmp_path / "pip.conf").write_text("[install]\nfind-links = /wheels\n")
    assert read_pip_settings({"PIP_CONFIG_FILE": str(tmp_path / "pip.conf")}).find_links == ("/wheels",)


def test_certificates_of_other_tools_are_used(tmp_path):
    settings = read_pip_settings({"PIP_CONFIG_FILE": os.devnull, "REQUESTS_CA_BUNDLE": "/ca.pem"})
    assert settings.cert == "/ca.pem"


def test_a_broken_settings_file_is_named(tmp_path):
    (tmp_path / "pip.conf").write_text("no section\n")
    with pytest.raises(UsageError, match=r"pip\.conf"):
        read_pip_settings({"PIP_CONFIG_FILE": str(tmp_path / "pip.conf")})
