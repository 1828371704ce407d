"""One law for all methods on whole sets: k people behind each face, identical bytes, nothing lost in silence."""

from dataclasses import replace

import cv2
import numpy as np
import pytest

from faceveil.errors import UsageError
from faceveil.faces import FaceSet
from faceveil.faces.inner import inner_mask
from faceveil.faces.sharpness import detail
from faceveil.grouping import group
from faceveil.methods import METHODS, SetMethod, method
from faceveil.methods.likeness import LOOKS, beside
from faceveil.methods.miku import CONFERENCE
from faceveil.methods.sets import draw, usual_detail
from faceveil.models.recognizers import WATCHING
from faceveil.privacy.criteria import KAnonymity
from faceveil.spaces import space
from faceveil.spaces.embedding import EmbeddingSpace

SETS = [name for name, one in METHODS.items() if isinstance(one, SetMethod)]


def run(name, faces, seed=0, **options):
    return method(name, **options).release(faces, np.random.default_rng(seed))


@pytest.fixture(scope="module")
def releases(made_up_people):
    return {name: run(name, made_up_people, k=3) for name in SETS}


def test_the_papers_methods_are_there():
    assert SETS == ["k-same-pixel", "k-same-eigen", "k-same-partial-m", "k-same-m", "miku", "anonfaces"]


@pytest.mark.parametrize("name", SETS)
class TestEverySetMethod:
    def test_puts_k_people_behind_every_face(self, name, releases, made_up_people):
        release = releases[name]
        assert KAnonymity(3, made_up_people.subjects.tolist()).judge(release.groups).holds
        assert (release.groups >= 0).any()

    def test_gives_all_members_of_a_group_one_picture_and_no_picture_to_two_groups(self, name, releases):
        release = releases[name]
        released = release.groups >= 0
        pairs = set(zip(release.groups[released].tolist(), release.pictures[released].tolist(), strict=True))
        assert len(pairs) == len(np.unique(release.groups[released])) == len(release.crops)
        assert release.crops.shape[1:] == (256, 256, 3) and release.crops.dtype == np.uint8

    def test_says_why_a_face_is_not_released(self, name, releases):
        release = releases[name]
        assert set(release.reasons) == set(np.flatnonzero(release.groups < 0).tolist())
        assert (release.pictures[release.groups < 0] == -1).all()

    def test_keeps_the_photos_of_a_person_together(self, name, releases):
        groups = releases[name].groups
        assert groups[0] == groups[12] and groups[1] == groups[13]

    def test_repeats_its_bytes_for_a_seed(self, name, releases, made_up_people):
        again = run(name, made_up_people, k=3)
        assert np.array_equal(again.groups, releases[name].groups)
        assert np.array_equal(again.crops, releases[name].crops)

    def test_releases_no_original(self, name, releases, made_up_people):
        originals = {crop.tobytes() for crop in made_up_people.crops}
        assert not any(crop.tobytes() in originals for crop in releases[name].crops)

    def test_refuses_every_face_of_fewer_than_k_people(self, name, made_up_people):
        few = made_up_people.take(np.array([0, 12, 1, 13]))  # four photos of two people
        release = run(name, few, k=3)
        assert (release.groups == -1).all() and len(release.crops) == 0
        assert release.reasons == dict.fromkeys(
            range(4), "k=3 needs at least 3 people; this set shows 2 people. Lower k or add photos."
        )

    def test_claims_k(self, name):
        claim = method(name, k=7).guarantee
        assert claim.kind == "k-anonymity" and claim.k == 7

    def test_refuses_a_group_of_one(self, name):
        with pytest.raises(UsageError, match="2 or more"):
            method(name, k=1)

    def test_publishes_what_it_was_set_to(self, name):
        assert method(name, k=4).parameters["k"] == 4
        assert not any("seed" in key for key in METHODS[name].parameters)


