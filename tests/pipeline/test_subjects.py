"""Who is who: k counts people, so several photos of one person must count once."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import pdist, squareform
from tests.pipeline.pixel_mean import PixelMean

from faceveil import Settings, method
from faceveil.errors import UsageError
from faceveil.pipeline.subjects import numbered, same_person, subjects_of

NAMES = ["ann/1.jpg", "ann/2.jpg", "bob/1.jpg", "both.jpg"]
PHOTOS = np.array([0, 1, 2, 3, 3])
NOTHING = np.zeros((0, 0), np.float32)


def units(rng: np.random.Generator, count: int, spread: float, people: int = 6) -> np.ndarray:
    """Unit vectors around the directions of some people."""
    people_at = rng.normal(size=(people, 16))
    vectors = people_at[rng.integers(people, size=count)] + spread * rng.normal(size=(count, 16))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def same(labels: np.ndarray) -> np.ndarray:
    return labels[:, None] == labels[None]


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10_000), count=st.integers(2, 40), threshold=st.floats(0.05, 0.9))
def test_people_are_those_of_average_linkage(seed, count, threshold):
    """The oracle is scipy's, on all distances at once."""
    vectors = units(np.random.default_rng(seed), count, 0.6)
    found = same_person(vectors, np.arange(count), threshold)
    wanted = fcluster(linkage(pdist(vectors.astype(float), "cosine"), "average"), threshold, "distance")
    assert np.array_equal(same(found), same(wanted))


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10_000), count=st.integers(2, 30), photos=st.integers(1, 12))
def test_two_faces_in_one_photo_are_never_one_person(seed, count, photos):
    rng = np.random.default_rng(seed)
    vectors, photo = units(rng, count, 0.3, people=3), rng.integers(photos, size=count)
    found = same_person(vectors, photo, 0.6)
    assert all(len(set(photo[found == who])) == (found == who).sum() for who in set(found))
    far = squareform(pdist(vectors.astype(float), "cosine"))
    far[(photo[:, None] == photo[None]) & ~np.eye(count, dtype=bool)] = 1e9
    wanted = fcluster(linkage(squareform(far, checks=False), "average"), 0.6, "distance")
    assert np.array_equal(same(found), same(wanted))


def test_the_same_photo_many_times_is_one_person():
    vectors = np.repeat(units(np.random.default_rng(0), 1, 0.1), 50, axis=0)
    assert len(set(same_person(vectors, np.arange(50), 0.5))) == 1
    assert len(same_person(np.zeros((0, 16), np.float32), np.zeros(0, int), 0.5)) == 0


def test_thousands_of_faces_take_seconds_and_no_square_of_memory():
    import tracemalloc

    vectors = units(np.random.default_rng(1), 3000, 0.5, people=900)
    tracemalloc.start()
    start = time.process_time()
    same_person(vectors, np.arange(3000), 0.4)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert time.process_time() - start < 30 and peak < 3000 * 3000


def test_folders_files_and_faces_can_be_the_people(tmp_path):
    assert subjects_of("folder", PHOTOS, NAMES, NOTHING).tolist() == [0, 0, 1, 2, 2]
    assert subjects_of("each", PHOTOS, NAMES, NOTHING).tolist() == [0, 1, 2, 3, 4]
    table = tmp_path / "who.csv"
    table.write_text("photo,subject\nann/1.jpg,a\nann/2.jpg,b\nbob/1.jpg,b\nboth.jpg,c\n")
    assert subjects_of(str(table), PHOTOS, NAMES, NOTHING).tolist() == [0, 1, 1, 2, 2]
    table.write_text("photo,person\nann/1.jpg,a\n")
    with pytest.raises(UsageError, match="no subject for ann/2"):
        subjects_of(str(table), PHOTOS, NAMES, NOTHING)
    table.write_text("name,who\n")
    with pytest.raises(UsageError, match="columns photo and subject"):
        subjects_of(str(table), PHOTOS, NAMES, NOTHING)


def test_numbers_follow_first_appearance():
    assert numbered(["x", "a", "x", "b"]).tolist() == [0, 1, 0, 2]


def test_wrong_choices_are_usage_errors():
    with pytest.raises(UsageError, match="CSV"):
        Settings(method=PixelMean(), subjects="nobody.csv")
    with pytest.raises(UsageError, match="photos and crops"):
        Settings(method=PixelMean(), release="faces")
    with pytest.raises(UsageError, match="face by face"):
        Settings(method=method("blur"), release="crops")
    with pytest.raises(UsageError, match="face by face"):
        Settings(method=method("blur"), subjects="each")


def test_photos_of_one_person_in_lfw_are_found(shared_data):
    """Ten people with several photos and ten with one, as a recogniser sees them."""
    from faceveil.faces import align_ffhq, find_faces
    from faceveil.photos import read_photo
    from faceveil.pipeline.subjects import embed_for_subjects

    by_person: dict[str, list] = {}
    for path in sorted((shared_data / "lfw" / "images").rglob("*.jpg")):
        by_person.setdefault(path.stem.rsplit("_", 1)[0], []).append(path)
    several = [paths[:3] for paths in by_person.values() if len(paths) >= 3][:8]
    single = [paths for paths in by_person.values() if len(paths) == 1][:8]
    embeddings, who = [], []
    for person, paths in enumerate([*several, *single]):
        for path in paths:
            image = read_photo(path).pixels
            face = min(find_faces(image), key=lambda face: np.hypot(*(face.centre - 125)))
            cut = align_ffhq(face, 256)
            embeddings.append(embed_for_subjects(cut.crop(image), cut.points_to_crop(face.points)))
            who.append(person)
    found = subjects_of("auto", np.arange(len(who)), ["" for _ in who], np.array(embeddings))
    assert (same(found) == same(np.array(who))).mean() > 0.99
