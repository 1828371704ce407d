"""Photos that show several people: each face is judged in its place, and people are told face by face."""

import importlib.util
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faceveil.errors import UsageError
from faceveil.evaluation import Options, certify, evaluate
from faceveil.evaluation.acquire import Look, Looks
from faceveil.evaluation.attackers import attackers
from faceveil.evaluation.people import Pairs, PhotoPair
from faceveil.evaluation.places import main_first, matched
from faceveil.evaluation.restore import changed_window_at
from faceveil.evaluation.results import reach
from faceveil.evaluation.who import name_faces, rows_of_faces
from faceveil.faces import Face
from faceveil.photos import read_photo
from faceveil.report import page

_spec = importlib.util.spec_from_file_location("evaluation_conftest", Path(__file__).with_name("conftest.py"))
photos = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(photos)

FAST = {"utility": False, "restoration": False}
JUDGE = "mobilefacenet.facesdk"


def face(x: float, y: float, size: float = 40.0) -> Face:
    box = np.array([x - size / 2, y - size / 2, x + size / 2, y + size / 2])
    return Face(box, np.full((5, 2), (x, y)), 0.9, "yunet")


# Places.


@given(st.permutations(range(6)), st.integers(0, 2**32 - 1))
def test_each_face_finds_the_one_in_its_place_whatever_the_order(order, seed):
    moves = np.random.default_rng(seed).uniform(-8, 8, (6, 2))
    before = [face(60 * column, 100) for column in range(6)]
    after = [face(*(one.centre + move)) for one, move in zip(before, moves, strict=True)]
    shuffled = [after[number] for number in order]
    assert matched(before, shuffled) == after


def test_a_released_face_stands_for_one_original_only():
    near, far, found = face(100, 100), face(112, 100), face(101, 100)
    assert matched([far, near], [found]) == [None, found]


def test_a_face_elsewhere_or_of_another_size_is_another_face():
    assert matched([face(100, 100)], [face(130, 100), face(100, 100, 200)]) == [None]


def test_the_main_face_comes_first_and_the_others_from_left_to_right():
    large, left, right = face(100, 100, 80), face(20, 90), face(180, 90)
    assert main_first([right, left, large], (200, 200)) == [large, left, right]
    assert main_first([], (200, 200)) == []


def test_the_changed_window_of_one_face_leaves_out_its_neighbour():
    before = np.zeros((100, 200, 3), np.uint8)
    after = before.copy()
    after[30:70, 30:70] = 200
    after[30:70, 76:116] = 200
    rows, columns = changed_window_at(
        before, after, np.array([32.0, 32, 68, 68]), [np.array([76.0, 30, 116, 70])]
    )
    assert (rows.start, rows.stop, columns.start, columns.stop) == (30, 70, 30, 70)


# People.


def looks_of(rows: list[tuple[str, int, np.ndarray]], subjects: str, people: dict[str, str] | None = None):
    """Looks with made embeddings: (photo, number of the face, embedding)."""
    pairs = [PhotoPair(name, Path("a"), Path("b"), (people or {}).get(name, name)) for name, *_ in rows]
    counts = {name: sum(other[0] == name for other in rows) for name, *_ in rows}
    looks = [
        Look(face(50 * number, 50), None, counts[name], {("original", JUDGE): vector}, number=number)
        for name, number, vector in rows
    ]
    return Looks(Pairs(pairs, [], subjects), looks)


AXES = np.eye(128, dtype=np.float32)


@pytest.fixture(scope="module")
def judge():
    return attackers([JUDGE])


def test_a_face_beside_is_the_person_that_the_recognisers_take_it_for(judge):
    rows = [("1.jpg", 1, AXES[0]), ("1.jpg", 2, AXES[1]), ("2.jpg", 1, AXES[1]), ("2.jpg", 2, AXES[2])]
    named = name_faces(looks_of(rows, "folder", {"1.jpg": "ann", "2.jpg": "bo"}), judge)
    assert [pair.person for pair in named.looks.pairs.pairs] == ["ann", "bo", "bo", "2.jpg, face 2"]
    assert named.told_by_recognizers == 2


def test_nobody_is_twice_in_one_photo(judge):
    rows = [("1.jpg", 1, AXES[0]), ("1.jpg", 2, AXES[0]), ("2.jpg", 1, AXES[0])]
    named = name_faces(looks_of(rows, "faces"), judge)
    people = [pair.person for pair in named.looks.pairs.pairs]
    assert people[0] != people[1] and people[2] in people[:2]


