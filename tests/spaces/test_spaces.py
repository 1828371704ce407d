"""One law for all spaces: vectors of one shape and type, the same for a face whatever its company; and back."""

from dataclasses import replace

import numpy as np
import pytest

from faceveil.errors import UsageError
from faceveil.faces import FaceSet
from faceveil.spaces import SPACES, SynthesisSpace, space
from faceveil.spaces.warp import Triangles

DRAWING = [name for name, kind in SPACES.items() if issubclass(kind, SynthesisSpace)]
LENGTH = {
    "pixel": 256 * 256 * 3,
    "eigen": 13,
    "mesh": 26,
    "latent": 23 * 512,
    "embedding": 128,
    "attribute": 32,
}
# Root mean square error of decode∘encode in grey values over the face of these people, with what a change of
# rounding or of a network's last digits may add. All components of so few faces are kept, so eigen loses little;
# mesh moves each face by a pixel or two to the place that all have in common; latent shows a like person.
ERROR = {"pixel": 8.0, "eigen": 12.0, "mesh": 25.0, "latent": 40.0}
FACE = slice(100, 200), slice(90, 166)


@pytest.fixture(scope="module")
def fitted(made_up_people):
    return {name: kind().fit(made_up_people) for name, kind in SPACES.items()}


@pytest.fixture(scope="module")
def vectors(fitted, made_up_people):
    return {name: one.encode(made_up_people) for name, one in fitted.items()}


@pytest.mark.parametrize("name", SPACES)
class TestEverySpace:
    def test_gives_one_finite_float32_row_per_face(self, name, vectors, made_up_people):
        rows = vectors[name]
        assert rows.dtype == np.float32
        assert rows.shape == (len(made_up_people), LENGTH[name])
        assert np.isfinite(rows).all()

    def test_gives_a_face_the_same_vector_in_any_company(self, name, fitted, vectors, made_up_people):
        some = np.array([7, 2, 13])
        alone = replace(made_up_people.take(some))  # else what was measured would come along
        assert np.array_equal(fitted[name].encode(alone), vectors[name][some])

    def test_fits_the_same_on_the_same_faces(self, name, vectors, made_up_people):
        again = SPACES[name]().fit(made_up_people).encode(made_up_people)
        assert np.allclose(again, vectors[name], rtol=1e-4, atol=1e-3 * np.abs(vectors[name]).max())

    def test_tells_faces_apart(self, name, vectors):
        assert len(np.unique(vectors[name].round(4), axis=0)) == len(vectors[name])

    def test_changes_no_face(self, name, fitted, made_up_people):
        before = made_up_people.crops.copy()
        fitted[name].encode(made_up_people)
        assert np.array_equal(before, made_up_people.crops)

    def test_takes_no_faces_to_no_vectors(self, name, fitted, made_up_people):
        assert len(fitted[name].encode(made_up_people.take(np.zeros(0, np.int64)))) == 0


@pytest.mark.parametrize("name", DRAWING)
class TestEverySynthesisSpace:
    def test_draws_256_px_crops(self, name, fitted, vectors):
        crops = fitted[name].decode(vectors[name][:3])
        assert crops.shape == (3, 256, 256, 3) and crops.dtype == np.uint8

    def test_draws_the_same_vector_alike_in_any_company(self, name, fitted, vectors):
        three = fitted[name].decode(vectors[name][:3])
        assert np.array_equal(fitted[name].decode(vectors[name][1:2])[0], three[1])

    def test_comes_back_within_its_stated_error(self, name, fitted, vectors, made_up_people):
        back = fitted[name].decode(vectors[name][:6])
        gap = back[:, *FACE].astype(float) - made_up_people.crops[:6, *FACE]
        assert np.sqrt((gap**2).mean()) < ERROR[name]


def test_pixels_with_their_background_come_back_exactly(made_up_people):
    exact = space("pixel", background="kept")
    assert np.array_equal(exact.decode(exact.encode(made_up_people)), made_up_people.crops)


