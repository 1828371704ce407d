"""StyleID: what changes and what does not, what is checked, and what happens when the check cannot pass."""

from dataclasses import replace
from types import SimpleNamespace

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.methods.people import like

from faceveil.errors import ProtectionError, UsageError
from faceveil.faces import Face, find_faces, pose, with_mesh
from faceveil.faces.attributes import Attributes
from faceveil.faces.regions import LEFT_EYE, RIGHT_EYE
from faceveil.methods import method
from faceveil.methods.styleid import method as flow
from faceveil.methods.styleid import move
from faceveil.methods.styleid.check import Verdict, check, embeddings
from faceveil.methods.styleid.choice import SKETCHED, STRANGE, TRIED, shortlists
from faceveil.methods.styleid.control import control, step_to_people
from faceveil.methods.styleid.layers import read_table, search
from faceveil.methods.styleid.looks import EYES as EYES_OPEN
from faceveil.methods.styleid.looks import MOUTH, NAMES, PITCH, TEETH, TRAITS, YAW, face_in_crop, looks
from faceveil.methods.styleid.measure import measure
from faceveil.methods.styleid.move import PARTS, TYPICAL, sketch
from faceveil.methods.styleid.paste import REGIONS, from_on, part_of
from faceveil.methods.styleid.push import IDENTITY
from faceveil.methods.styleid.render import SKETCH, generator
from faceveil.methods.styleid.score import attribute_distance, ia_scores, identity_distance
from faceveil.methods.styleid.tables import write_table
from faceveil.methods.styleid.targets import LABELS, MINOR, NEIGHBOUR, pool
from faceveil.models.attributes import EXPRESSIONS
from faceveil.models.recognizers import WATCHING, recognizer
from faceveil.photos import read_photo

RNG = np.random.default_rng
EYES = (RIGHT_EYE, LEFT_EYE)
CALM = np.eye(7, dtype=np.float32)[EXPRESSIONS.index("neutral")]
SFACE, FACENET = "sface.2021dec", "facenet.512"
IDS = ("styleid", "styleid-layers", "styleid-channels", "styleid-mask")


@pytest.fixture(scope="module")
def swapped(portrait) -> dict[str, tuple]:
    """Each method on one portrait at 256 px, once."""
    small = portrait[::2, ::2].copy()
    (face,) = find_faces(small)
    return {name: (small, face, *method(name).protect(small, face, RNG(5))) for name in IDS}


@pytest.mark.parametrize("name", IDS)
def test_nothing_outside_the_region_changes(name, swapped):
    before, _, after, where = swapped[name]
    outside = where.full((256, 256)) == 0
    assert outside.mean() > 0.3
    assert np.array_equal(after[outside], before[outside])
    assert not np.array_equal(after, before)


@pytest.mark.parametrize("name", IDS)
def test_every_recogniser_is_beyond_its_threshold(name, swapped):
    before, face, after, _ = swapped[name]
    if not after[tuple(face.centre.astype(int)[::-1])].any():
        pytest.skip("this face was covered")
    one, other = (embeddings(image, with_mesh(image, [face])[0], list(WATCHING)) for image in (before, after))
    for judge in WATCHING:
        assert recognizer(judge).distance(one[judge], other[judge]) > recognizer(judge).threshold


def test_the_same_seed_gives_the_same_bytes_and_other_seeds_other_faces(swapped):
    before, face, after, _ = swapped["styleid"]
    again, _ = method("styleid").protect(before, face, RNG(5))
    assert np.array_equal(again, after)
    # Few targets pass for some faces, so two seeds may meet in one.
    others = (method("styleid").protect(before, face, RNG(seed))[0] for seed in range(6, 12))
    assert any(not np.array_equal(other, after) for other in others)


def test_pose_and_mouth_are_kept(swapped):
    before, face, after, _ = swapped["styleid"]
    one, other = with_mesh(before, [face])[0], with_mesh(after, [face])[0]
    assert abs(pose(one).yaw - pose(other).yaw) < 10
    assert abs(pose(one).pitch - pose(other).pitch) < 10
    assert abs(looks(before, one)[2] - looks(after, other)[2]) < 0.1


