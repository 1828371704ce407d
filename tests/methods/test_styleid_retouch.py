"""Retouch: expression, age, gender, glasses, beard, mouth and eyes are led to the source's; and what tells a kind."""

from dataclasses import replace

import numpy as np
import pytest
from tests.methods.people import like

from faceveil.faces.attributes import Attributes, attributes
from faceveil.methods.styleid import swap
from faceveil.methods.styleid.check import Verdict
from faceveil.methods.styleid.control import control
from faceveil.methods.styleid.looks import (
    EYES,
    KIND,
    MOUTH,
    NAMES,
    OF_KIND,
    PITCH,
    TEETH,
    TRAITS,
    YAW,
    face_in_crop,
    looks,
    odds,
)
from faceveil.methods.styleid.retouch import corrected, retouched
from faceveil.methods.styleid.targets import (
    CLEAR,
    FEMALE,
    LABELS,
    WORN_LABELS,
    Person,
    by_two,
    kind_of,
    labels,
    pool,
)
from faceveil.models.attributes import EXPRESSIONS


def read_code(wplus: np.ndarray) -> Attributes:
    """What the networks read in a code's small render."""
    crop = swap._small(wplus)
    return by_two(attributes(crop, face_in_crop(crop)), labels(crop))


def shown_by(row: int) -> Person:
    """The person whom a target's small render shows."""
    code = pool().codes[row]
    crop, seen = swap._small(code), read_code(code)
    face = face_in_crop(crop)
    return replace(
        like(row), looks=looks(crop, face), age=seen.age, female=seen.female, expression=seen.expression,
        labels=labels(crop),
    )  # fmt: skip


@pytest.mark.parametrize("mood", ["angry", "happy", "sad"])
def test_a_face_in_another_mood_is_led_to_the_sources(mood):
    targets, own = pool(), EXPRESSIONS.index(mood)
    wanted = np.eye(7, dtype=np.float32)[own]
    for row in np.flatnonzero(targets.expression[:, EXPRESSIONS.index("neutral")] > 0.8)[:300:75]:
        code = retouched(replace(like(row), expression=wanted), targets.codes[row], swap._small)
        before, after = (read_code(one).expression[own] for one in (targets.codes[row], code))
        assert after > 4 * before


def test_a_face_of_another_age_is_led_to_the_sources():
    targets, off = pool(), []
    for row in (7, 70, 700, 7000, 1234, 2345):
        before = read_code(targets.codes[row])
        person = replace(like(row), expression=before.expression, age=before.age + 6)
        led = read_code(retouched(person, targets.codes[row], swap._small))
        off.append(abs(led.age - person.age_to_show))
    assert np.mean(off) < 5


@pytest.mark.parametrize("turn", [YAW, PITCH])
def test_a_head_that_is_turned_is_led_back(turn):
    off = []
    for row in (7, 70, 700, 7000):
        person = shown_by(row)
        looked = person.looks.copy()
        looked[turn] += 8.0
        code = retouched(replace(person, looks=looked), pool().codes[row], swap._small)
        off.append(abs(_looks(code)[turn] - looked[turn]))
    assert np.mean(off) < 4


@pytest.mark.parametrize(("age", "older"), [(8, 0.0), (25, 0.0), (45, 1.6), (65, 3.2)])
def test_a_render_is_asked_to_look_older_than_the_softer_result(age, older):
    person = replace(like(7), age=float(age))
    assert person.age_to_show == pytest.approx(age + older)
    assert person.traits[TRAITS.index("age")] == person.age_to_show


def test_a_face_that_shows_all_is_left_as_it_is():
    code = pool().codes[7]
    person = shown_by(7)
    clear = replace(person, labels=np.rint(person.labels), female=float(np.rint(person.female)))
    assert np.array_equal(retouched(clear, code, swap._small), code)


@pytest.mark.parametrize("name", KIND)
def test_a_step_along_a_kind_changes_what_the_networks_see_of_it(name):
    column, changed = KIND.index(name), []
    bare = (pool().labels[:, WORN_LABELS] < 0.2).all(axis=1)
    for row in np.flatnonzero(bare & (pool().age > 25) & (pool().female < 0.1))[:60:10]:
        steps = np.zeros(len(TRAITS))
        steps[OF_KIND.start + column] = 2.0 * control().deviation[OF_KIND.start + column]
        codes = pool().codes[row], control().moved(pool().codes[row], steps, np.full(len(TRAITS), 2.0))
        kinds = [odds(kind_of(labels(swap._small(code)), read_code(code).female)) for code in codes]
        changed.append((kinds[1] - kinds[0])[column])
    assert np.mean(changed) > 2.0  # of log odds


def test_glasses_that_the_source_does_not_wear_are_taken_off():
    glasses = LABELS.index("glasses")
    worn = np.flatnonzero((pool().labels[:, glasses] > 0.95) & (pool().age > 20))[:40:8]
    left = []
    for row in worn:
        person = shown_by(row)
        bare = replace(person, labels=np.where(np.arange(len(LABELS)) == glasses, 0.0, person.labels))
        left.append(labels(swap._small(retouched(bare, pool().codes[row], swap._small)))[glasses])
    assert np.mean(left) < 0.5


def test_a_face_that_tips_to_the_other_gender_is_led_back():
    rows = np.flatnonzero((pool().female < 0.05) & (pool().age > 20) & (pool().age < 45))[:40:8]
    before, after = [], []
    for row in rows:
        person = replace(shown_by(row), female=0.98)
        before.append(read_code(pool().codes[row]).female)
        after.append(read_code(retouched(person, pool().codes[row], swap._small)).female)
    assert np.mean(after) > np.mean(before) + 0.25


