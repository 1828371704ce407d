"""Finding photos: stable order, names below the argument, nothing left out silently, no endless walks."""

import os
from pathlib import Path

import pytest

from faceveil.errors import UsageError
from faceveil.photos import find, find_photos

JPEG = b"\xff\xd8\xff\xe0 and more"


@pytest.fixture
def tree(tmp_path):
    for name in ("b.jpg", "a.PNG", "sub/c.webp", "sub/deep/d.tif", "holiday.heic", "noname"):
        path = tmp_path / "photos" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(JPEG)
    for name in ("list.csv", "notes.txt", "meta.json", ".DS_Store", ".hidden/e.jpg", "sub/._c.webp"):
        path = tmp_path / "photos" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"words")
    return tmp_path / "photos"


def test_a_folder_is_searched_in_the_order_of_names(tree):
    found = find_photos([tree])
    names = ["a.PNG", "b.jpg", "holiday.heic", "noname", "sub/c.webp", "sub/deep/d.tif"]
    assert [photo.relative.as_posix() for photo in found.photos] == names
    assert [photo.path for photo in found.photos] == [tree / name for name in names]


def test_every_file_that_is_left_out_is_named_with_the_reason(tree):
    skipped = {file.path.relative_to(tree).as_posix(): file.reason for file in find_photos([tree]).skipped}
    assert skipped == {
        ".DS_Store": "hidden",
        ".hidden": "hidden",
        "sub/._c.webp": "hidden",
        "list.csv": "not a picture",
        "notes.txt": "not a picture",
        "meta.json": "not a picture",
    }


def test_a_file_that_is_named_is_always_taken(tree):
    (photo,) = find_photos([tree / "notes.txt"]).photos
    assert photo.relative == Path("notes.txt")


def test_a_photo_whose_suffix_says_otherwise_is_found(tree):
    (tree / "photo.dat").write_bytes(JPEG)
    assert Path("photo.dat") in [photo.relative for photo in find_photos([tree]).photos]


def test_links_that_form_a_loop_end(tree):
    (tree / "sub" / "again").symlink_to(tree, target_is_directory=True)
    found = find_photos([tree])
    assert len(found.photos) == 6
    assert "searched already" in {file.path.name: file.reason for file in found.skipped}["again"]


def test_a_dangling_link_to_a_photo_is_not_lost(tree):
    (tree / "gone.jpg").symlink_to(tree / "nowhere.jpg")
    assert Path("gone.jpg") in [photo.relative for photo in find_photos([tree]).photos]


def test_two_files_with_one_output_name_are_refused_and_both_named(tree, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "b.jpg").write_bytes(JPEG)
    with pytest.raises(UsageError) as error:
        find_photos([tree, other])
    assert str(tree / "b.jpg") in str(error.value) and str(other / "b.jpg") in str(error.value)


def test_the_same_file_twice_is_one_photo(tree):
    assert len(find_photos([tree / "b.jpg", tree / "b.jpg"]).photos) == 1


def test_a_missing_argument_is_refused(tmp_path):
    with pytest.raises(UsageError, match="does not exist"):
        find_photos([tmp_path / "nothing"])


def test_what_cannot_be_opened_is_left_out_by_name_and_marked(tree, monkeypatch):
    search, look = Path.iterdir, find.open_regular

    def iterdir(path):
        if path.name == "deep":
            raise PermissionError(13, "Permission denied")
        return search(path)

    def open_regular(path):
        if path.name == "noname":
            raise PermissionError(13, "Permission denied")
        return look(path)

    monkeypatch.setattr(Path, "iterdir", iterdir)
    monkeypatch.setattr(find, "open_regular", open_regular)
    found = find_photos([tree])
    unseen = {file.path.name: file.reason for file in found.skipped if file.unseen}
    assert unseen == {
        "deep": "the folder cannot be opened (Permission denied)",
        "noname": "it cannot be opened (Permission denied)",
    }


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_pipes_and_links_to_nowhere_are_left_out_at_once(tree):
    os.mkfifo(tree / "pipe")
    (tree / "nowhere").symlink_to(tree / "gone")
    skipped = {file.path.name: file for file in find_photos([tree]).skipped}
    assert "a pipe" in skipped["pipe"].reason and not skipped["pipe"].unseen
    assert "cannot be opened" in skipped["nowhere"].reason and not skipped["nowhere"].unseen