def test_k_same_pixel_is_the_plain_mean_of_its_people(releases, made_up_people):
    release = releases["k-same-pixel"]
    for number, picture in enumerate(release.crops):
        rows = np.flatnonzero(release.groups == number)
        people = np.unique(made_up_people.subjects[rows])
        each = [
            made_up_people.crops[made_up_people.subjects == who].astype(float).mean(axis=0) for who in people
        ]
        assert np.abs(np.mean(each, axis=0) - picture).max() <= 0.51


def test_k_same_eigen_shows_the_mean_of_the_projections(made_up_people):
    """An independent oracle: project the plain mean, since projection is linear."""
    one_photo = made_up_people.take(np.arange(12))
    release = run("k-same-eigen", one_photo, k=4)
    eigen = space("eigen").fit(one_photo)
    for number, picture in enumerate(release.crops):
        rows = np.flatnonzero(release.groups == number)
        mean = eigen.decode(eigen.encode(one_photo)[rows].mean(axis=0, keepdims=True))[0]
        assert np.abs(mean.astype(int) - picture).max() <= 1


def test_a_gallery_gives_neighbours_and_claims_nothing(made_up_people):
    faces, gallery = made_up_people.take(np.arange(3)), made_up_people.take(np.arange(2, 14))
    for name in ("k-same-pixel", "k-same-partial-m"):
        with_gallery = method(name, k=4).with_gallery(gallery)
        release = with_gallery.release(faces, np.random.default_rng(0))
        assert with_gallery.guarantee.kind == "none" and "gallery" in with_gallery.guarantee.sentence
        assert len(release.crops) == 3 and "not a claim" in release.notes[0]


def test_a_gallery_of_one_neighbour_gives_that_neighbour(made_up_people):
    """k = 2 of a gallery with two people is their mean, whoever asks."""
    pair = made_up_people.take(np.array([4, 9]))
    release = (
        method("k-same-pixel", k=2)
        .with_gallery(pair)
        .release(made_up_people.take(np.arange(2)), np.random.default_rng(0))
    )
    mean = pair.crops.astype(float).mean(axis=0)
    assert all(np.abs(crop - mean).max() <= 0.51 for crop in release.crops)


def test_a_gallery_with_too_few_people_is_refused(made_up_people):
    with pytest.raises(UsageError, match="gallery of 5"):
        method("k-same-m", k=5).with_gallery(made_up_people.take(np.array([0, 12, 1])))


@pytest.mark.parametrize("group_map", ["direct", "latent", "attribute"])
@pytest.mark.parametrize("synthesis_map", ["direct", "latent"])
def test_every_pair_of_mikus_maps_works(group_map, synthesis_map, made_up_people):
    some = made_up_people.take(np.arange(6))
    release = run("miku", some, k=3, group_map=group_map, synthesis_map=synthesis_map, n_s=8)
    assert KAnonymity(3).judge(release.groups).holds and len(release.crops) == 2


def test_mikus_conference_form_halves_the_latents_at_the_widest_dimension(made_up_people):
    some = made_up_people.take(np.arange(12))
    release = replace(CONFERENCE, k=6, n_s=23 * 512).release(some, np.random.default_rng(0))
    codes = space("latent").encode(some)
    widest = np.argmax(codes.max(axis=0) - codes.min(axis=0))
    lower = np.argsort(codes[:, widest])[:6]
    assert len(np.unique(release.groups[lower])) == 1 and len(release.crops) == 2
    members = made_up_people.take(lower)
    drawn = draw(space("latent"), codes[lower].mean(axis=0), usual_detail(members))
    assert np.abs(drawn.astype(int) - release.crops[release.groups[lower[0]]]).max() <= 1


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("miku", {"group_map": "sound"}),
        ("miku", {"synthesis_map": "attribute"}),  # its Table 3 says no
        ("miku", {"n_s": 0}),
        ("miku", {"attributes": ("charm",)}),
        ("anonfaces", {"keep": "name"}),
        ("anonfaces", {"grouper": "luck"}),
        ("anonfaces", {"recognizers": ("nobody",)}),
        ("anonfaces", {"delta": 1.0}),
        ("anonfaces", {"beta": 0.0}),
        ("anonfaces", {"looks": -1.0}),
        ("k-same-m", {"grouper": "luck"}),
        ("k-same-m", {"budget": 3}),
    ],
)
def test_what_a_method_cannot_do_is_refused(name, wrong):
    with pytest.raises(UsageError):
        method(name, **wrong)