def test_eyes_open_towards_the_sources_and_are_never_closed():
    opened, kept = [], []
    for row in range(0, 11_000, 1100):
        person, code = shown_by(row), pool().codes[row]
        wide, narrow = (replace(person, looks=_with(person.looks, EYES, factor)) for factor in (1.7, 0.5))
        opened.append(_looks(retouched(wide, code, swap._small))[EYES] / person.looks[EYES])
        kept.append(_looks(retouched(narrow, code, swap._small))[EYES] / person.looks[EYES])
    assert np.mean(opened) > 1.08
    assert np.mean(kept) > 0.97


def test_a_squint_opens():
    squinting = np.flatnonzero(pool().looks[:, EYES] < 0.17)[:200:40]
    for row in squinting:
        person = shown_by(row)
        awake = replace(person, looks=_set(person.looks, EYES, 0.24))
        assert _looks(retouched(awake, pool().codes[row], swap._small))[EYES] > person.looks[EYES] + 0.015


def test_a_gaping_mouth_shows_more_teeth_where_the_source_does():
    gaping = np.flatnonzero(pool().looks[:, TEETH] < -0.5)[:40:8]
    more = []
    for row in gaping:
        person = shown_by(row)
        grinning = replace(person, looks=_set(person.looks, TEETH, 2.0))
        more.append(_looks(retouched(grinning, pool().codes[row], swap._small))[TEETH] - person.looks[TEETH])
    assert np.mean(more) > 0.1


def off(change: dict[int, float], years: float = 0.0, mood: str = "neutral", same: bool = True) -> Verdict:
    """What a check may have seen of a face."""
    moved = np.zeros(len(NAMES))
    moved[list(change)] = list(change.values())
    return Verdict(
        {}, 1.0, 1.0, moved, years, True, same, {}, np.eye(7, dtype=np.float32)[EXPRESSIONS.index(mood)]
    )


def test_what_was_right_in_the_photo_is_not_corrected():
    code = pool().codes[7]
    fine = off({EYES: 0.03, TEETH: 0.2, YAW: 9.0}, years=2.0)
    assert np.array_equal(corrected(like(7), code, fine), code)


@pytest.mark.parametrize("years", [-9.0, 9.0])
def test_a_face_too_old_or_too_young_in_the_photo_is_corrected(years):
    before, after = (
        np.mean([read_code(code).age for code in codes])
        for codes in zip(
            *(
                (pool().codes[row], corrected(like(row), pool().codes[row], off({}, years)))
                for row in (7, 70, 700, 7000, 1234, 2345)
            ),
            strict=True,
        )
    )
    assert (before - after) * np.sign(years) > 2


def test_eyes_shut_in_the_photo_are_opened():
    more = []
    for row in range(0, 11_000, 2200):
        code = pool().codes[row]
        more.append(_looks(corrected(like(row), code, off({EYES: -0.05})))[EYES] - _looks(code)[EYES])
    assert np.mean(more) > 0.015


def test_a_mouth_too_open_in_the_photo_is_closed():
    less = []
    for row in np.flatnonzero(pool().looks[:, MOUTH] > 0.2)[:24:6]:
        code = pool().codes[row]
        less.append(_looks(code)[MOUTH] - _looks(corrected(like(row), code, off({MOUTH: 0.1})))[MOUTH])
    assert np.mean(less) > 0.02


def test_another_expression_in_the_photo_is_led_to_the_sources():
    happy, gains = EXPRESSIONS.index("happy"), []
    for row in np.flatnonzero(pool().expression[:, EXPRESSIONS.index("neutral")] > 0.8)[:300:75]:
        person = replace(like(row), expression=np.eye(7, dtype=np.float32)[happy])
        codes = pool().codes[row], corrected(person, pool().codes[row], off({}, same=False))
        before, after = (read_code(code).expression[happy] for code in codes)
        gains.append(after / before)
    assert np.median(gains) > 2


def test_a_mouth_closes_with_the_sources():
    wide = np.flatnonzero(pool().looks[:, MOUTH] > 0.2)[:24:8]
    left = []
    for row in wide:
        person = shown_by(row)
        shut = replace(person, looks=_set(_set(person.looks, MOUTH, 0.0), TEETH, 0.0))
        left.append(_looks(retouched(shut, pool().codes[row], swap._small))[MOUTH] / person.looks[MOUTH])
    assert np.mean(left) < 0.8


def test_only_what_is_not_clear_is_to_change():
    person = replace(like(7), female=0.9, labels=np.zeros(len(LABELS), np.float32))
    clearly, unsure = np.array([-4.0, -4.0, 4.0]), np.zeros(len(KIND))
    assert not person.off_kind(clearly).any()
    assert np.allclose(person.off_kind(unsure), [-CLEAR, -CLEAR, CLEAR])


def test_who_becomes_a_woman_leaves_the_beard():
    bearded = replace(like(7), female=0.1, labels=np.ones(len(LABELS), np.float32))
    beard = KIND.index("facial hair")
    assert bearded.kind[beard] == 1 and replace(bearded, female=0.9).kind[beard] == 0


def test_gender_is_what_two_networks_see_on_average():
    shown = np.zeros(len(LABELS), np.float32)
    shown[FEMALE] = 0.2
    assert by_two(Attributes(30.0, 0.7, np.zeros(7, np.float32)), shown).female == pytest.approx(0.45)


def _looks(wplus: np.ndarray) -> np.ndarray:
    crop = swap._small(wplus)
    return looks(crop, face_in_crop(crop))


def _set(values: np.ndarray, place: int, value: float) -> np.ndarray:
    changed = values.copy()
    changed[place] = value
    return changed


def _with(values: np.ndarray, place: int, factor: float) -> np.ndarray:
    changed = values.copy()
    changed[place] *= factor
    return changed
