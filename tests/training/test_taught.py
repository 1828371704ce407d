"""Who was taught with whom is told of every network that ships, and the people kept apart are kept apart."""

from collections import Counter
from pathlib import Path

import pytest
from training.real_faces import HELD_OUT
from training.taught import FACES, FINDING, TAUGHT, gate_photos, is_unseen, photos_of, told, unseen

import faceveil

SOURCE = Path(faceveil.__file__).parent


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    """Names alone: who is in which split is told by them."""
    folder = tmp_path_factory.mktemp("data")
    names = [f"ffhq/{number}.jpg" for number in range(70)]
    names += [f"lfw/images/P_{n}/P_{n}_000{photo}.jpg" for n in range(700) for photo in (1, 2)]
    names += [
        f"utkface/{age}_0_0_{n}.jpg"
        for n in range(100)
        for age in (5, 50, 60, 70, 80, 90, 20, 30, 40, 45, 47)
    ]
    names += [f"portraits-cc0/{number}.jpg" for number in range(9)]
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    return folder


def test_every_file_of_learnt_numbers_is_in_the_table():
    folders = (SOURCE / "models" / "data", SOURCE / "methods" / "styleid" / "data")
    assert {path.stem for folder in folders for path in folder.iterdir()} == set(TAUGHT)
    assert set(FACES) | set(FINDING) == set(TAUGHT)


def test_nobody_who_is_kept_apart_taught_a_network_of_faces(data):
    photos = photos_of(data)
    apart = [path for path, face in photos.items() if face.held_out]
    assert unseen(photos, data) == apart
    people = Counter(
        face.set for face in {(photos[p].set, photos[p].person): photos[p] for p in apart}.values()
    )
    assert people == {"ffhq": HELD_OUT["ffhq"], "lfw": HELD_OUT["lfw"]}  # of UTKFace and the portraits nobody


def test_both_photos_of_a_person_are_seen_or_neither(data):
    for number in range(0, 700, 10):
        photos = sorted((data / "lfw" / "images" / f"P_{number}").iterdir())
        assert is_unseen(photos[0], data) == is_unseen(photos[1], data)


def test_attrnet_alone_kept_a_thousand_photos_of_utkface_apart(data):
    photos = photos_of(data)
    utkface = {path for path, face in photos.items() if face.set == "utkface"}
    assert len(utkface - TAUGHT["attrnet"](photos)) == 1000
    assert utkface <= TAUGHT["encoder"](photos)
    kept = sorted(utkface - TAUGHT["attrnet"](photos))
    assert told(kept, data, ("attrnet",)) == "1000 people; of them taught with: nobody"
    assert "encoder 1000" in told(kept, data)


def test_the_gate_was_taught_with_people_of_the_benchmark_though_not_with_their_photos(data):
    lfw = sorted((data / "lfw" / "images").rglob("*.jpg"))
    taught, _ = gate_photos(photos_of(data))
    tested = lfw[::40]
    assert not {*taught} & {*tested} and {*taught} <= TAUGHT["yunet.2023mar-gate"](photos_of(data))
    assert not unseen(taught, data, FINDING)