def test_auto_asks_the_recognisers_only_where_photos_show_several(judge):
    alone = [("1.jpg", 1, AXES[0]), ("2.jpg", 1, AXES[0])]
    named = name_faces(looks_of(alone, "auto"), judge)
    assert len(named.looks.pairs.people) == 2 and named.told_by_recognizers == 0
    together = [*alone, ("2.jpg", 2, AXES[5])]
    assert len(name_faces(looks_of(together, "auto"), judge).looks.pairs.people) == 2


def test_a_table_speaks_of_the_face_under_its_point_or_else_of_the_main_one():
    looks = looks_of([("1.jpg", 1, AXES[0]), ("1.jpg", 2, AXES[1]), ("2.jpg", 1, AXES[2])], "faces")
    table = [
        {"photo": "1.jpg", "x": "101", "y": "49", "person": "beside"},
        {"photo": "1.jpg", "x": "", "y": "", "person": "main"},
        {"photo": "2.jpg", "x": "900", "y": "900", "person": "nobody there"},
    ]
    found = rows_of_faces(table, looks)
    assert [row and row["person"] for row in found] == ["main", "beside", None]
    with pytest.raises(UsageError, match="pixels"):
        rows_of_faces([{"photo": "1.jpg", "x": "left", "y": "1"}], looks)


# Whole evaluations on group photos.

SIDE = 160  # px of one person's part of a group photo
GROUPS = ((1, 2, 3), (3, 4, 5), (6, 1, 7), (8, 9, 2))


def group_photo(people: tuple[int, ...], photo: int, hidden: tuple[int, ...] = ()) -> np.ndarray:
    """People of ORL side by side, some of them covered."""
    parts = [
        photos.covered(photos.orl(one, photo)) if one in hidden else photos.orl(one, photo) for one in people
    ]
    return np.hstack(
        [np.pad(part, ((0, 0), (0, SIDE + 8 - part.shape[1]), (0, 0)), "edge") for part in parts]
    )