def test_a_check_that_cannot_pass_covers_the_face(monkeypatch, portrait):
    monkeypatch.setitem(flow.PRIVACY, "medium", (100.0, "face"))
    small = portrait[::2, ::2].copy()
    (face,) = find_faces(small)
    after, where = replace(method("styleid"), tries=1).protect(small, face, RNG(0))
    assert not after[where.full((256, 256)) > 0].any()
    with pytest.raises(ProtectionError, match="passed the check"):
        replace(method("styleid", fallback="refuse"), tries=1).protect(small, face, RNG(0))


def test_what_is_no_face_is_covered():
    noise = RNG(0).integers(0, 255, (90, 90, 3), dtype=np.uint8)
    points = 30 + 30 * np.array([[0.3, 0.4], [0.7, 0.4], [0.5, 0.6], [0.35, 0.8], [0.65, 0.8]])
    after, where = method("styleid").protect(
        noise, Face(np.array([30.0, 30, 60, 60]), points, 1.0, "test"), RNG(0)
    )
    assert not after[where.full((90, 90)) > 0].any()


@pytest.mark.parametrize("turn", [0, 25])
@pytest.mark.parametrize("cut", [0, 150])
def test_tilted_and_cut_off_faces_are_replaced_or_covered(turn, cut, portrait):
    matrix = cv2.getRotationMatrix2D((256, 256), turn, 0.35)
    image = cv2.warpAffine(portrait, matrix, (512, 512), borderMode=cv2.BORDER_REFLECT)[:, cut:][:, :240]
    faces = find_faces(image)
    for face in faces[:1]:
        after, where = replace(method("styleid"), tries=2).protect(image, face, RNG(1))
        assert after.shape == image.shape
        outside = where.full((image.shape[1], 512)) == 0
        assert np.array_equal(after[outside], image[outside])
        x, y = face.centre.astype(int)
        assert not np.array_equal(after[y - 3 : y + 3, x - 3 : x + 3], image[y - 3 : y + 3, x - 3 : x + 3])


def test_a_small_face_is_replaced_or_covered(wall):
    face = min(find_faces(wall), key=lambda face: face.size_wh[0])
    assert face.size_wh[0] < 24
    after, where = replace(method("styleid"), tries=2).protect(wall, face, RNG(1))
    changed = (after != wall).any(axis=2)
    assert changed.any()
    assert not changed[where.full((wall.shape[1], wall.shape[0])) == 0].any()


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("styleid", {"privacy": "total"}),
        ("styleid", {"fallback": "hope"}),
        ("styleid-layers", {"layers": "12-4"}),
        ("styleid-layers", {"layers": "0-23"}),
        ("styleid-channels", {"channels": 5000}),
        ("styleid-mask", {"region": "hair"}),
        ("styleid", {"recognizers": ("somebody",)}),
    ],
)
def test_what_is_not_offered_is_refused(name, options):
    with pytest.raises(UsageError, match=str(next(iter(options)))[:7]):
        method(name, **options)


@pytest.mark.parametrize("name", IDS)
def test_the_guarantee_names_the_recognisers_of_the_check(name):
    held_out = replace(method(name), recognizers=("mobilenet.facelib",))
    assert held_out.guarantee.kind == "beyond-threshold"
    assert held_out.guarantee.recognizers == ("mobilenet.facelib",)
    assert "mobilenet.facelib" in held_out.cards and "dlib-resnet.v1" not in held_out.cards


@pytest.mark.parametrize("name", IDS)
def test_whoever_is_named_checks_and_is_named_in_the_manifest(name):
    named = method(name, recognizers=(SFACE, FACENET))
    assert named.guarantee.recognizers == (SFACE, FACENET) and {SFACE, FACENET} <= set(named.cards)
    assert named.parameters["recognizers"] == [SFACE, FACENET]
    assert list(method(name).parameters)[-2:] == ["tries", "recognizers"]


def test_a_face_is_beyond_the_thresholds_of_recognisers_that_only_judge(portrait):
    small = portrait[::2, ::2].copy()
    (face,) = find_faces(small)
    after, _ = method("styleid", recognizers=("dlib-resnet.v1", SFACE, FACENET)).protect(small, face, RNG(5))
    before, seen = (embeddings(image, face, (SFACE, FACENET)) for image in (small, after))
    for name in (SFACE, FACENET):
        assert recognizer(name).distance(before[name], seen[name]) > recognizer(name).threshold