@pytest.mark.parametrize("name", ["miku", "anonfaces"])
def test_refinement_s_weights_are_the_method_s_too(name):
    assert {"mobilenet.facelib", "lpips.alexnet"} <= {*method(name, refine=2).cards}


def test_a_group_s_face_is_drawn_from_refined_codes(made_up_people):
    """Codes that the set knows already stand for what gradient descent would find: those of other people here."""
    chosen = method("miku", k=7, refine=3)
    latent = space("latent", refine=3)
    codes = latent.strangers(len(made_up_people), np.random.default_rng(4))
    faces = replace(made_up_people)
    faces.known[latent.key] = codes
    release = chosen.release(faces, np.random.default_rng(0))
    people = np.concatenate([(codes[:2] + codes[12:]) / 2, codes[2:12]])
    wanted = draw(latent, people.mean(axis=0), usual_detail(made_up_people))
    assert len(release.crops) == 1 and np.abs(release.crops[0].astype(int) - wanted).max() <= 1
    assert chosen.parameters["refine"] == 3
    assert "refine" not in method("miku", group_map="direct", synthesis_map="direct").parameters


def test_options_are_named_as_the_command_line_writes_them():
    with pytest.raises(UsageError, match=r"blackout has no -k; it takes --strength"):
        method("blackout", k=3)
    with pytest.raises(UsageError, match=r"miku has no --budget; it takes -k, --group-map"):
        method("miku", budget=3)


def test_without_a_seed_the_same_groups_give_another_face(made_up_people):
    """The start weights alone do it: nobody watches here, so nothing else is drawn."""
    few = made_up_people.take(np.arange(3))  # one group, whatever is drawn
    unwatched = method("anonfaces", k=3, recognizers=())
    secret = [unwatched.release(few, np.random.default_rng()) for _ in range(2)]
    assert not np.array_equal(secret[0].crops, secret[1].crops)
    even = [replace(unwatched, delta=0.0).release(few, np.random.default_rng()) for _ in range(2)]
    assert np.array_equal(even[0].crops, even[1].crops)


def matches(crops, faces: FaceSet, name: str):
    """Which original each crop is taken for, by code of the recogniser alone."""
    from faceveil.faces.crops import face_set

    watcher = EmbeddingSpace(name)
    return watcher.network.matches(watcher.encode(face_set(crops))[:, None], watcher.encode(faces)[None])


@pytest.mark.parametrize("name", ["mobilenet.facelib", "dlib-resnet.v1", "mobilefacenet.facesdk"])
def test_no_recogniser_takes_a_released_face_for_a_member(name, releases, made_up_people):
    release = releases["anonfaces"]
    taken = matches(release.crops, made_up_people, name)
    for number in range(len(release.crops)):
        assert not taken[number, release.groups == number].any()


def test_a_group_s_face_looks_straight_ahead(releases):
    """So that it suits every head it is put on, without its own background beside it."""
    from faceveil.faces import pose
    from faceveil.faces.crops import as_face, locate

    found = locate(releases["anonfaces"].crops)
    turns = [pose(as_face(*face)).yaw for face in zip(found.points, found.meshes, strict=True)]
    assert np.abs(turns).max() < 12


