"""Networks that an earlier run prepared: the same bits, and nothing that anybody else could have written."""

import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from faceveil.errors import WeightsError
from faceveil.faces import blazeface, mesh, yunet
from faceveil.models import prepared, runtime
from faceveil.models.prepared import Recipe
from faceveil.models.runtime import Network, read_model

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="nothing is kept there")
CARD = "yunet.2023mar"
NETWORKS = {
    "proposals": (lambda: yunet._quick_proposer.__wrapped__(), (1, 128, 192, 3)),
    "close looks": (lambda: yunet._looker.__wrapped__(4), (4, 128, 128, 3)),
    "the second detector": (lambda: blazeface._network.__wrapped__(256, 384), (1, 256, 384, 3)),
    "the mesh": (lambda: mesh._network.__wrapped__(), (1, 192, 192, 3)),
}


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setattr(prepared, "folder", lambda: tmp_path / "prepared")
    return tmp_path / "prepared"


def recipe(times: list[str] | None = None) -> Recipe:
    """YuNet as it comes; `times` gets an entry whenever it is built."""

    def build():
        (times if times is not None else []).append("built")
        return read_model(CARD)

    return Recipe(CARD, "as it comes", build)


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("streams", [1, 2])
def test_a_kept_network_gives_the_same_bits(home, monkeypatch, name, streams):
    make, shape = NETWORKS[name]
    monkeypatch.setattr(runtime, "_streams", streams)
    picture = np.random.default_rng(0).integers(0, 256, shape).astype(np.uint8)
    given = picture.astype(np.float32) / 255 if name == "the mesh" else picture
    fresh = make()(given)
    assert len(list(home.iterdir())) == 1
    kept = make()
    with ThreadPoolExecutor(streams) as pool:
        for answers in pool.map(lambda _: kept(given), range(4)):
            assert all(np.array_equal(one, other) for one, other in zip(fresh, answers, strict=True))


def test_a_kept_network_is_not_built_again(home):
    times: list[str] = []
    Network(recipe(times)), Network(recipe(times))
    assert times == ["built"]


def spoil(path) -> None:
    path.write_bytes(path.read_bytes()[:-1] + b"?")


def shorten(path) -> None:
    path.write_bytes(path.read_bytes()[:1000])


def let_others_write(path) -> None:
    path.chmod(0o666)


def put_a_link(path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to(path.with_name("elsewhere"))


@pytest.mark.parametrize("change", [spoil, shorten, let_others_write, put_a_link])
def test_what_others_may_have_written_is_prepared_anew(home, change):
    times: list[str] = []
    Network(recipe(times))
    [path] = home.iterdir()
    change(path)
    Network(recipe(times))
    assert times == ["built", "built"]
    assert not path.is_symlink() and path.stat().st_mode & 0o077 == 0
    Network(recipe(times))
    assert len(times) == 2


def test_a_file_of_another_user_is_prepared_anew(home, monkeypatch):
    times: list[str] = []
    Network(recipe(times))
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    Network(recipe(times))
    assert times == ["built", "built"]


@pytest.mark.parametrize("what", ["processor", "limit", "code", "threads"])
def test_what_was_prepared_under_other_conditions_does_not_count(home, monkeypatch, what):
    times: list[str] = []
    Network(recipe(times))
    if what == "limit":
        monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", "SSE41")
    elif what != "threads":
        monkeypatch.setattr(prepared, {"processor": "_processor", "code": "_sources"}[what], lambda: "other")
    Network(recipe(times), threads=2 if what == "threads" else 1)
    assert times == ["built", "built"]


def test_a_run_works_where_nothing_can_be_kept(home):
    home.write_bytes(b"a file where the folder should be")
    times: list[str] = []
    Network(recipe(times)), Network(recipe(times))
    assert times == ["built", "built"]


def test_two_at_once_leave_one_whole_file(home):
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: Network(recipe()), range(2)))
    assert len(list(home.iterdir())) == 1
    times: list[str] = []
    Network(recipe(times))
    assert times == []


def test_old_ones_are_removed_when_a_new_one_comes(home):
    home.mkdir()
    (home / "old").write_bytes(b"of a version that is gone")
    os.utime(home / "old", (0, time.time() - 2 * prepared.KEPT))
    Network(recipe())
    assert len(list(home.iterdir())) == 1 and not (home / "old").exists()


def test_weights_must_be_there_all_the_same(home, monkeypatch, tmp_path):
    Network(recipe())
    monkeypatch.setenv("FACEVEIL_HOME", str(tmp_path / "nowhere"))
    monkeypatch.setenv("FACEVEIL_OFFLINE", "1")
    with pytest.raises(WeightsError):
        Network(recipe())