def test_recognisers_that_never_saw_the_targets_take_no_part_in_choosing_and_pushing(portrait):
    small = portrait[::2, ::2].copy()
    known, more = (
        measure(small, find_faces(small)[0], names) for names in (WATCHING, (*WATCHING, SFACE, FACENET))
    )
    lists = [list(shortlists(one.person, one.embeddings, RNG(1))) for one in (known, more)]
    assert lists[0] == lists[1]
    one, other = (move.led_away(source, lists[0][0][0], known.code, 2) for source in (known, more))
    assert np.array_equal(one, other)
    alone = measure(small, find_faces(small)[0], (SFACE,))
    assert np.array_equal(move.led_away(alone, lists[0][0][0], known.code, 2), known.code)


def test_a_target_turns_its_head_as_it_is_told():
    code = pool().codes[0]
    change = np.zeros(len(TRAITS))
    change[0] = 15
    seen = []
    for wplus in (code, control().moved(code, change, np.full(len(TRAITS), 2.0))):
        crop = generator().render(wplus[None], 128)[0]
        seen.append(looks(crop, face_in_crop(crop)))
    assert 8 < seen[1][0] - seen[0][0] < 22
    assert abs(seen[1][1] - seen[0][1]) < 6


def test_a_push_leads_away_from_the_person():
    codes, judge = pool().codes, "mobilefacenet.facesdk"
    person = {judge: pool().embeddings[judge][7]}
    distances = []
    for step in (0.0, 5.0):
        steps = np.zeros(codes.axes.shape[:2], np.float32)
        steps[IDENTITY] = step * control().away_from(person)
        moved = codes.stepped(7, steps)
        crop = generator().render(moved[None], 128)[0]
        seen = embeddings(crop, face_in_crop(crop), [judge])[judge]
        distances.append(float(recognizer(judge).distance(seen, person[judge])))
    assert distances[0] < 0.1 < distances[1]


def test_a_target_of_the_same_kind_suits_well():
    targets = pool()
    sure = (targets.origin.max(axis=1) > 0.5) & (targets.expression.max(axis=1) > 0.5)
    for number in np.flatnonzero(sure)[::400]:
        unlike = targets.unlikeness(like(number))
        best = np.argsort(unlike, kind="stable")[:100]
        assert unlike[number] <= unlike[best[-1]]
        assert np.mean(targets.origin[best].argmax(axis=1) == targets.origin[number].argmax()) > 0.5


def test_a_little_older_or_surer_of_glasses_is_as_good_as_the_same():
    """Or what two photos of one person share in numbers would tell their targets from other people's."""
    targets, number = pool(), 7
    one = like(number)
    labels = np.where(one.labels > 0.5, 0.99, 0.01)
    other = replace(one, age=one.age + 3, labels=labels, shade=one.shade + 0.05)
    assert targets.unlikeness(other)[number] == targets.unlikeness(one)[number]
    assert targets.unlikeness(replace(one, age=one.age + 20))[number] > targets.unlikeness(one)[number]


def test_a_child_of_any_years_gets_a_child():
    label = LABELS.index(MINOR)
    row = int(np.flatnonzero((pool().age > 14) & (pool().age < 18) & (pool().labels[:, label] > 0.9))[0])
    unlike = pool().unlikeness(like(row))
    best = np.argsort(unlike)[:60]
    assert (pool().labels[best, label] > 0.5).mean() > 0.9


def test_targets_that_hardly_any_resembles_are_never_chosen():
    targets, judge = pool(), "mobilefacenet.facesdk"
    for number in range(0, len(targets), 1163):
        apart = np.sort(
            recognizer(judge).distance(targets.embeddings[judge], targets.embeddings[judge][number])
        )
        assert targets.alone[judge][number] == pytest.approx(apart[NEIGHBOUR], abs=0.01)
        nobody = {judge: np.zeros(128, np.float32)}  # as far from all
        chosen = np.concatenate([*shortlists(like(number), nobody, RNG(0))])
        assert targets.alone[judge][chosen].max() <= np.quantile(targets.alone[judge], 1 - STRANGE)


