"""Runs in which each face is protected in the company of all others."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest

from faceveil import Settings, anonymize
from faceveil.errors import GroupingError, UsageError
from faceveil.faces import find_faces
from faceveil.methods import CompanyMethod, method
from faceveil.methods.company import Company, Profile, too_near
from faceveil.models.recognizers import recognizer
from faceveil.photos import Photo, read_photo, write_photo
from faceveil.pipeline.company import NEVER, Standing, crowding, hands_for
from faceveil.pipeline.engines import engine, serial
from faceveil.pipeline.exchange import PEOPLE, exchanged
from faceveil.pipeline.plan import STATE
from faceveil.pipeline.visits import Guests

A = "mobilefacenet.facesdk"
STYLEID = replace(method("styleid"), tries=3, recognizers=(A,))
TOGETHER = Settings(method=replace(STYLEID, consistent=True), seed=7)
HIGH = Settings(method=replace(STYLEID, privacy="high", tries=1), seed=7)

pytestmark = pytest.mark.usefixtures("temporary")


@pytest.fixture(scope="session")
def family_made(tmp_path_factory: pytest.TempPathFactory, examples: Path) -> Path:
    """Three people in three photos with four faces: the first is in two of them."""
    folder = tmp_path_factory.mktemp("made") / "family"
    (folder / "sub").mkdir(parents=True)
    people = [read_photo(examples / f"portrait-{number}.jpg").pixels for number in (1, 4, 2)]
    people = [cv2.resize(person, (192, 192), interpolation=cv2.INTER_AREA) for person in people]
    write_photo(Photo(people[0]), folder / "a.png")
    write_photo(Photo(np.ascontiguousarray(np.hstack([people[0][:, ::-1], people[1]]))), folder / "b.png")
    write_photo(Photo(people[2]), folder / "sub" / "c.png")
    return folder


@pytest.fixture(scope="session")
def whole(family_made, tmp_path_factory) -> dict[str, bytes]:
    """What an undisturbed run writes."""
    out = tmp_path_factory.mktemp("whole") / "out"
    anonymize(family_made, out, settings=TOGETHER)
    return bytes_of(out)


def bytes_of(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != "run.json")
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def embedded(path: Path) -> list[np.ndarray]:
    """The faces of a photo from left to right."""
    pixels = read_photo(path).pixels
    faces = sorted(find_faces(pixels, "yunet", mesh=True), key=lambda face: face.centre[0])
    seen = [STYLEID.seen(pixels, face) for face in faces]
    return [one[A] for one in seen if one is not None]


@pytest.mark.parametrize(("name", "workers"), [("processes", 1), ("threads", 2)])
def test_every_engine_gives_the_same_bytes_and_leaves_nothing_private(
    name, workers, family_made, tmp_path, whole, temporary
):
    anonymize(family_made, tmp_path / "out", settings=TOGETHER, engine=engine(name, workers))
    assert bytes_of(tmp_path / "out") == whole
    assert list(temporary.iterdir()) == [] and not (tmp_path / "out" / STATE).exists()
    published = json.loads((tmp_path / "out" / "run.json").read_text())
    assert published["parameters"]["consistent"] is True and "released" not in published


def test_photos_of_one_person_show_one_new_person(family_made, tmp_path, whole):
    for name, data in whole.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(data)
    (one,), (again, other) = embedded(tmp_path / "a.png"), embedded(tmp_path / "b.png")
    old = embedded(family_made / "a.png")[0]
    judge = recognizer(A)
    assert judge.distance(one, again) < judge.threshold < judge.distance(one, other)
    assert judge.distance(one, old) > judge.threshold


class Died(BaseException):
    """Stands for a kill: nothing in the program catches it to go on."""


@pytest.mark.parametrize(
    ("stage", "photos"), [("survey_photo", 1), ("meet_photo", 2), ("visit", 0), ("visit", 2)]
)
def test_a_run_cut_off_in_any_stage_resumes_to_the_same_bytes(
    family_made, tmp_path, stage, photos, temporary, whole
):
    done: Counter[str] = Counter()

    def dying(work, items):
        def mortal(item):
            if work.func.__name__ == stage and done[stage] == photos:
                raise Died
            done[work.func.__name__] += 1
            return work(item)

        yield from serial(mortal, items)  # as every engine, with one thread for matrix products

    out = tmp_path / "out"
    with pytest.raises(Died) as death:
        anonymize(family_made, out, settings=TOGETHER, engine=dying)
    assert "Delete that folder if you do not go on" in death.value.__notes__[0]
    assert not list(out.rglob("*.png"))  # nothing is released before all is decided
    anonymize(family_made, out, settings=TOGETHER, resume=True)
    assert bytes_of(out) == whole
    assert list(temporary.iterdir()) == []


def test_without_a_seed_the_secret_of_a_run_outlives_a_kill_and_not_the_run(family_made, tmp_path, temporary):
    settings, secrets = replace(HIGH, seed=None), []

    def dying(work, items):
        for item in items:
            if work.func.__name__ == "visit":
                raise Died
            yield work(item)

    with pytest.raises(Died):
        anonymize(family_made, tmp_path / "out", settings=settings, engine=dying)
    secrets += [json.loads(path.read_text()) for path in temporary.rglob("secret.json")]

    def watching(work, items):
        for item in items:
            if work.func.__name__ == "visit":
                secrets.append(work.keywords["guests"].secret)
            yield work(item)

    anonymize(family_made, tmp_path / "out", settings=settings, engine=watching, resume=True)
    assert len(secrets) > 1 and len(set(secrets)) == 1
    assert str(secrets[0]) not in (tmp_path / "out" / "run.json").read_text()
    assert list(temporary.iterdir()) == []


def test_too_few_people_for_the_highest_level_are_refused(family_made, tmp_path, temporary):
    with pytest.raises(GroupingError, match=r"--privacy medium"):
        anonymize(family_made / "b.png", tmp_path / "out", settings=HIGH)
    assert list(temporary.iterdir()) == []


def test_only_methods_that_know_the_set_take_subjects():
    assert isinstance(STYLEID, CompanyMethod) and Settings(method=STYLEID, subjects="folder").needs_company
    with pytest.raises(UsageError, match="--subjects"):
        Settings(method=method("blackout"), subjects="folder")


def test_a_face_keeps_apart_from_others_and_further_in_a_small_set(family_made):
    (face,) = embedded(family_made / "a.png")
    (stranger,) = embedded(family_made / "sub" / "c.png")
    assert not Company({A: face[None]}, 3).apart({A: face})
    assert Company({A: stranger[None]}, 3).apart({A: face})
    rates = recognizer(A).operating.at_rate
    between = np.eye(2, 128, dtype=np.float32)  # two faces at a distance of one, turned towards each other
    wanted = 1 - (rates[1e-2] + rates[1e-4]) / 2
    between[1] = wanted * between[0] + np.sqrt(1 - wanted**2) * between[1]
    assert too_near(A, between[0], between[1:], people=3).all()
    assert not too_near(A, between[0], between[1:], people=10_000).any()


def test_new_faces_too_near_to_each_other_move_all_but_one():
    new = np.zeros((4, 1, 128), np.float32)
    new[0, 0, 0] = new[1, 0, 0] = new[2, 0, 0] = 1
    new[3] = np.nan
    assert crowding(new, np.array([0, 1, 0, 2]), (A,), 3) == [1]
    new[1, 0] = np.eye(128)[5]
    assert crowding(new, np.array([0, 1, 0, 2]), (A,), 3) == []


def test_a_person_goes_on_to_the_next_target_and_ends_with_the_best():
    person = Standing()
    for failed, turn in ((2, 1), (1, 2), (3, 1)):  # three targets: the second failed least
        person.reconsider(failed, tries=3)
        assert person.turn == turn
    person.reconsider(1, tries=3)
    assert (person.turn, person.settled, person.cover) == (1, True, False)
    person.move(0, tries=3, consistent=True)
    assert person.turn == 0 and person.failures[1] == NEVER
    person.move(1, tries=3, consistent=True)
    person.move(2, tries=3, consistent=True)
    assert person.cover


def test_profiles_are_dealt_out_anew_within_groups_of_like_people():
    rng = np.random.default_rng(0)
    young, old = rng.normal([20, 0.9, 0.1], 0.01, (4, 3)), rng.normal([70, 0.1, 0.3], 0.01, (3, 3))
    profiles = np.concatenate([young, old, [[np.nan] * 3]])
    subjects = np.array([0, 1, 2, 3, 4, 5, 6, 6])
    own = [Profile(*row) for row in profiles[:7].tolist()]
    seen = [exchanged(profiles, subjects, np.random.default_rng(seed)) for seed in range(30)]
    for dealt in seen:
        assert set(dealt[:4]) == set(own[:4]) and set(dealt[4:]) == set(own[4:])
    # Each as likely: over the draws everybody had every profile of the group, the own one too.
    assert all(len({dealt[person] for dealt in seen}) >= PEOPLE for person in range(7))
    with pytest.raises(GroupingError):
        exchanged(profiles[:2], subjects[:2], rng)


def test_faces_are_dealt_other_targets_and_one_persons_the_same_where_they_share_a_new_face(tmp_path):
    guests = Guests(np.array([0, 1, 0]), np.array([2, 1]), 3, tmp_path)  # the first person is in two photos
    suitable = [np.arange(40, 70), np.arange(40, 70), np.arange(40, 70)]
    apart = hands_for(STYLEID, suitable, guests)
    assert len({target for hand in apart for target in hand}) == sum(len(hand) for hand in apart) == 3 + 8 + 3
    together = hands_for(TOGETHER.method, suitable, guests)
    assert together[0] == together[2] and not set(together[0]) & set(together[1])
    assert hands_for(HIGH.method, suitable, guests) == [(), (), ()]  # profiles are exchanged, others suit


def test_recognisers_with_embeddings_of_different_lengths_keep_faces_apart(family_made, tmp_path):
    names = ("facenet.512", "sface.2021dec")
    chosen = replace(method("styleid", recognizers=names), tries=3, consistent=True)
    summary = anonymize(family_made, tmp_path / "out", settings=Settings(method=chosen, seed=7))
    assert summary.exit_code == 0
    published = json.loads((tmp_path / "out" / "run.json").read_text())
    assert published["parameters"]["recognizers"] == list(names)
    before, after = (read_photo(folder / "a.png").pixels for folder in (family_made, tmp_path / "out"))
    seen = [chosen.seen(pixels, find_faces(pixels, mesh=True)[0]) for pixels in (before, after)]
    for name in names:
        assert recognizer(name).distance(*(one[name] for one in seen)) > recognizer(name).threshold