def test_a_grey_background_hides_what_is_behind_a_person(made_up_people):
    masked = space("pixel").encode(made_up_people).reshape(-1, 256, 256, 3)
    corner = masked[:, :12, :12].reshape(len(masked), -1)
    assert np.median(np.abs(corner - 128)) < 10
    assert np.abs(masked[:, *FACE] - made_up_people.crops[:, *FACE]).mean() < 10


def test_refined_latents_come_nearer_and_do_not_depend_on_their_company(vectors, made_up_people):
    two = replace(made_up_people.take(np.array([3, 8])))
    nearer = space("latent", refine=5)
    rows = nearer.encode(two)
    assert rows.dtype == np.float32 and rows.shape == (2, LENGTH["latent"])
    drawn, plain = (nearer.decode(codes) for codes in (rows, vectors["latent"][[3, 8]]))
    off, before = (np.abs(crops.astype(float) - two.crops).mean(axis=(1, 2, 3)) for crops in (drawn, plain))
    assert (off < 0.9 * before).all()
    assert np.array_equal(nearer.encode(replace(two.take(np.array([1])))), rows[1:])


def test_what_is_dear_to_find_is_found_once_for_a_set(made_up_people, monkeypatch):
    few = replace(made_up_people.take(np.arange(4)))
    found = []
    monkeypatch.setattr(
        "faceveil.spaces.latent.codes_of",
        lambda crops, steps: found.append(steps) or np.ones((len(crops), 23, 512), np.float32) * len(found),
    )
    nearer = space("latent", refine=7)
    assert (nearer.encode(few) == 1).all() and (nearer.encode(few.take(np.array([2]))) == 1).all()
    assert (space("latent", refine=8).encode(few) == 2).all()
    assert found == [7, 8]
    assert (nearer.encode(replace(few, crops=255 - few.crops)) == 3).all()  # other faces, found anew


def test_eigenfaces_equal_a_plain_decomposition(made_up_people):
    eigen = space("eigen").fit(made_up_people)
    faces = made_up_people.crops.astype(float)
    deviation = np.maximum(faces.std(axis=0), 1e-3)
    rows = ((faces - faces.mean(axis=0)) / deviation)[:, eigen.mask_].reshape(len(faces), -1)
    gram = rows @ rows.T  # distances in full equal distances on all components
    ours = eigen.encode(made_up_people)
    assert np.allclose(ours @ ours.T, gram, rtol=1e-3, atol=1e-3 * np.abs(gram).max())


def test_grey_eigenfaces_draw_grey(made_up_people):
    grey = space("eigen", colour=False, components=5).fit(made_up_people)
    crops = grey.decode(grey.encode(made_up_people)[:2])
    assert (crops[..., 0] == crops[..., 1]).all() and (crops[..., 1] == crops[..., 2]).all()


def test_the_mean_of_two_meshes_has_the_mean_of_their_shapes(made_up_people):
    from faceveil.faces.crops import locate

    mesh = space("mesh").fit(made_up_people)
    pair = made_up_people.take(np.array([2, 5]))
    drawn = mesh.decode(mesh.encode(pair).mean(axis=0, keepdims=True))
    between = pair.meshes[:, :, :2].mean(axis=0)
    assert np.abs(locate(drawn).meshes[0, :, :2] - between).mean() < 4  # px of 256


def test_a_warp_onto_its_own_points_changes_nothing():
    rng = np.random.default_rng(0)
    corners = np.array([[0, 0], [0, 64], [64, 0], [64, 64]], float)
    points = np.vstack([corners, rng.uniform(5, 59, (20, 2))])
    picture = rng.uniform(0, 255, (64, 64, 3)).astype(np.float32)
    same = Triangles.of(points).sampler(points, 64).sample(picture, points)
    assert np.abs(same - picture)[1:-1, 1:-1].max() < 0.5