def test_a_boy_for_whom_no_boy_passes_gets_another_child_before_a_grown_up():
    targets = pool()
    boy = int(np.argmin(np.abs(targets.age - 9) + 100 * targets.female))
    away = {name: -targets.embeddings[name][boy] for name in WATCHING}  # so that the own kind is furthest
    *boys, children, last = shortlists(like(boy), away, RNG(0))
    assert (targets.female[np.concatenate(boys)] < 0.5).all()
    assert (targets.age[children] < 16).all()
    assert len(np.unique(np.concatenate([*boys, children, last]))) == 4 * SKETCHED
    man = int(np.argmin(np.abs(targets.age - 40) + 100 * targets.female))
    assert (targets.female[np.concatenate(list(shortlists(like(man), {}, RNG(0))))] < 0.5).all()


def protected_with(verdicts, shades, monkeypatch, portrait):
    """A face, and the photo with tries that are of one shade each and pass or fail as these verdicts say."""
    small = portrait[::2, ::2].copy()
    (face,) = find_faces(small)
    tries = iter(shades)
    monkeypatch.setattr(flow, "moved_code", lambda *_: pool().codes[0])
    monkeypatch.setattr(flow, "led_away", lambda source, target, wplus, steps: wplus)
    monkeypatch.setattr(flow, "corrected", lambda source, wplus, shown: wplus)
    monkeypatch.setattr(flow, "in_crop", lambda source, wplus: np.full_like(source.crop, next(tries)))
    monkeypatch.setattr(flow, "promising", lambda source, few, turn: iter(few))
    monkeypatch.setattr(flow, "sketch", lambda *_: SimpleNamespace(seen=None, labels=np.zeros(len(LABELS))))
    monkeypatch.setattr(flow, "check", lambda *_: next(verdicts))
    after, _ = method("styleid").protect(small, face, RNG(0))
    return face, after


def test_a_face_that_fails_six_times_is_tried_again(monkeypatch, portrait):
    verdicts = iter([failing(near=False)] * 6 + [passing(suits=True)])
    face, after = protected_with(verdicts, [200] * 7, monkeypatch, portrait)
    assert after[tuple(face.centre.astype(int)[::-1])].any()  # replaced, not covered
    assert next(verdicts, None) is None


def test_a_face_that_is_only_too_near_is_pushed_once_more(monkeypatch, portrait):
    near = [failing(near=True, nearest=margin) for margin in (0.7, 0.8, 0.9)]
    verdicts = iter([*near, passing(suits=True, nearest=1.1)])
    face, after = protected_with(verdicts, [60, 90, 130, 200], monkeypatch, portrait)
    assert np.abs(after[tuple(face.centre.astype(int)[::-1])].astype(int) - 200).max() <= 1
    assert next(verdicts, None) is None


def test_a_push_that_gains_nothing_is_the_last_of_its_target(monkeypatch, portrait):
    stuck = [failing(near=True, nearest=0.9), failing(near=True, nearest=0.9)]
    verdicts = iter([*stuck, passing(suits=True, nearest=1.1)])
    targets = []
    monkeypatch.setattr(flow.StyleId, "code", lambda self, source, target, number: targets.append(target))
    protected_with(verdicts, [60, 90, 200], monkeypatch, portrait)
    assert len(targets) == 2 and next(verdicts, None) is None


def test_of_tries_the_best_is_kept(monkeypatch, portrait):
    promises = {"mended_by": lambda *_: True}
    verdicts = iter([passing(suits=False, misfit=misfit, **promises) for misfit in (3, 4, 1, 4, 2, 4)])
    face, after = protected_with(verdicts, (60, 80, 200, 130, 140, 90), monkeypatch, portrait)
    assert np.abs(after[tuple(face.centre.astype(int)[::-1])].astype(int) - 200).max() <= 1


def test_a_second_target_is_tried_only_where_a_sketch_shows_what_is_missing(monkeypatch, portrait):
    verdicts = iter([passing(suits=False, misfit=misfit, mended_by=lambda *_: False) for misfit in (3, 4)])
    face, after = protected_with(verdicts, (60, 90), monkeypatch, portrait)
    assert np.abs(after[tuple(face.centre.astype(int)[::-1])].astype(int) - 60).max() <= 1


