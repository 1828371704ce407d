"""k-same by its papers: the mask, the numbers, and where k-same-partial-m begins."""

from dataclasses import replace

import numpy as np
import pytest
from tests.grouping.literal import groups_of

from faceveil.faces import FaceSet
from faceveil.grouping import group
from faceveil.methods import method
from faceveil.methods.ksame import PartialStart, nearest, under_threshold
from faceveil.methods.sets import DEFAULT_K, mean_face, seed_from
from faceveil.spaces import space

THRESHOLD = 0.45  # of the largest distance; "Face Anonymisation Techniques", 3.4.2
TRIES = 10


def partial_start(X: np.ndarray, k: int, seed: int) -> set[frozenset[int]]:
    """The partition as docs/methods/k-same.md tells it, with the draws of `seed`."""
    rng, left, groups = np.random.default_rng(seed), list(range(len(X))), set()

    def around(row: int) -> frozenset[int]:
        return frozenset(sorted(left, key=lambda other: (np.linalg.norm(X[other] - X[row]), other))[:k])

    while len(left) >= 2 * k:
        row = int(rng.choice(left))
        far = np.array([np.linalg.norm(X[other] - X[row]) for other in left])
        neighbours = [other for other, gap in zip(left, far, strict=True) if gap <= THRESHOLD * far.max()]
        tried = rng.permutation(len(neighbours))[:TRIES]
        allowed = [found for at in tried if row in (found := around(neighbours[at]))]
        groups.add(allowed[0] if allowed else around(row))
        left = [other for other in left if not any(other in one for one in groups)]
    return {*groups, frozenset(left)}


def test_partial_starts_count_people_and_no_one_twice():
    rows = np.random.default_rng(1).normal(size=(60, 2))
    one = PartialStart(4, seed=1).fit(rows, [f"person {row // 2}" for row in range(60)]).partition_
    assert one.people.min() >= 4 and one.sizes.sum() == 60
    assert (one.labels[::2] == one.labels[1::2]).all()


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(("n", "k"), [(30, 3), (61, 5)])
def test_partial_starts_are_the_paper_s(n, k, seed):
    X = np.random.default_rng(n + seed).normal(size=(n, 2))
    found = groups_of(PartialStart(k, seed=seed).fit(X).labels_)
    assert found == partial_start(X, k, seed)
    assert found != groups_of(group(X, k, "ksame", seed=seed).labels)


def test_the_threshold_is_045_of_the_largest_distance():
    line = np.arange(101.0)[:, None]
    assert under_threshold(line, line[0]).tolist() == list(range(46))
    assert nearest(line, np.array([50.4]), 3).tolist() == [50, 51, 49]


def flat(faces: FaceSet) -> FaceSet:
    """One photo of each of twelve people."""
    return replace(faces.take(np.arange(12)))


@pytest.fixture(scope="module")
def codes(made_up_people) -> np.ndarray:
    faces = flat(made_up_people)
    return space("eigen").fit(faces).encode(faces)


@pytest.mark.parametrize(
    ("name", "grouping"),
    [
        ("k-same-pixel", lambda X, seed: group(X, 3, "ksame", seed=seed).labels),
        ("k-same-eigen", lambda X, seed: group(X, 3, "ksame", seed=seed).labels),
        ("k-same-partial-m", lambda X, seed: PartialStart(3, seed=seed).fit(X).labels_),
    ],
)
def test_each_method_groups_as_its_paper_says(name, grouping, made_up_people, codes):
    chosen = method(name, k=3)
    for draw in range(4):
        found = chosen.release(flat(made_up_people), np.random.default_rng(draw)).groups
        assert groups_of(found) == groups_of(grouping(codes, seed_from(np.random.default_rng(draw))))
    assert chosen.parameters["grouper"] == {"k-same-partial-m": "partial-start"}.get(name, "ksame")


def test_partial_m_takes_the_neighbours_of_a_random_neighbour_from_a_gallery(made_up_people):
    """k-same itself takes the nearest of the face: one result whatever is drawn."""
    first, last = made_up_people.crops[[0, 1]].astype(np.float32)
    steps = np.linspace(0, 1, 12, dtype=np.float32)[:, None, None, None]
    gallery = replace(
        flat(made_up_people), crops=np.rint((1 - steps) * first + steps * last).astype(np.uint8)
    )
    drawn = space("eigen").fit(gallery)
    codes = drawn.encode(gallery)  # of twelve people on a line, a face like the first

    def around(start: int) -> bytes:
        chosen = gallery.take(np.sort(nearest(codes, codes[start], 3)))
        return drawn.decode(mean_face(drawn, chosen))[0].tobytes()

    def found(name: str) -> set[bytes]:
        chosen = method(name, k=3).with_gallery(gallery)
        release = chosen.release(gallery.take(np.zeros(50, np.int64)), np.random.default_rng(0))
        return {crop.tobytes() for crop in release.crops}

    far = np.linalg.norm(codes - codes[0], axis=1)
    allowed = {around(start) for start in np.flatnonzero(far <= THRESHOLD * far.max())}
    assert found("k-same-partial-m") == allowed and len(allowed) > 2
    assert found("k-same-eigen") == {around(0)}


def test_who_is_not_told_gets_five_people():
    assert DEFAULT_K == 5
    assert all(method(name).k == 5 for name in ("k-same-pixel", "k-same-m", "miku", "anonfaces"))


def test_eigenfaces_are_thirty_and_of_the_face_alone(made_up_people):
    """The paper's mask and number: what lies around the face changes no vector, and shows the set's average."""
    eigen = space("eigen")
    assert eigen.components == 30
    faces = flat(made_up_people)
    eigen.fit(faces)
    around = ~eigen.mask_
    assert 0.3 < around.mean() < 0.9
    other = faces.crops.copy()
    other[:, around] = 255 - other[:, around]
    assert np.array_equal(eigen.encode(replace(faces, crops=other)), eigen.encode(faces))
    back = eigen.decode(eigen.encode(faces))
    average = faces.crops.astype(float).mean(axis=0)
    assert np.abs(back[:, around] - average[around]).max() <= 1
    assert np.abs(back[:, ~around].astype(float) - average[~around]).mean() > 5
