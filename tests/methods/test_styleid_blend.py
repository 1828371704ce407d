"""Blending: what of a new head comes into the photo, in which colours, and what shows where it ends."""

import cv2
import numpy as np

from faceveil.methods.styleid.blend import (
    Pictured,
    filled,
    head_mask,
    head_window,
    multiband,
    put_in,
    with_hair_of,
)
from faceveil.methods.styleid.control import control
from faceveil.methods.styleid.fit import FACE_OUTLINE, fitted_mesh, with_forehead, within
from faceveil.methods.styleid.looks import face_in_crop
from faceveil.models.segmenter import person_mask

RNG = np.random.default_rng
SKIN, SKY, WALL, NEW = (205, 150, 125), (90, 140, 220), (250, 250, 250), (150, 100, 80)


def test_the_mask_holds_the_face_and_hair_beside_it_but_no_background():
    mesh = with_forehead(control().mesh * 256)
    nobody, everywhere = (
        head_mask(head_window(mesh, 256), np.full((256, 256), value, np.float32)) for value in (0, 1)
    )
    x, y = mesh[[1, 10, 152, 234, 454]].astype(int).T
    assert (nobody[y, x] > 100).all()
    grown = (everywhere > 127) & (nobody < 128)
    above, below = grown[: int(mesh[10, 1])].sum(), grown[int(mesh[152, 1]) :].sum()
    assert above > 4 * below > 0