def failing(near: bool, nearest: float = 0.9) -> SimpleNamespace:
    return SimpleNamespace(holds=lambda _: False, only_near=lambda _: near, nearest=nearest)


def passing(**more) -> SimpleNamespace:
    return SimpleNamespace(
        **{"holds": lambda _: True, "only_near": lambda _: False, "embeddings": {}, "years": 0.0} | more
    )


def test_a_sketch_mends_what_a_face_lacked_and_need_not_do_more():
    person = like(7)
    unmoved = np.zeros(len(NAMES))
    older = Verdict({}, 1.0, unmoved, 30.0, True, True, {}, CALM)
    other_mood = Verdict({}, 1.0, unmoved, 0.0, True, False, {}, CALM)
    moved_on = np.roll(person.expression, 1)
    same = (person.age, person.female, person.expression)
    assert older.mended_by(Attributes(person.age, person.female, moved_on), 0, person)
    assert not older.mended_by(Attributes(person.age + 20, person.female, person.expression), 0, person)
    assert other_mood.mended_by(Attributes(person.age + 20, person.female, person.expression), 0, person)
    assert not other_mood.mended_by(Attributes(person.age, person.female, moved_on), 0, person)
    assert not other_mood.mended_by(Attributes(*same), 1, person)
    bearded = replace(other_mood, same_expression=True, others=1)
    assert bearded.mended_by(Attributes(*same), 0, person)
    assert not bearded.mended_by(Attributes(*same), 1, person)


def test_another_gender_is_a_worse_fit_than_any_age_or_expression():
    unmoved = np.zeros(len(NAMES))
    aged = Verdict({}, 1.0, unmoved, 70.0, True, False, {}, CALM)
    other = Verdict({}, 1.0, unmoved, 0.0, False, True, {}, CALM)
    assert not aged.suits and aged.misfit < other.misfit


@pytest.mark.parametrize(
    ("trait", "fine", "off"),
    [(EYES_OPEN, -0.03, -0.06), (TEETH, 1.0, -2.0), (TEETH, -1.0, 2.0), (MOUTH, 0.06, -0.1)],
)
def test_shut_eyes_and_another_mouth_do_not_suit(trait, fine, off):
    suiting, other = (
        Verdict({}, 1.0, change * np.eye(len(NAMES))[trait], 0.0, True, True, {}, CALM)
        for change in (fine, off)
    )
    assert suiting.suits and not other.suits and suiting.misfit < other.misfit


def test_eyes_may_be_wider_open_than_they_were():
    assert Verdict({}, 1.0, 0.1 * np.eye(len(NAMES))[EYES_OPEN], 0.0, True, True, {}, CALM).suits


def test_of_the_first_few_targets_the_most_promising_is_tried_first(portrait):
    small = portrait[::2, ::2].copy()
    (face,) = find_faces(small)
    source = measure(small, face, tuple(WATCHING))
    order = list(replace(method("styleid"), tries=6).candidates(source, RNG(2)))
    first = next(shortlists(source.person, source.embeddings, RNG(2)))
    assert len(set(order)) == 6 and len(first) == SKETCHED
    best = sorted(first, key=lambda target: sum(part(source, sketch(source, target)) for part in PARTS))
    assert order[:TRIED] == best[:TRIED]
    assert len(source.sketches) == 2 * SKETCHED  # none was made twice


def test_what_cannot_win_is_not_looked_at_closely(portrait, monkeypatch):
    small = portrait[::2, ::2].copy()
    (face,) = find_faces(small)
    source = measure(small, face, tuple(WATCHING))
    seen: list = []
    costs = {"good": 1.0, "bad": 5.0}
    monkeypatch.setattr(move, "sketch", lambda source, target, turn: target)
    parts = (lambda source, made: costs[made], lambda source, made: seen.append(made) or 0.5)
    monkeypatch.setattr(move, "PARTS", parts)
    order = move.promising(source, ["bad", "good"])
    assert next(order) == "good" and seen == ["good"]
    assert next(order) == "bad" and seen == ["good", "bad"]


