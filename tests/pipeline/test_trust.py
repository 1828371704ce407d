"""What a resumed run believes: its own memory and the content of files, and nothing that lies in the output."""

import json
import os
import shutil
import stat
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.pipeline.pixel_mean import PixelMean

from faceveil import Settings, anonymize, method
from faceveil.errors import OutputError, UsageError
from faceveil.photos import Photo, read_photo, write_photo
from faceveil.pipeline import journal, memory
from faceveil.pipeline.memory import memory_of
from faceveil.pipeline.plan import STATE

BLACK = Settings(method=method("blackout"))
K3 = Settings(method=PixelMean(k=3), seed=7, paste="identical")

pytestmark = pytest.mark.usefixtures("temporary")


@pytest.fixture(scope="module")
def faces(examples) -> list[np.ndarray]:
    """Four small portraits."""
    return [
        np.ascontiguousarray(read_photo(examples / f"portrait-{n}.jpg").pixels[::4, ::4]) for n in range(1, 5)
    ]


@pytest.fixture
def small(faces, tmp_path) -> Path:
    """Three of them in a folder."""
    (tmp_path / "small").mkdir()
    for name, face in zip("abc", faces, strict=False):
        write_photo(Photo(face), tmp_path / "small" / f"{name}.png")
    return tmp_path / "small"


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch) -> Path:
    """The user's state folder of this test."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "faceveil" / "runs"


def cut_off(photos: Path, out: Path, done: int = 2) -> None:
    """A run of which so many photos were done."""

    def few_and_die(work, items):
        yield from (work(item) for item in list(items)[:done])
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as end:
        anonymize(photos, out, settings=BLACK, engine=few_and_die)
    assert journal.GO_ON in end.value.__notes__


def counted():
    """An engine, and the names of what it worked on."""
    names = []

    def chosen(work, items):
        for item in items:
            names.append(item.name)
            yield work(item)

    return chosen, names


def resume(photos: Path, out: Path) -> list[str]:
    """Go on, and say what was done again."""
    engine, names = counted()
    anonymize(photos, out, settings=BLACK, engine=engine, resume=True)
    assert not (out / STATE).exists()
    return names


def whole(photos: Path, out: Path) -> dict[str, bytes]:
    anonymize(photos, out, settings=BLACK)
    return images(out)


def images(out: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in out.glob("*.png")}


def test_what_is_done_is_not_done_again_and_nothing_is_remembered_afterwards(small, tmp_path, state):
    cut_off(small, tmp_path / "out")
    assert list((tmp_path / "out" / STATE).iterdir()) == []  # what is remembered lies elsewhere
    assert stat.S_IMODE(state.stat().st_mode) == 0o700 and len(list(state.iterdir())) == 1
    assert resume(small, tmp_path / "out") == ["c.png"]
    assert images(tmp_path / "out") == whole(small, tmp_path / "whole")
    assert list(state.iterdir()) == []


def test_a_run_resumed_on_another_folder_of_the_same_names_does_all_again(small, faces, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    for name, face in zip("abc", faces[::-1], strict=False):
        write_photo(Photo(face), other / f"{name}.png")
    cut_off(small, tmp_path / "out")
    assert resume(other, tmp_path / "out") == ["a.png", "b.png", "c.png"]
    assert images(tmp_path / "out") == whole(other, tmp_path / "whole")


def test_a_photo_that_changed_is_done_again_and_the_output_of_one_that_is_gone_goes(small, faces, tmp_path):
    cut_off(small, tmp_path / "out", done=3)
    write_photo(Photo(faces[3]), small / "b.png", overwrite=True)
    (small / "c.png").unlink()
    assert resume(small, tmp_path / "out") == ["b.png"]
    assert images(tmp_path / "out") == whole(small, tmp_path / "whole")


def test_a_changed_photo_that_cannot_be_read_leaves_no_stale_output(small, tmp_path):
    cut_off(small, tmp_path / "out")
    (small / "b.png").write_bytes(b"no picture any more")
    assert "b.png" in resume(small, tmp_path / "out")
    assert set(images(tmp_path / "out")) == {"a.png", "c.png"}


def test_an_altered_output_is_done_again(small, tmp_path):
    """As an original that somebody put in its place."""
    cut_off(small, tmp_path / "out")
    shutil.copy(small / "a.png", tmp_path / "out" / "a.png")
    (tmp_path / "out" / "b.png").unlink()
    shutil.copy(tmp_path / "out" / "a.png", tmp_path / "elsewhere.png")
    (tmp_path / "out" / "b.png").symlink_to(tmp_path / "elsewhere.png")
    assert resume(small, tmp_path / "out") == ["a.png", "b.png", "c.png"]
    assert images(tmp_path / "out") == whole(small, tmp_path / "whole")
    assert not (tmp_path / "out" / "b.png").is_symlink()
    assert (tmp_path / "elsewhere.png").read_bytes() == (small / "a.png").read_bytes()


def test_a_journal_that_somebody_put_into_the_output_is_not_believed(small, tmp_path):
    """Nor is the folder deleted that it names."""
    out, mine = tmp_path / "out", tmp_path / "faceveil-mine"
    (out / STATE).mkdir(parents=True)
    mine.mkdir(mode=0o700)
    (mine / "precious").write_text("mine")
    shutil.copytree(small, out, dirs_exist_ok=True)
    lines = [json.dumps({"name": f"{name}.png", "status": "protected", "notes": []}) for name in "abc"]
    (out / STATE / "done.jsonl").write_text("\n".join(lines))
    for settings in (BLACK, K3):
        fingerprint = {"fingerprint": settings.fingerprint}
        (out / STATE / "settings.json").write_text(json.dumps(fingerprint))
        (out / STATE / "private.json").write_text(json.dumps({"folder": str(mine)}))
        with pytest.raises(OutputError, match="not known here"):
            anonymize(small, out, settings=settings, resume=True)
    cut_off(small, tmp_path / "real")  # nor where a run is known
    shutil.copytree(out / STATE, tmp_path / "real" / STATE, dirs_exist_ok=True)
    assert resume(small, tmp_path / "real") == ["c.png"]
    assert (mine / "precious").exists()


def test_a_link_in_place_of_the_folder_for_unfinished_files_is_refused(small, tmp_path):
    cut_off(small, tmp_path / "out")
    (tmp_path / "out" / STATE).rmdir()
    (tmp_path / "out" / STATE).symlink_to(small)
    with pytest.raises(OutputError, match="Delete it"):
        anonymize(small, tmp_path / "out", settings=BLACK, resume=True)
    assert len(list(small.iterdir())) == 3


def test_a_run_whose_output_was_cleared_away_starts_anew(small, crowd, tmp_path, state, temporary):
    out = tmp_path / "out"

    def dying(work, items):
        yield from (work(item) for item in list(items)[:2])
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        anonymize(crowd, out, settings=K3, engine=dying)
    assert len(list(temporary.iterdir())) == 1
    shutil.rmtree(out)
    anonymize(small, out, settings=BLACK)
    assert list(temporary.iterdir()) == [] and list(state.iterdir()) == []


@pytest.mark.parametrize(
    "line",
    [b"[]", b"{}", b'"text"', b'{"name": 1, "status": "protected", "notes": []}', b"\xff\xfe\x00", b'{"name": "a.p',
     b'{"name": "a.png", "status": "lost", "notes": [], "sha256": "0"}', b'{"name": "a.png", "notes": 5}'],
)  # fmt: skip
def test_lines_of_a_damaged_journal_are_left_out(small, tmp_path, line):
    cut_off(small, tmp_path / "out")
    file = memory_of(tmp_path / "out" / STATE) / journal.DONE
    file.write_bytes(file.read_bytes() + line)
    assert resume(small, tmp_path / "out") == ["c.png"]


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b"\xff", b'{"fingerprint": 1, "photos": 2}'])
def test_a_damaged_memory_is_named(small, tmp_path, content):
    cut_off(small, tmp_path / "out")
    (memory_of(tmp_path / "out" / STATE) / journal.BEGUN).write_bytes(content)
    with pytest.raises(OutputError, match="is damaged"):
        anonymize(small, tmp_path / "out", settings=BLACK, resume=True)


def test_a_set_is_not_resumed_with_photos_of_other_content(crowd, tmp_path):
    def dying(work, items):
        yield work(next(iter(items)))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        anonymize(crowd, tmp_path / "out", settings=K3, engine=dying)
    shutil.copy(crowd / "single-1.jpg", crowd / "single-5.jpg")
    with pytest.raises(UsageError, match=r"single-5\.jpg was added, removed or changed"):
        anonymize(crowd, tmp_path / "out", settings=K3, resume=True)


def test_two_runs_do_not_work_on_one_output(small, tmp_path):
    def second(work, items):
        with pytest.raises(OutputError, match="is under way"):
            anonymize(small, tmp_path / "out", settings=BLACK, resume=True)
        return map(work, items)

    anonymize(small, tmp_path / "out", settings=BLACK, engine=second)
    assert len(images(tmp_path / "out")) == 3


@pytest.mark.skipif(os.name != "posix", reason="modes are posix")
def test_a_state_folder_that_others_may_open_is_refused(small, tmp_path, state):
    state.mkdir(parents=True, mode=0o755)
    state.chmod(0o755)
    with pytest.raises(OutputError, match="only you can open"):
        anonymize(small, tmp_path / "out", settings=BLACK)


def test_without_a_home_a_run_remembers_among_temporary_files(small, tmp_path, temporary, monkeypatch):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    cut_off(small, tmp_path / "out")
    (home,) = temporary.iterdir()
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    assert resume(small, tmp_path / "out") == ["c.png"]


def test_another_users_folder_is_not_ours(tmp_path, monkeypatch):
    (tmp_path / "mine").mkdir(mode=0o700)
    assert memory.is_own_folder(tmp_path / "mine")
    (tmp_path / "link").symlink_to(tmp_path / "mine")
    assert not memory.is_own_folder(tmp_path / "link")
    monkeypatch.setattr(os, "geteuid", lambda: tmp_path.stat().st_uid + 1)
    assert not memory.is_own_folder(tmp_path / "mine")


def test_only_folders_of_crops_are_deleted(crowd, tmp_path):
    """Not what a link leads to, and not pictures of another name."""
    out, mine = tmp_path / "out", tmp_path / "mine"
    crops = replace(K3, release="crops")
    anonymize(crowd, out, settings=crops)
    mine.mkdir()
    (mine / "0001.png").write_text("mine")
    (out / "group-photos").mkdir()
    (out / "group-photos" / "us.png").write_text("mine")
    (out / "group-0099").symlink_to(mine)
    anonymize(crowd, out, settings=crops, overwrite=True)
    assert (mine / "0001.png").exists() and (out / "group-photos" / "us.png").exists()