def test_what_stays_at_risk_is_refused_with_its_reason(made_up_people, monkeypatch):
    """With a threshold that nobody can pass, nothing may be released."""
    from faceveil.methods import anonfaces
    from faceveil.models.recognizers import DlibResnet

    monkeypatch.setattr(DlibResnet, "threshold", 100.0)
    monkeypatch.setattr(anonfaces, "STRANGERS", 1)
    few = made_up_people.take(np.arange(3))
    release = run("anonfaces", few, k=2, recognizers=("dlib-resnet.v1",), budget=1)
    assert (release.groups == -1).all() and len(release.crops) == 0
    assert all("still recognised" in release.reasons[row] for row in range(3))
    assert release.figures["groups_safe"] == 0


@pytest.fixture(scope="module")
def one_group(made_up_people):
    """Four people and their one face."""
    some = made_up_people.take(np.arange(4))
    return some, run("anonfaces", some, k=4)


@pytest.mark.parametrize("paste", ["joined", "identical"])
def test_a_mix_that_is_safe_alone_is_also_looked_at_on_those_who_will_wear_it(
    made_up_people, monkeypatch, paste
):
    """Among a member's own hair and chin it is more like that member."""
    from faceveil.methods.anonfaces import MARGIN, _Run
    from faceveil.models.recognizers import DlibResnet

    some, rows = made_up_people.take(np.arange(3)), np.arange(3)
    watching = method("anonfaces", k=3, recognizers=("dlib-resnet.v1",))
    monkeypatch.setattr(DlibResnet, "threshold", 0.1)  # all are safe alone
    alone, in_photos = _Run(watching, some), _Run(watching.for_photos(paste), some)
    mix = alone.latent.encode(some).mean(axis=0)
    margins = [one._assess(mix, rows, 1.0, rows).margins for one in (alone, in_photos)]
    assert (margins[0] >= 0).all() and (margins[1] <= margins[0]).all()
    nearest = [0.1 * (1 + one.min() + MARGIN) for one in margins]  # in the recogniser's own distance
    assert nearest[1] < nearest[0]
    monkeypatch.setattr(DlibResnet, "threshold", float(np.mean(nearest)) / (1 + MARGIN))
    found = [one._assess(mix, rows, 1.0, rows).at_risk.any() for one in (alone, in_photos)]
    assert found == [False, True] and in_photos._worse_put_in == {0}


@pytest.mark.parametrize("keep", ["pose", "expression"])
def test_what_members_keep_gives_each_a_picture_and_no_claim(keep, one_group):
    some, _ = one_group
    keeping = method("anonfaces", k=4, keep=keep)
    release = keeping.release(some, np.random.default_rng(0))
    assert keeping.guarantee.kind == "none" and "keeps" in keeping.guarantee.sentence
    assert sorted(release.pictures.tolist()) == [0, 1, 2, 3] and (release.groups == 0).all()


def test_a_kept_background_concerns_pasting_only(one_group):
    some, plain = one_group
    assert np.array_equal(plain.crops, run("anonfaces", some, k=4, keep="background").crops)
    assert method("anonfaces", keep="background").guarantee.kind == "k-anonymity"


def test_real_people_are_never_recognised_by_who_watched(real_people):
    some = real_people.take(np.arange(10))
    release = run("anonfaces", some, k=5)
    assert (release.groups >= 0).sum() >= 5  # a group at least
    assert set(release.reasons) == set(np.flatnonzero(release.groups < 0).tolist())
    for name in WATCHING:
        taken = matches(release.crops, some, name)
        for number in range(len(release.crops)):
            assert not taken[number, release.groups == number].any()