def test_everybody_takes_the_same_step_towards_people():
    photo = np.asarray(generator().render(pool().codes[7][None], 128)[0])
    source = measure(photo, face_in_crop(photo), ())
    code = move.somebody_else(source, 8, 0)  # no recogniser, so no step away
    typical = replace(pool().codes, coordinates=TYPICAL * pool().codes.coordinates)
    step = np.zeros(typical.axes.shape[:2], np.float32)
    step[IDENTITY] = step_to_people()
    assert np.allclose(code, typical.stepped(8, step), atol=1e-5) and not np.allclose(code, typical[8])


@pytest.fixture(scope="module")
def softly_lit(examples) -> tuple:
    """A face in soft light, and its mesh."""
    crop = read_photo(examples / "portrait-2.jpg").pixels[::2, ::2].copy()
    return crop, face_in_crop(crop).mesh[:, :2]


def test_a_change_is_the_mean_of_both_ways_to_read_and_of_one_where_there_is_one():
    alone = like(7)
    both = replace(alone, at_a_distance=alone.looks + 1)
    close, wide = alone.looks + 0.2, alone.looks + 1.4
    assert alone.change(close, wide) == pytest.approx(0.2)
    assert both.change(close, wide) == pytest.approx(0.3)


def test_a_face_checked_against_itself_has_not_changed(portrait):
    face = find_faces(portrait)[0]
    source = measure(portrait, face, ())
    assert source is not None and np.isfinite(source.person.at_a_distance).all()
    verdict = check(source.image, source.face, {}, source.person)
    assert np.abs(verdict.change[[YAW, PITCH]]).max() < 0.5
    assert np.abs(verdict.change[[MOUTH, EYES_OPEN]]).max() < 0.01


def test_what_a_first_face_waits_for_is_loaded_ahead():
    method("styleid").load()
    assert SKETCH in generator()._compiled
    started = len(generator()._compiled)
    method("styleid").load()
    assert len(generator()._compiled) == started


def test_each_region_holds_the_one_before():
    mesh = control().mesh * 256
    whole = np.full((256, 256), 255, np.uint8)
    sizes = [int(part_of(whole, name, mesh).sum()) for name in REGIONS]
    assert sizes == sorted(sizes) and len(set(sizes)) == 4
    assert from_on("eyes-nose-mouth") == ["eyes-nose-mouth", "face"]


@given(st.lists(st.tuples(st.floats(0, 2), st.floats(0, 2)), min_size=2, max_size=20))
def test_the_score_rises_with_identity_and_falls_with_attributes(rows):
    identity, kept = np.array(rows).T
    scores = ia_scores(identity, kept)
    assert scores.min() >= -1.25 - 1e-9 and scores.max() <= 1 + 1e-9
    best = np.lexsort((kept, -identity))[0]
    dominated = (identity <= identity[best]) & (kept >= kept[best])
    assert (scores[best] >= scores[dominated] - 1e-9).all()


def test_distances_of_the_score_are_euclidean():
    one, other = {"x": np.array([3.0, 0.0])}, {"x": np.array([0.0, 0.5])}
    assert identity_distance(one, other) == pytest.approx(np.sqrt(2))
    assert attribute_distance(np.array([0.5, 1.0, 0.0]), np.array([0.25, 1.0, 0.0])) == pytest.approx(0.25)


def test_the_layer_search_scores_every_window_and_its_table_comes_back(tmp_path):
    found = search(1, 0, ["mobilefacenet.facesdk"], widths=(12, 23))
    assert [(w.first, w.width) for w in found] == [(first, 12) for first in range(12)] + [(0, 23)]
    first, *_, last, whole = (window.identity for window in found)
    assert last < 0.6 * min(first, whole)  # the last slots hold colour, not identity
    write_table(found, tmp_path / "layers.csv")
    assert read_table(tmp_path / "layers.csv") == found


def test_the_pool_is_varied():
    targets = pool()
    assert len(targets) > 1500
    assert 0.3 < (targets.female > 0.5).mean() < 0.8
    assert (targets.skin < 10).sum() > 100 and (targets.skin > 41).sum() > 300
    assert (targets.age < 16).sum() > 50 and (targets.age > 50).sum() > 50


def test_the_example_photos_are_protected(examples):
    image = read_photo(examples / "portrait-4.jpg").pixels
    (face,) = find_faces(image)
    after, _ = method("styleid").protect(image, face, RNG(3))
    assert after[tuple(face.centre.astype(int)[::-1])].any()  # replaced, not covered