def test_a_bald_heads_shine_is_not_hair():
    mesh = with_forehead(control().mesh * 256)
    crop = np.full((256, 256, 3), (205, 150, 125), np.uint8)
    above = int(mesh[468:, 1].min())
    crop[: above // 2] = (40, 30, 25)
    crop[above // 2 + 8 : above - 4, 118:138] = (240, 240, 245)
    found = Pictured(crop, mesh, np.ones((256, 256), np.float32)).hair
    assert found[: above // 2].min() > 0.9
    assert found[above // 2 :].max() == 0


def test_hair_takes_the_colour_of_the_sources(portrait):
    crop = portrait[::2, ::2].copy()
    mesh = with_forehead(face_in_crop(crop).mesh)
    person = person_mask(crop)
    redder = crop.copy()
    hair = (person > 0.9) & (np.arange(256)[:, None] < mesh[10, 1])
    redder[hair] = np.clip(redder[hair] + [40.0, 0, 0], 0, 255).astype(np.uint8)
    out = with_hair_of(Pictured(redder, mesh, person), Pictured(crop, mesh, person))
    gained = (out.astype(float) - crop)[hair].mean(axis=0)
    assert gained[0] > 8 and gained[0] > 2 * abs(gained[1])


def test_a_forehead_in_the_light_keeps_its_colour_under_other_hair():
    dark, blond = (_head_of_colours(colour) for colour in ((40, 30, 25), (215, 180, 110)))
    out = with_hair_of(blond, dark).astype(float)
    hairline, top = _hairline_and_top(dark.mesh)
    changed = np.abs(out - dark.crop).max(axis=2)
    assert changed[: hairline - 4].min() > 25
    assert changed[hairline + 8 : top].max() < 6


def test_dark_hair_made_lighter_does_not_turn_red():
    brown, grey = (_head_of_colours(colour) for colour in ((70, 45, 35), (150, 150, 150)))
    out = with_hair_of(grey, brown).astype(float)[4]
    assert out.mean() > 80 and (out[:, 0] - out[:, 2]).max() < 25


def _head_of_colours(hair_rgb: tuple[int, int, int]) -> Pictured:
    """Skin, hair above, and between them a forehead that is lighter than the cheeks and less than the hair."""
    mesh = with_forehead(control().mesh * 256)
    crop = np.full((256, 256, 3), (205, 150, 125), np.uint8)
    hairline, top = _hairline_and_top(mesh)
    crop[hairline:top] = (252, 225, 212)
    crop[:hairline] = hair_rgb
    return Pictured(crop, mesh, np.ones((256, 256), np.float32))


def _hairline_and_top(mesh: np.ndarray) -> tuple[int, int]:
    """Rows: where hair ends, and where the face's outline begins."""
    top = int(mesh[468:, 1].min())
    return 5 * top // 8, top


def test_a_pyramid_blends_slow_colours_gradually_and_detail_sharply():
    rng = RNG(0)
    new, old = (np.full((256, 256, 3), value, np.uint8) for value in (160, 80))
    grain = rng.integers(-20, 21, new.shape)
    mask = np.zeros((256, 256), np.uint8)
    mask[:, 128:] = 255
    out = multiband((new + grain).astype(np.uint8), old, mask).astype(float)
    assert np.abs(out[:, :64] - 80).max() < 3 and np.abs(out[:, 192:] - (new + grain)[:, 192:]).max() < 3
    columns = out.mean(axis=(0, 2))
    assert 85 < columns[118] < columns[138] < 155  # the step of colour is spread
    assert out[:, 112:120].std(axis=0).mean() < 0.35 * out[:, 136:144].std(axis=0).mean()  # the grain is not


def test_a_head_put_into_its_own_picture_changes_nothing(portrait):
    crop = portrait[::2, ::2].copy()
    picture = Pictured(crop, with_forehead(face_in_crop(crop).mesh), person_mask(crop))
    out, mask = put_in(picture, picture)
    change = np.abs(out.astype(int) - crop).max(axis=2)
    assert np.quantile(change[picture.person > 0.9], 0.99) <= 2
    assert (change > 20).mean() < 0.005  # only where it is unsure who is person
    assert mask[128, 128] == 255 and mask[0, 0] == 0


def test_before_a_hat_the_new_head_ends_at_the_face():
    mesh = with_forehead(control().mesh * 256)
    free, covered = (head_window(mesh, 256, hat) for hat in (False, True))
    assert (covered <= free + 1e-6).all() and (covered > 0).sum() < 0.8 * (free > 0).sum()
    assert np.array_equal(covered >= 1, free >= 1)


def test_a_new_head_is_no_larger_than_the_old_one(portrait):
    crop = portrait[::2, ::2].copy()
    mesh, person = with_forehead(face_in_crop(crop).mesh), person_mask(crop)
    grey = np.full_like(crop, 128)
    out, mask = put_in(Pictured(grey, mesh, np.ones_like(person)), Pictured(crop, mesh, person))
    behind = cv2.dilate(person, np.ones((41, 41))) < 0.05  # well away from the old head
    assert behind.any() and not mask[behind].any()
    assert np.abs(out[128, 128].astype(int) - 128).max() < 8


def test_hair_that_hangs_over_the_forehead_takes_the_colour_too():
    mesh = with_forehead(control().mesh * 256)
    brows = int(mesh[[105, 334], 1].mean())
    heads = []
    for colour in ((60, 40, 30), (60, 160, 170)):
        crop = np.full((256, 256, 3), (205, 150, 125), np.uint8)
        crop[: brows - 16] = colour
        heads.append(Pictured(crop, mesh, np.ones((256, 256), np.float32)))
    brown, dyed = heads
    within = int(mesh[468:, 1].min()) + 6, int(mesh[468:, 0].mean())  # hair inside of the outline
    assert within[0] < brows - 22
    changed = np.abs(with_hair_of(dyed, brown).astype(int) - brown.crop).max(axis=2)
    assert changed[within] > 25
    assert changed[brows:].max() <= 2


def test_a_forehead_in_the_light_is_no_fringe_of_grey_hair():
    mesh = with_forehead(control().mesh * 256)
    top, middle = int(mesh[468:, 1].min()), int(mesh[468:, 0].mean())
    grey, dark = (np.full((256, 256, 3), (150, 110, 90), np.uint8) for _ in range(2))
    grey[:top], dark[:top] = (190, 185, 180), (40, 30, 25)
    grey[top : top + 16] = (188, 180, 172)  # the forehead, as light as the hair
    grey, dark = (Pictured(one, mesh, np.ones((256, 256), np.float32)) for one in (grey, dark))
    changed = np.abs(with_hair_of(dark, grey).astype(int) - grey.crop).max(axis=2)
    assert changed[top - 20, middle] > 40
    assert changed[top + 12 : top + 16, middle].max() < 6


def head_before(colour, mesh, reach: float, skin=SKIN) -> Pictured:
    """A head of one colour, `reach` times as large as the outline, before a wall of another."""
    person = (within(mesh, 256, reach) > 127).astype(np.float32)
    crop = np.where(person[..., None] > 0, np.array(skin, np.uint8), np.array(colour, np.uint8))
    return Pictured(crop.astype(np.uint8), mesh, person)


def test_where_a_new_head_is_narrower_one_sees_what_is_behind_the_old_one():
    mesh = with_forehead(control().mesh * 256)
    old, new = head_before(SKY, mesh, 1.02), head_before(WALL, mesh, 0.88, NEW)
    out, mask = put_in(new, old)
    gap = (within(mesh, 256, 0.97) > 127) & (within(mesh, 256, 0.92) < 128)
    gap[:128] = gap[200:] = False  # the cheeks: elsewhere hair and neck
    assert gap.sum() > 100 and mask[gap].min() == 255
    off = [np.abs(out[gap].astype(float) - colour).mean() for colour in (SKY, WALL, SKIN)]
    assert off[0] < 30 < min(off[1:])  # neither the new head's wall nor the old skin


def test_no_pixel_of_the_old_face_is_left_within_its_mesh():
    mesh = with_forehead(control().mesh * 256)
    old = head_before(SKY, mesh, 1.02, (0, 255, 0))
    unseen = Pictured(old.crop, mesh, np.zeros_like(old.person))  # a segmenter that sees nobody at all
    out, mask = put_in(head_before(WALL, mesh, 1.02, NEW), unseen)
    face = cv2.erode(within(mesh, 256, 0.85), np.ones((5, 5), np.uint8)) > 0
    green = out[..., 1].astype(int) - np.maximum(out[..., 0], out[..., 2])
    assert mask[face].min() == 255 and green[face].max() < 20


def test_nose_and_lips_of_a_profile_are_replaced_too():
    mesh = control().mesh * 256
    mesh[[1, 13]] = [[20.0, 140.0], [26.0, 180.0]]  # before the outline
    inside = within(with_forehead(mesh), 256)
    assert inside[140, 20] == inside[180, 26] == 255


def test_a_profile_is_not_bent_to_an_outline_behind_its_nose():
    front = with_forehead(control().mesh * 256)
    profile = control().mesh * 256
    profile[1] = profile[234] + [2.0, 0.0]
    source = with_forehead(profile)
    source[FACE_OUTLINE] = 128 + (source[FACE_OUTLINE] - 128) * [0.8, 1.0]
    straight = fitted_mesh(front, source)
    rigid = np.linalg.lstsq(
        np.column_stack([front[:468], np.ones(468)]), straight[:468] - straight[:468].mean(0), rcond=None
    )[0]
    assert abs(rigid[0, 0] - rigid[1, 1]) < 0.02  # no narrower than high


def test_on_a_bald_head_the_slow_colours_go_on_over_the_forehead_and_no_hair_does():
    mesh = with_forehead(control().mesh * 256)
    old = head_before(SKY, mesh, 1.6)
    new = head_before(WALL, mesh, 1.6, (165, 120, 100))
    hairy = new.crop.copy()
    top = int(mesh[FACE_OUTLINE, 1].min())
    hairy[: top - 12][new.person[: top - 12] > 0] = (20, 15, 10)
    new = Pictured(hairy, mesh, new.person)
    (hat, short), (bald, long) = put_in(new, old, covered=True), put_in(new, old, bald=True)
    assert np.array_equal(hat, bald)  # the same picture, of which more is taken
    assert (long >= short).all() and (long > short).sum() > 500
    above = bald[top - 30 : top - 18, 128].astype(int)
    assert above.min() > 80  # no hair
    steps = np.abs(np.diff(bald[top - 30 : top + 20, 128].astype(int), axis=0)).max()
    assert steps < 12  # no edge where the new forehead begins


def test_what_is_filled_goes_on_with_what_is_around():
    rng = RNG(0)
    image = np.full((64, 96, 3), (40, 90, 200), np.uint8)
    image[:, 48:] = (200, 90, 40)
    weight = np.ones((64, 96), np.float32)
    weight[20:44, 10:30] = weight[20:44, 66:86] = 0
    hidden = image.copy()
    hidden[weight == 0] = rng.integers(0, 256, ((weight == 0).sum(), 3))
    out = filled(hidden, weight)
    assert np.abs(out - image)[weight == 1].max() < 1e-3
    assert np.abs(out - image)[weight == 0].mean() < 6


def test_nothing_known_at_all_still_fills():
    assert np.isfinite(filled(np.zeros((32, 32, 3), np.uint8), np.zeros((32, 32), np.float32))).all()


def test_colours_meet_over_as_much_of_a_large_picture_as_of_a_small_one():
    spread = []
    for side in (128, 512):
        new, old = (np.full((side, side, 3), value, np.uint8) for value in (160, 80))
        mask = np.zeros((side, side), np.uint8)
        mask[:, side // 2 :] = 255
        row = multiband(new, old, mask)[side // 2, :, 0].astype(float)
        spread.append(np.count_nonzero((row > 90) & (row < 150)) / side)
    assert spread[1] > 0.6 * spread[0]