@pytest.fixture(scope="module")
def group_photos(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("groups")
    for number, people in enumerate(GROUPS):
        photos.save(folder / f"group-{number}.png", group_photo(people, number + 1))
    return folder


@pytest.fixture(scope="module")
def one_left_bare(group_photos, cache_file, tmp_path_factory):
    released = tmp_path_factory.mktemp("released")
    for number, people in enumerate(GROUPS):
        hidden = tuple(one for one in people if one != 4)
        photos.save(released / f"group-{number}.png", group_photo(people, number + 1, hidden))
    return evaluate(group_photos, released, Options(cache=cache_file, **FAST))


def test_every_face_of_a_group_photo_is_judged_and_people_are_known_again(one_left_bare):
    assert one_left_bare.photos == 4 and one_left_bare.several_faces == 4 and one_left_bare.faces == 12
    assert one_left_bare.people == 9, "three of the twelve faces are people of another photo"
    naive = next(one for one in one_left_bare.attacks if one.attack == "naive")
    assert naive.people == 9 and naive.probes == 12
    assert naive.found.value == pytest.approx(1 / 9) and naive.fta.value == pytest.approx(11 / 12)
    assert any("told by the recognisers" in text for text in one_left_bare.warnings)


def test_an_unchanged_face_beside_covered_ones_is_found_and_named(one_left_bare):
    (found,) = one_left_bare.exposed
    assert found.photo == "group-1.png" and found.unchanged and found.faces == 3
    left, _, right, _ = found.box_xyxy
    assert SIDE < (left + right) / 2 < 2 * (SIDE + 8), "the one in the middle"
    verdict = certify(one_left_bare, 0.9)
    assert not verdict.passed and found.where in verdict.sentence and "of 3, x " in verdict.sentence
    assert found.where in page(one_left_bare)


def test_people_named_by_points_are_taken_as_named(group_photos, cache_file, tmp_path):
    table = tmp_path / "people.csv"
    lines = [
        f"group-{number}.png,{column * (SIDE + 8) + 80},80,person-{one}"
        for number, people in enumerate(GROUPS)
        for column, one in enumerate(people)
    ]
    table.write_text("photo,x,y,person\n" + "\n".join([*lines, "group-1.png,2,3,nobody"]))
    found = evaluate(group_photos, group_photos, Options(subjects=str(table), cache=cache_file, **FAST))
    assert found.people == 9 and not any("told by the recognisers" in text for text in found.warnings)
    (missed,) = [text for text in found.warnings if "in no face" in text]
    assert missed.startswith("1 points") and "group-1.png, x 2, y 3" in missed
    assert {one.person for one in found.exposed} == {f"person-{one}" for one in range(1, 10)}
    assert any(one.attack == "parrot" for one in found.attacks), "three people are in two photos"


def test_faces_too_small_to_count_are_still_checked_for_being_unchanged(examples, cache_file, tmp_path):
    """Of the seventeen faces of the wall two stay bare: one of 80 px, and one of 22 px."""
    before, after = tmp_path / "before", tmp_path / "after"
    wall = read_photo(examples / "wall.jpg").pixels
    photos.save(before / "wall.png", wall)
    bare = (976, 645), (881, 903)
    names = ("mobilefacenet.facesdk", "mobilenet.facelib")
    seen = evaluate(before, before, Options(cache=cache_file, recognizers=names, **FAST))
    assert seen.faces + seen.small_faces == len(seen.exposed) == 17
    hidden = wall.copy()
    for one in seen.exposed:
        left, top, right, bottom = one.box_xyxy
        if not any(left < x < right and top < y < bottom for x, y in bare):
            hidden[max(0, top - 5) : bottom + 5, max(0, left - 5) : right + 5] = 0
    photos.save(after / "wall.png", hidden)
    found = evaluate(before, after, Options(cache=cache_file, recognizers=names, **FAST))
    assert found.small_faces == 3 and found.faces == 14
    widths = sorted(one.box_xyxy[2] - one.box_xyxy[0] for one in found.exposed if one.unchanged)
    assert len(widths) == 2 and widths[0] < 32 < widths[1]


def test_main_faces_and_those_beside_them_are_two_groups(cache_file, tmp_path):
    """Ten photos of two: a tool that covers only the main face leaves the other bare, and the report says so."""
    before, after, lines = tmp_path / "before", tmp_path / "after", ["photo,x,y,person"]
    for number in range(10):
        main, beside = 2 * number + 1, 2 * number + 2
        large = np.repeat(np.repeat(photos.orl(main, 1), 2, 0), 2, 1)
        photo = np.hstack([large, _below(photos.orl(beside, 1))])
        photos.save(before / f"{number}.png", photo)
        lines += [f"{number}.png,,,p{main}", f"{number}.png,{large.shape[1] + 80},240,p{beside}"]
        photo = photo.copy()
        photo[:, : large.shape[1]] = 0
        photos.save(after / f"{number}.png", photo)
    table = tmp_path / "people.csv"
    table.write_text("\n".join(lines))
    options = Options(subjects=str(table), cache=cache_file, recognizers=(JUDGE,), **FAST)
    found = evaluate(before, after, options)
    assert {(row.group, row.people, row.found.value) for row in found.groups} == {
        ("main faces", 10, 0.0),
        ("faces beside", 10, 1.0),
    }
    assert any("faces beside are re-identified more often than main faces" in text for text in found.warnings)
    assert len([one for one in found.exposed if one.unchanged and one.face == 2]) == 10


def _below(part: np.ndarray) -> np.ndarray:
    """A part as high as two, with the face in its lower half."""
    return np.vstack([np.repeat(part[:1], part.shape[0], 0), part])


def test_the_looks_of_main_faces_alone_drop_the_others():
    looks = looks_of([("1.jpg", 1, AXES[0]), ("1.jpg", 2, AXES[1])], "faces")
    assert [look.number for look in looks.main.looks] == [1]
    assert not looks.looks[1].is_small and replace(looks.looks[1], original=face(9, 9, 20)).is_small


def test_an_attack_that_few_people_are_open_to_weighs_by_their_share(one_left_bare):
    """Three of nine people have two released photos: parrot can find a third of the people at most."""
    parrot = next(one for one in one_left_bare.attacks if one.attack == "parrot")
    assert parrot.people == 3 and parrot.found.high == 1
    assert one_left_bare.worst.attack == "naive" and one_left_bare.risk == one_left_bare.worst.found.high < 1
    assert reach(parrot, one_left_bare.attacks) == pytest.approx(1 / 3)
