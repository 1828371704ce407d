"""MIKU by its paper: N_s, the masked background, and the weights of its projector."""

from dataclasses import replace

import numpy as np
import pytest
from tests.grouping.literal import groups_of, mondrian

from faceveil.methods import method
from faceveil.methods.miku import CONFERENCE, GROUP_SIDE
from faceveil.models import projector
from faceveil.models.projector import View, look_network
from faceveil.models.runtime import Network, openvino
from faceveil.models.segmenter import person_mask
from faceveil.models.vgg import vgg_maps
from faceveil.spaces import space


@pytest.mark.parametrize("group_map", ["attribute", "latent"])
def test_groups_are_mondrian_s_on_the_whole_of_a_map_that_n_s_covers(group_map, made_up_people):
    """Nothing is drawn where there are fewer dimensions than N_s; of latents 9,216 of 11,776 are."""
    faces = made_up_people.take(np.arange(12))
    vectors = space(group_map).fit(faces).encode(faces)
    found = method("miku", k=3, group_map=group_map, synthesis_map="direct").release(
        faces, np.random.default_rng(0)
    )
    whole = mondrian(vectors, 3)
    if group_map == "attribute":
        assert groups_of(found.groups) == whole
    assert method("miku").n_s == 18 * 512 == CONFERENCE.n_s
    for seed in range(8):  # with few dimensions, chance decides
        few = method("miku", k=3, group_map=group_map, synthesis_map="direct", n_s=1)
        if groups_of(few.release(faces, np.random.default_rng(seed)).groups) != whole:
            return
    pytest.fail("n_s is not heeded")


def test_the_default_maps_are_the_pair_that_the_paper_found_best():
    assert method("miku").parameters["group_map"] == "attribute"
    assert method("miku").parameters["synthesis_map"] == "latent"
    assert (CONFERENCE.group_map, CONFERENCE.synthesis_map) == ("latent", "latent")


def test_direct_maps_see_and_show_people_and_not_what_is_behind_them(made_up_people):
    """The paper masks the background; grouped by pixels without it, another wall is no other person."""
    faces = made_up_people.take(np.arange(6))
    release = method("miku", k=6, group_map="direct", synthesis_map="direct").release(
        faces, np.random.default_rng(0)
    )
    persons = np.array([person_mask(crop) for crop in faces.crops])
    behind = persons.max(axis=0) < 0.02
    assert behind.mean() > 0.02
    assert np.abs(release.crops[0][behind].astype(int) - 128).max() <= 2
    small = space("pixel", side=GROUP_SIDE).encode(faces).reshape(6, GROUP_SIDE, GROUP_SIDE, 3)
    grown = behind.reshape(GROUP_SIDE, 256 // GROUP_SIDE, GROUP_SIDE, -1).min(axis=(1, 3))
    assert grown.any() and np.abs(small[:, grown] - 128).max() <= 4


def test_the_projector_s_recipe_is_the_paper_s():
    """Squared error of pixels and 0.1 of the VGG maps', by maps that are computed here without it."""
    view, rng = View(128), np.random.default_rng(0)
    one, other = (rng.uniform(-1, 1, (1, 3, 128, 128)).astype(np.float32) for _ in range(2))
    image = openvino().opset13.parameter([1, 3, 128, 128], np.float32, "image")
    maps = Network(openvino().Model(vgg_maps(image), [image], "maps"))
    apart = [float(((a - b) ** 2).mean()) for a, b in zip(maps(one), maps(other), strict=True)]
    network = look_network(view, projector.MIKU)
    seen = [float(((a - b) ** 2).sum()) for a, b in zip(network(one), network(other), strict=True)]
    assert seen[0] == pytest.approx(float(((one - other) ** 2).mean()), rel=1e-3)
    assert seen[1:] == pytest.approx([0.1 * gap for gap in apart], rel=1e-3)


def test_the_projector_s_recipe_leaves_the_background_out(portrait):
    """As in its equation 3. The pixels alone are asked, since VGG's maps look beyond a mask's rim."""
    pixels = replace(projector.MIKU, look_weight=0)
    face = portrait[None, ::2, ::2].copy()
    other, mask = face.copy(), np.ones((1, 256, 256), np.float32)
    other[:, :, :64], mask[:, :, :64] = 255 - other[:, :, :64], 0
    one, two = (projector.project(photo, None, 2, pixels, mask) for photo in (face, other))
    assert np.abs(one - two).max() < 1e-3