def test_a_group_at_risk_moves_towards_strangers_of_its_gender_and_age(made_up_people):
    from faceveil.faces.crops import face_set
    from faceveil.methods.strangers import strangers_like
    from faceveil.methods.styleid.targets import pool

    looks = space("attribute", names=["gender", "age"])
    female, age = looks.encode(made_up_people).T
    clear = np.full(len(pool()), np.inf, np.float32)
    for rows in (np.argsort(female)[:3], np.argsort(female)[-3:]):
        members = made_up_people.take(rows)
        code = space("latent").encode(members).mean(axis=0)
        codes = strangers_like(LOOKS.encode(members), clear, code, 4, np.random.default_rng(0))
        seen = looks.encode(face_set(space("latent").decode(codes)))
        assert ((seen[:, 0] > 0.5) == (female[rows].mean() > 0.5)).all()
        assert np.abs(seen[:, 1].mean() - age[rows].mean()) < 0.15  # of 100 years


def test_nobody_whom_a_recogniser_takes_for_a_member_is_proposed(made_up_people):
    from faceveil.methods.strangers import CLEAR, LIKEST, strangers_like
    from faceveil.methods.styleid.targets import pool

    few = made_up_people.take(np.arange(2))
    female = space("attribute", names=["gender"]).encode(few).mean() > 0.5
    of_gender = np.flatnonzero(pool().female > 0.9 if female else pool().female < 0.1)
    margins = np.full(len(pool()), CLEAR - 0.1, np.float32)
    margins[of_gender[:LIKEST]] = CLEAR + 0.1
    code = space("latent").encode(few)[0]
    codes = strangers_like(LOOKS.encode(few), margins, code, 8, np.random.default_rng(0))
    allowed = pool().codes[of_gender[:LIKEST]][:, 0]
    firsts = codes.reshape(8, 23, 512)[:, 0]
    assert all(np.isclose(one, allowed, atol=1e-4).all(axis=1).any() for one in firsts)


@pytest.mark.parametrize("worn", ["glasses", "facial hair"])
def test_strangers_wear_glasses_and_beards_where_the_members_do(worn):
    from faceveil.methods.strangers import likest
    from faceveil.methods.styleid.targets import LABELS, pool

    looks = np.zeros((4, len(LOOKS.names)), np.float32)  # men
    looks[:, [LOOKS.names.index("age"), LOOKS.names.index("ethnicity White")]] = 0.4, 1.0
    clear = np.full(len(pool()), np.inf, np.float32)
    have = pool().labels[:, LABELS.index(worn)] > 0.5
    assert not have[likest(looks, clear)].any()
    looks[:, LOOKS.names.index(worn)] = 1.0
    assert have[likest(looks, clear)].all()


def test_people_who_look_alike_are_grouped_and_a_weight_of_0_leaves_that_to_the_recogniser():
    rng = np.random.default_rng(0)
    known, looks = rng.normal(size=(40, 128)), np.zeros((40, len(LOOKS.names)))
    female = rng.permutation(np.arange(40) < 20)
    looks[:, [LOOKS.names.index("gender"), LOOKS.names.index("female")]] = female[:, None]

    def mixed(weight):
        groups = group(beside(known, looks, weight), 4, "best", seed=0).groups
        return sum(len(set(female[rows])) == 2 for rows in groups)

    assert mixed(1.0) == 0 < mixed(0.0)
    assert beside(known, looks, 0.0) is known


def test_a_group_s_face_is_no_sharper_than_its_members_usually_are(made_up_people):
    blurred = np.array([cv2.GaussianBlur(crop, (0, 0), 2.5) for crop in made_up_people.crops[:4]])
    few = replace(made_up_people.take(np.arange(4)), crops=blurred)
    release = run("miku", few, k=4)
    assert detail(release.crops[0], inner_mask(256) > 0) <= usual_detail(few) + 0.2


def test_how_sharp_a_group_s_face_may_be_is_the_median_of_its_people(made_up_people):
    some = made_up_people.take(np.array([0, 12, 1, 2]))  # the first person twice
    each = [detail(crop, inner_mask(256) > 0) for crop in some.crops]
    assert np.isclose(usual_detail(some), np.median([np.mean(each[:2]), *each[2:]]), atol=1e-4)
    assert np.isclose(usual_detail(some), usual_detail(some.take(np.array([3, 2, 1, 0]))))
