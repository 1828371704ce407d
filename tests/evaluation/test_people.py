"""Pairs and people."""

import numpy as np
import pytest
from PIL import Image

from faceveil.errors import UsageError
from faceveil.evaluation.people import pair_photos


def photo(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.zeros((8, 8, 3), np.uint8)).save(path)


@pytest.fixture
def folders(tmp_path):
    for name in ("a/1.jpg", "a/2.jpg", "b/1.jpg"):
        photo(tmp_path / "before" / name)
    for name in ("a/1.png", "b/1.jpg", "c/9.jpg"):
        photo(tmp_path / "after" / name)
    return tmp_path / "before", tmp_path / "after"


def test_pairs_are_made_by_path_whatever_the_suffix(folders):
    found = pair_photos(*folders)
    released = [(pair.name, pair.anonymised and pair.anonymised.name) for pair in found.pairs]
    assert released == [("a/1.jpg", "1.png"), ("a/2.jpg", None), ("b/1.jpg", "1.jpg")]
    assert found.unpaired == ["c/9.jpg"]
    assert found.people == ["a", "b"] and found.person_index.tolist() == [0, 0, 1]


def test_people_from_names_like_lfw_s(tmp_path):
    for name in ("Ann_Lee_0001.jpg", "Ann_Lee_0002.jpg", "Bo_0001.jpg"):
        photo(tmp_path / "x" / name)
    found = pair_photos(tmp_path / "x", tmp_path / "x", "name")
    assert found.people == ["Ann_Lee", "Bo"]
    assert pair_photos(tmp_path / "x", tmp_path / "x", "auto").people == ["Ann_Lee", "Bo"]
    assert len(pair_photos(tmp_path / "x", tmp_path / "x", "each").people) == 3


def test_people_from_a_table(folders, tmp_path):
    table = tmp_path / "people.csv"
    table.write_text("photo,person\na/1.jpg,x\na/2.jpg,y\nb/1.jpg,x\n")
    assert pair_photos(*folders, str(table)).person_index.tolist() == [0, 1, 0]
    table.write_text("photo,person\na/1.jpg,x\n")
    with pytest.raises(UsageError, match=r"a/2\.jpg"):
        pair_photos(*folders, str(table))
    table.write_text("file,who\n")
    with pytest.raises(UsageError, match="columns"):
        pair_photos(*folders, str(table))


@pytest.mark.parametrize("subjects", ["folders", "nobody.csv"])
def test_unknown_ways_to_tell_people_are_refused(folders, subjects):
    with pytest.raises(UsageError, match="auto, folder, name, each"):
        pair_photos(*folders, subjects)


def test_folders_without_common_names_are_refused(tmp_path):
    photo(tmp_path / "x" / "1.jpg")
    photo(tmp_path / "y" / "2.jpg")
    with pytest.raises(UsageError, match="only the suffix may differ"):
        pair_photos(tmp_path / "x", tmp_path / "y")


def test_two_released_photos_of_one_name_are_refused(folders):
    photo(folders[1] / "a/1.jpg")
    with pytest.raises(UsageError, match="differ only in their suffix"):
        pair_photos(*folders)