def test_a_warp_follows_an_affine_map_exactly():
    corners = np.array([[0, 0], [0, 64], [64, 0], [64, 64]], float)
    points = np.vstack([corners, [[20, 20], [40, 30], [30, 50]]])
    matrix, shift = np.array([[0.8, 0.1], [-0.1, 0.7]]), np.array([5.0, 9.0])
    rows, columns = np.mgrid[:64, :64] + 0.5
    ramp = np.stack([columns, rows, columns - rows], axis=-1).astype(
        np.float32
    )  # a picture of its own coordinates
    warped = Triangles.of(points).sampler(points, 64).sample(ramp, points @ matrix.T + shift)
    wanted = np.stack([columns, rows], axis=-1) @ matrix.T + shift
    assert np.abs(warped[..., :2] - wanted).max() < 0.05


def test_attributes_are_chosen_by_name(made_up_people):
    some = made_up_people.take(np.arange(3))
    chosen = space("attribute", names=["pose", "smiling", "age"]).encode(some)
    assert chosen.shape == (3, 4) and ((chosen >= 0) & (chosen <= 1)).all()
    every = space("attribute")
    columns = [every.names.index(name) for name in ("yaw", "pitch", "smiling", "age")]
    assert np.array_equal(every.encode(some)[:, columns], chosen)


def test_only_the_networks_of_chosen_attributes_are_needed():
    assert space("attribute", names=["hat", "pose"]).cards == ("mobilefacenet.facesdk",)
    assert space("attribute", names=["pose"]).cards == ()
    assert space("attribute", names=["gender", "expression happy"]).cards == ("gender.v1", "expression.fer")


def test_an_aligned_crop_reads_as_its_photo_does(portrait):
    from faceveil.faces import align_ffhq, find_faces
    from faceveil.faces.attributes import EXPRESSION_NAMES, attribute_vector
    from faceveil.faces.crops import face_set
    from faceveil.models.attrnet import AttrNet

    face = find_faces(portrait)[0]
    crop = face_set(align_ffhq(face, 256).crop(portrait)[None])
    labels = AttrNet().labels
    both = space("attribute", names=labels).encode(crop)[0], attribute_vector(portrait, face, labels)
    assert np.abs(both[0] - both[1]).max() < 1e-5  # the very same crop
    felt = space("attribute", names=["expression"]).encode(crop)[0]
    assert felt.argmax() == attribute_vector(portrait, face, EXPRESSION_NAMES).argmax()  # another box


def test_two_photos_of_a_person_embed_nearer_than_two_people(made_up_people):
    for name in ("mobilenet.facelib", "dlib-resnet.v1", "mobilefacenet.facesdk"):
        rows = space("embedding", recognizer=name).encode(made_up_people)
        far = np.linalg.norm(rows[:, None] - rows[None], axis=2)
        assert far[0, 12] < np.delete(far[0], [0, 12]).min()


def test_encoding_never_holds_more_than_a_few_crops_of_a_memory_map(made_up_people, tmp_path):
    path = tmp_path / "crops.npy"
    np.save(path, made_up_people.crops[:1].repeat(100, axis=0))
    mapped = np.load(path, mmap_mode="r")
    taken = []

    class Watched(FaceSet):
        def take(self, indices):
            taken.append(len(indices))
            return super().take(indices)

    faces = Watched(
        mapped, made_up_people.points[:1].repeat(100, axis=0),
        made_up_people.meshes[:1].repeat(100, axis=0), np.arange(100),
    )  # fmt: skip
    assert space("pixel", side=8, background="kept").encode(faces).shape == (100, 192)
    assert max(taken) <= 32 and sum(taken) == 100


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("pixel", {"side": 0}),
        ("pixel", {"background": "blue"}),
        ("eigen", {"components": 0}),
        ("mesh", {"textures": 0}),
        ("latent", {"refine": -1}),
        ("latent", {"refine": 0.5}),
        ("attribute", {"names": ["charm"]}),
        ("attribute", {"names": []}),
        ("sound", {}),
    ],
)
def test_what_a_space_cannot_do_is_refused(name, wrong):
    with pytest.raises(UsageError):
        space(name, **wrong)
